"""One page that follows one conversation: what it has been shown, and what it must be sent next.

A page says what it shows (`resume`); from then on one task sends what is new. It waits for a hint,
or two seconds while a run is going, reads what is stored after its cursor, and sends one frame; the
next follows a little later at the earliest. Nothing queues up: what a slow page misses
is in the next frame. Opening, reloading, reconnecting and a second tab are all the same.
"""

import asyncio
import logging
import math
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError

from agents.models import AgentRun
from agents.runtime import Runtime
from chat import conversations, fragments, threads, tree
from chat.answers import Answer
from chat.models import Conversation, Exchange

log = logging.getLogger(__name__)

FRAME_SECONDS = 0.1
"""From one frame to the next at least. A model's text is read in sips (agents/llm/connections.py),
so frames follow commits, about ten in a second."""
GRID_SECONDS = 0.02
"""Frames are due on this grid, so that one read serves several pages: the thread that reads, and
the way to it and back, cost more than what is read."""
LOOK_SECONDS = 2.0
"""How long a lost hint can delay a page while a run is going."""
IDLE_SECONDS = 20.0
"""How often a page is told that the connection lives, and looks for what it missed."""
SAY_SECONDS = 2.0
"""From one announcement to the next at least; the end is told at once."""
ACK_EVERY = 32
MOST_UNACKED = 128
"""Frames that a page may be behind before it is sent no more: the server keeps none for it."""


@dataclass(frozen=True)
class _Scene:
    """A conversation as it is stored now."""

    conversation: Conversation
    run: AgentRun | None
    """The one that is going on."""
    answer: Answer | None
    """Of that one, or of the last that is shown."""
    ended: list[AgentRun]
    """Those that the page shows as going on, and are not."""
    rows: list[Exchange]
    """What the page does not have: more of the path it shows, or another path."""
    is_more: bool


