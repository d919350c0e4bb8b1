"""The socket of a chat page without a server: the consumer, a home for runs, somebody signed in."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore

from agents.models import AgentRun, Project
from agents.runtime import Runtime
from agents.runtime import current as home_module
from oracle_site.asgi import application
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed
from tests.chat.factories import member
from tests.chat.page_client import TOOLS
from tests.support.dom import Dom, frame_problems
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.timing import PATIENCE
from tests.support.tools import FakeTools

ORIGIN = "http://127.0.0.1:8000"


@sync_to_async
def signed_in(user: User) -> str:
    """The cookie of a new session."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    assert session.session_key is not None
    return session.session_key


class Socket:
    """One page's socket. `says` sends a verb; the rest reads what comes back."""

    def __init__(self, address: str, session: str = "", origin: str = ORIGIN) -> None:
        headers = [(b"origin", origin.encode())]
        if session:
            headers.append((b"cookie", f"sessionid={session}".encode()))
        self._wire = WebsocketCommunicator(application, address, headers)
        self.session = session
        self.frames: list[str] = []
        self.code: int | None = None

    async def open(self) -> "Socket":
        accepted, code = await self._wire.connect(timeout=PATIENCE)
        if not accepted:
            self.code = int(code or 0)
        return self

    async def says(self, verb: str, **fields: Any) -> None:
        await self.sends(json.dumps({"verb": verb, **fields}))

    async def sends(self, text: str) -> None:
        await self._wire.send_input({"type": "websocket.receive", "text": text})

    async def sends_bytes(self, data: bytes) -> None:
        await self._wire.send_to(bytes_data=data)

    async def next(self) -> str:
        """The next frame; or an empty one, and `code` says how it was closed."""
        said = await self._wire.receive_output(timeout=PATIENCE)
        if said["type"] == "websocket.close":
            self.code = said["code"]
            return ""
        frame: str = said["text"]
        assert frame_problems(frame) == []
        self.frames.append(frame)
        return frame

    async def until(self, text: str) -> str:
        """The first frame that has it."""
        async with asyncio.timeout(PATIENCE):
            while text not in (frame := await self.next()):
                assert self.code is None, f"closed with {self.code}; frames: {self.frames}"
        return frame

    async def read_sentence(self) -> str:
        """The next sentence for the person."""
        return Dom(await self.until('id="flash"')).get("flash").text

    async def closed(self) -> int:
        async with asyncio.timeout(PATIENCE):
            while self.code is None:
                await self.next()
        return self.code

    async def close(self) -> None:
        await self._wire.disconnect(timeout=PATIENCE)


class Site:
    """A process with a runtime, with Ada and her project in it."""

    def __init__(self, runtime: Runtime, model: ScriptedModel) -> None:
        self.runtime, self.model = runtime, model
        self.user: User
        self.project: Project
        self.session = ""
        self._sockets: list[Socket] = []

    async def begin(self) -> None:
        self.user, self.project = await sync_to_async(member)("ada")
        self.session = await signed_in(self.user)

    def address(self, key: UUID | None = None, project: Project | None = None) -> str:
        return f"/ws/{(project or self.project).pk}/{key or uuid4()}/"

    async def socket(self, key: UUID | None = None, **more: Any) -> Socket:
        made = Socket(self.address(key), **{"session": self.session, **more})
        self._sockets.append(made)
        return await made.open()

    async def asked(self, key: UUID | None = None, question: str = "First?") -> AgentRun:
        """A question that was asked over a socket, and its answer stored."""
        page = await self.socket(key)
        run = await self.started(page, question)
        async with asyncio.timeout(PATIENCE):
            await followed(self.runtime, run.pk)
        return await AgentRun.objects.select_related("exchange").aget(pk=run.pk)

    async def started(self, page: Socket, question: str = "First?") -> AgentRun:
        message = uuid4().hex
        await page.says("submit", question=question, client_message_id=message)
        await page.until(message)
        return await AgentRun.objects.aget(client_message_id=message)

    async def close(self) -> None:
        for socket in self._sockets:
            await socket.close()


@asynccontextmanager
async def site(*steps: ModelStep, then: ModelStep | None = None) -> AsyncIterator[Site]:
    model = ScriptedModel(steps, then=then)
    world = ScriptedRunFactory(model, FakeTools(TOOLS))
    sockets = application.application_mapping["websocket"]
    with (
        patch.object(home_module, "SiteRunFactory", lambda *http: world),
        patch.object(sockets, "allowed_origins", [ORIGIN]),
    ):
        async with home_module.open_runtime() as runtime:
            made = Site(runtime, model)
            await made.begin()
            try:
                yield made
            finally:
                await made.close()
