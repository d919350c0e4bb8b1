"""A chat with a scripted model, and tabs that show it: real pages, real frames, no browser."""

import asyncio
from collections.abc import Callable
from typing import Any, Self
from uuid import UUID

from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from agents.core.chunks import OracleStreamChunk
from agents.core.messages import Finished, TextDelta
from agents.models import AgentRun
from agents.runtime import Runtime
from chat.live.follower import ConversationFollower
from chat.services import ask as ask_service
from chat.services.ask import PreparedRun
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed, people
from tests.support.dom import Dom, difference
from tests.support.script import say
from tests.support.scripted_model import Item, ModelStep, ScriptedModel
from tests.support.timing import PATIENCE
from tests.support.tools import FakeTools, hangs, returns

TOOLS = {"look": returns("found"), "wait": hangs()}
SHOWN = ("thread", "controls", "title")
"""What a page that follows has to have as one that is opened now."""


class Valve:
    """A model that says one word, then waits until it is let go on."""

    def __init__(self, *words: str, ends: bool = True) -> None:
        self.gates = [asyncio.Event() for _ in words]
        self.words = words
        self.ends = ends

    def items(self) -> list[Item]:
        items: list[Item] = []
        for gate, word in zip(self.gates, self.words, strict=True):
            items += [gate, TextDelta(word)]
        return [*items, Finished()] if self.ends else [*items, asyncio.Event()]

    def open(self, upto: int | None = None) -> None:
        for gate in self.gates[:upto]:
            gate.set()


class Chat:
    """Ada, her project, and a runtime whose model says what it is told to."""

    def __init__(self, *steps: ModelStep, then: ModelStep | None = None) -> None:
        self.model = ScriptedModel(steps, then=then)
        self.world = ScriptedRunFactory(self.model, FakeTools(TOOLS))
        self.runtime = Runtime(self.world)
        self.tabs: list[Tab] = []

    async def __aenter__(self) -> Self:
        self.user, self.project = await people()
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        for tab in self.tabs:
            await tab.close()
        await self.runtime.__aexit__(*error)

    async def start(
        self, prepare: Callable[..., PreparedRun], *about: Any, **more: Any
    ) -> AgentRun:
        ready = await sync_to_async(prepare)(self.user, *about, **more)
        run = await self.runtime.start(ready.request, ready.attach)
        assert run.conversation_key is not None
        self.runtime.notify_changed(run.conversation_key)
        return run

    async def begin(self, question: str = "First?", **more: Any) -> AgentRun:
        return await self.start(ask_service.start_conversation, self.project.pk, question, **more)

    async def ask(self, key: UUID, question: str = "Second?") -> AgentRun:
        return await self.start(ask_service.ask, question, conversation_id=key)

    async def ended(self, run: AgentRun) -> list[OracleStreamChunk]:
        async with asyncio.timeout(PATIENCE):
            return await followed(self.runtime, run.pk)

    async def talked(self, times: int = 1) -> AgentRun:
        """A conversation of so many exchanges; its last run."""
        run = await self.begin()
        await self.ended(run)
        for _ in range(times - 1):
            assert run.conversation_key is not None
            run = await self.ask(run.conversation_key)
            await self.ended(run)
        return run

    async def page(self, run: AgentRun, user: User | None = None) -> Dom:
        return Dom(await html_of(user or self.user, f"/c/{run.conversation_key}/"))

    async def open(self, run: AgentRun, **more: Any) -> "Tab":
        tab = Tab(self, run, await self.page(run), **more)
        await tab.connect()
        return tab

    async def stored(self, run: AgentRun, text: str) -> None:
        """Until that much of the answer is in the database."""
        said = ""
        async with asyncio.timeout(PATIENCE):
            async for chunk in self.runtime.follow(run.pk):
                said += getattr(chunk, "content", "")
                if text in said:
                    return


class Tab:
    """What somebody sees. It acknowledges frames as frames.js does, unless it is slow."""

    def __init__(self, chat: Chat, run: AgentRun, page: Dom, *, slow: bool = False) -> None:
        self.chat, self.run, self.dom, self.slow = chat, run, page, slow
        self.frames: list[str] = []
        self.times: list[float] = []
        self._came = asyncio.Event()
        self._acked = 0
        self.user = chat.user
        self._following: asyncio.Task[None] | None = None
        chat.tabs.append(self)

    @property
    def head(self) -> UUID | None:
        shown = [e.attributes["data-exchange"] for e in self._with("data-exchange")]
        return UUID(shown[-1]) if shown else None

    @property
    def going(self) -> list[UUID]:
        return [UUID(e.attributes["data-live"]) for e in self._with("data-live")]

    def _with(self, name: str) -> list[Any]:
        return [e for e in self.dom.root.walk() if name in e.attributes]

    async def connect(self, **says: Any) -> None:
        """Open a socket, as it were, and say what is shown."""
        key = self.run.conversation_key
        assert key is not None
        self.live = ConversationFollower(self.chat.runtime, self.user, key, self.take)
        self._acked = 0
        await self.live.resume(**{"head": self.head, "live": self.going, **says})
        self._following = asyncio.create_task(self.live.follow())

    async def close(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.wait([self._following])
            if not self._following.cancelled():
                self._following.result()
            self._following = None

    async def take(self, frame: str) -> None:
        self.dom.apply(frame)
        self.frames.append(frame)
        self.times.append(asyncio.get_running_loop().time())
        self._came.set()
        beat = int(self.dom.get("beat").attributes["data-frames"])
        if beat != self._acked and not self.slow:
            self._acked = beat
            self.live.ack(beat)

    async def until(self, seen: Callable[[], object], seconds: float = PATIENCE) -> None:
        """Until the page is so. What follows the page may fail instead."""
        async with asyncio.timeout(seconds):
            while not seen():
                self._came.clear()
                await self._next_frame()

    async def _next_frame(self) -> None:
        coming = asyncio.ensure_future(self._came.wait())
        assert self._following is not None
        await asyncio.wait([coming, self._following], return_when=asyncio.FIRST_COMPLETED)
        coming.cancel()
        if self._following.done():
            self._following.result()

    async def shows(self, text: str) -> None:
        await self.until(lambda: text in self.dom.get("thread").text)

    async def is_ready(self, seconds: float = PATIENCE) -> None:
        """Until nothing goes on any more, as far as the page knows."""
        await self.until(lambda: not self.going and self.controls == "no", seconds)

    @property
    def controls(self) -> str:
        return self.dom.get("controls").attributes["data-running"]

    async def assert_as_reloaded(self) -> None:
        now = await self.chat.page(self.run)
        for name in SHOWN:
            found = difference(self.dom.get(name), now.get(name))
            assert not found, f"{name}: {found}"


async def html_of(user: User, address: str) -> str:
    @sync_to_async
    def got() -> str:
        client = Client()
        client.force_login(user)
        response = client.get(address, secure=True)
        assert response.status_code == 200
        return response.content.decode()

    return await got()


def talkative(*answers: str) -> list[ModelStep]:
    return [say(answer) for answer in answers]