class Live:
    """`send` takes one frame of HTML."""

    def __init__(
        self,
        runtime: Runtime,
        user: User,
        conversation_id: UUID,
        send: Callable[[str], Awaitable[None]],
    ) -> None:
        self._runtime = runtime
        self._user = user
        self._key = conversation_id
        self._send_text = send
        self._head: UUID | None = None
        self._title: str | None = None
        self._run: AgentRun | None = None
        self._answer: Answer | None = None
        self._unfinished: set[UUID] = set()
        """Runs that the page shows as going on."""
        self._said = ""
        self._said_at = -SAY_SECONDS
        self._frames = self._acked = 0
        self._sent_at = 0.0
        self._news = asyncio.Event()
        self._looked = False

    # -- what the page says -----------------------------------------------------------------------

    async def resume(self, head: UUID | None, live: list[UUID]) -> None:
        """The page shows this: what is different is sent, and followed from then on."""
        self._head, self._run, self._answer = head, None, None
        self._unfinished = set(live)
        self.look()

    def ack(self, frames: int) -> None:
        self._acked = max(self._acked, min(frames, self._frames))
        self._news.set()

    def look(self) -> None:
        """The conversation may have changed."""
        self._looked = False
        self._news.set()

    @property
    def running(self) -> UUID | None:
        """The run that is going on here, as far as this page knows."""
        return self._run.pk if self._run is not None else None

    # -- what the page is sent --------------------------------------------------------------------

    async def follow(self) -> None:
        """Send what is new, for ever."""
        with self._runtime.watch(self._key, self.look):
            while True:
                if not self._looked:
                    self._looked = True  # what changes from now on is looked at again
                    if not await self._patiently(self._show_conversation):
                        self._looked = False
                elif self._run is not None and self._answer is not None:
                    with self._runtime.watch(self._run.pk, self._news.set):
                        await self._follow_run(self._run, self._answer)
                else:
                    self._news.clear()
                    await self._wait(IDLE_SECONDS)
                    if self._silence() >= IDLE_SECONDS:
                        await self._beat()
                        self._looked = False

    async def _follow_run(self, run: AgentRun, answer: Answer) -> None:
        """Send a run's frames until it ends, or the page has to show something else."""
        while self._looked and self._run is run:
            self._news.clear()
            await self._patiently(lambda: self._send_news(run, answer))
            if answer.done is not None:
                self._unfinished.discard(run.pk)
                self.look()
                continue
            await self._wait(LOOK_SECONDS)
            if self._silence() > IDLE_SECONDS:
                await self._beat()
            elif answer.has_words:
                await asyncio.sleep(self._until_next_frame())

    async def _send_news(self, run: AgentRun, answer: Answer) -> bool:
        """A frame of what is new; several if that is more than one read brings."""
        is_more = True
        while is_more and self._frames - self._acked < MOST_UNACKED:
            page = await self._runtime.read(run.pk, answer.upto)
            if page is None:
                break
            for chunk in page.chunks:
                answer.take(chunk)
            answer.upto, is_more = page.upto, page.is_full
            if frame := fragments.news(answer, run):
                await self._send(frame)
        if said := self._announcement(answer):
            await self._send(said)
        return True

    async def _show_conversation(self) -> bool:
        """Bring the page to where the conversation is now."""
        found = await self._runtime.work(self._look_at_it)
        if found is None:
            return True
        scene, html = found
        await self._send(html)
        self._title = scene.conversation.title
        self._head = scene.conversation.head_id
        self._run = scene.run
        self._answer = scene.answer if scene.run else None
        self._unfinished = {scene.run.pk} if scene.run else set()
        return True

    def _look_at_it(self) -> tuple[_Scene, str] | None:
        scene = self._scene()
        return (scene, self._shown(scene)) if scene is not None else None

    def _scene(self) -> _Scene | None:
        found = conversations.of(self._user).filter(pk=self._key).first()
        if found is None:
            return None
        rows, is_more = self._missing(found.head_id)
        mine = AgentRun.objects.filter(user=self._user, conversation_key=self._key)
        active = mine.filter(outcome__isnull=True).first()
        answer = self._answer
        if active is not None and (answer is None or answer.run_id != active.pk):
            answer = threads.read(active)
        if active is not None and answer is not None and answer.done is not None:
            active = None  # it ended as we looked
        unfinished = self._unfinished - ({active.pk} if active else set())
        ended = list(mine.filter(pk__in=unfinished)) if unfinished else []
        if active is None:
            shown = [row.run for row in rows] or ended
            answer = threads.read(shown[-1]) if shown else None
        return _Scene(found, active, answer, ended, rows, is_more)

    def _missing(self, head: UUID | None) -> tuple[list[Exchange], bool]:
        """Exchanges that the page lacks, and whether they go on from what it shows."""
        if head == self._head:
            return [], True
        rows = tree.stretch(head).exchanges
        known = [number for number, row in enumerate(rows) if row.parent_id == self._head]
        if known and (self._head is not None or rows[0].parent_id is None):
            return rows[known[0] :], True
        return rows, False

    def _shown(self, scene: _Scene) -> str:
        run, answer = scene.run, scene.answer
        frames: list[str] = [fragments.render("controls", running=run is not None)]
        if scene.conversation.title != self._title:
            frames.append(fragments.render("title", title=scene.conversation.title))
        frames += [threads.answer_html(ended) for ended in scene.ended]
        if not scene.is_more:
            frames.append(threads.thread(scene.conversation, scene.rows, answer))
        elif scene.rows:
            more = threads.exchanges(scene.rows, answer)
            frames.append(f'<div hx-swap-oob="beforeend:#thread">{more}</div>')
        elif run is not None and answer is not None and answer is not self._answer:
            frames.append(fragments.answer(answer, run))
        if answer is not None and answer is not self._answer:
            shown = run or (scene.rows[-1].run if scene.rows else scene.ended[-1])
            frames.append(fragments.meters(answer, shown))
        return "".join(frames)

    # -- frames -----------------------------------------------------------------------------------

    async def _send(self, frame: str) -> None:
        self._frames += 1
        self._sent_at = asyncio.get_running_loop().time()
        await self._send_text(frame)
        if self._frames % ACK_EVERY == 0:
            await self._beat()

    async def _beat(self) -> None:
        self._frames += 1
        self._sent_at = asyncio.get_running_loop().time()
        await self._send_text(self._pulse())

    def _silence(self) -> float:
        """Seconds since the page heard from us; after too many it takes us for dead."""
        return asyncio.get_running_loop().time() - self._sent_at

    def _until_next_frame(self) -> float:
        due = math.floor((self._sent_at + FRAME_SECONDS) / GRID_SECONDS) * GRID_SECONDS
        return due - asyncio.get_running_loop().time()

    def _pulse(self) -> str:
        return fragments.render("beat", frames=self._frames)

    def _announcement(self, answer: Answer) -> str:
        """For those who listen: when something else is going on, but not in a rush."""
        now = asyncio.get_running_loop().time()
        is_soon = now - self._said_at < SAY_SECONDS and answer.done is None
        if answer.doing == self._said or is_soon:
            return ""
        self._said, self._said_at = answer.doing, now
        return fragments.render("announce", text=answer.doing)

    async def _patiently(self, step: Callable[[], Awaitable[bool]]) -> bool:
        """A database that is away for a while does not end a page: it looks again."""
        try:
            return await step()
        except (OperationalError, InterfaceError) as error:
            log.warning("a page cannot be brought up to date (%s)", error)
            await asyncio.sleep(FRAME_SECONDS)
            return False

    async def _wait(self, seconds: float) -> None:
        """Until there is news, or reason to look for some."""
        timer = asyncio.get_running_loop().call_later(seconds, self._news.set)
        try:
            await self._news.wait()
        finally:
            timer.cancel()
