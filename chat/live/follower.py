"""One page that follows one conversation: what it has been shown, and what it must be sent next.

A page says what it shows (`resume`); from then on one task sends what is new. While a run is going
it sends the frames of its broadcast (`broadcast.py`), which all pages of a process share; how far
it is, it knows by itself. Nothing queues up: a slow page is sent nothing until it catches up.
Opening, reloading, reconnecting and a second tab are all the same.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User
from django.db import InterfaceError, OperationalError

from agents.models import AgentRun
from agents.runtime import Runtime
from chat.conversations import queries, tree
from chat.live import broadcast, shared_reads
from chat.live.broadcast import Broadcast, Snapshot
from chat.models import Conversation, Exchange
from chat.rendering import fragments, quota, thread
from chat.rendering.answer import AnswerView
from chat.rendering.thread import RenderedAnswer

logger = logging.getLogger(__name__)

IDLE_SECONDS = 20.0
"""How often a page is told that the connection lives, and looks for what it missed."""
ANNOUNCE_SECONDS = 2.0
"""From one announcement to the next at least; the end is told at once."""
ACK_EVERY = 32
MAX_UNACKED = 128
"""Frames that a page may be behind before it is sent no more."""
NO_FRAMES = -1
"""Frames that a page has which shows nothing of the run, or an unknown part of it."""


@dataclass(frozen=True)
class ConversationSnapshot:
    """A conversation as it is stored now."""

    conversation: Conversation
    run: AgentRun | None
    """The one that is going on."""
    ended: list[AgentRun]
    """Those that the page shows as going on, and are not."""
    rows: list[Exchange]
    """What the page does not have: more of the path it shows, or another path."""
    is_more: bool


class ConversationFollower:
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
        self._conversation_id = conversation_id
        self._send_text = send
        self._head: UUID | None = None
        self._title: str | None = None
        self._broadcast: Broadcast | None = None
        """What is going on, if the page follows it."""
        self._run_frames = 0
        """The frames of it that the page has, or had with the whole."""
        self._unfinished: set[UUID] = set()
        """Runs that the page shows as going on."""
        self._announced = ""
        self._announced_at = -ANNOUNCE_SECONDS
        self._frames = self._acked = 0
        self._sent_at = 0.0
        self._wakeup = asyncio.Event()
        self._is_current = False

    # -- what the page says -----------------------------------------------------------------------

    async def resume(self, head: UUID | None, live: list[UUID]) -> None:
        """Go on from what the page shows: what is different is sent, and followed from then on."""
        self._head, self._run_frames = head, NO_FRAMES
        self._unfinished = set(live)
        self.invalidate()

    def ack(self, frames: int) -> None:
        self._acked = max(self._acked, min(frames, self._frames))
        self._wakeup.set()

    def invalidate(self) -> None:
        """Look again: the conversation may have changed."""
        self._is_current = False
        self._wakeup.set()

    @property
    def active_run_id(self) -> UUID | None:
        """The run that is going on here, as far as this page knows."""
        return self._broadcast.run.pk if self._broadcast is not None else None

    # -- what the page is sent --------------------------------------------------------------------

    async def follow(self) -> None:
        """Send what is new, for ever."""
        try:
            with self._runtime.watch(self._conversation_id, self.invalidate):
                while True:
                    await self._follow_once()
        finally:
            await self._leave_broadcast()

    async def _follow_once(self) -> None:
        if not self._is_current:
            self._is_current = True  # what changes from now on is looked at again
            if not await self._with_retry(self._sync_conversation):
                self._is_current = False
        elif self._broadcast is not None:
            await self._follow_run(self._broadcast)
        else:
            self._wakeup.clear()
            await self._wait(IDLE_SECONDS)
            if self._idle_seconds() >= IDLE_SECONDS:
                await self._send_heartbeat()
                self._is_current = False

    async def _follow_run(self, run: Broadcast) -> None:
        """Send a run's frames until it ends, or the page has to show something else."""
        while self._is_current and self._broadcast is run:
            self._wakeup.clear()
            await self._send_updates(run)
            if run.is_over and self._run_frames == run.frames:
                self._unfinished.discard(run.run.pk)
                self.invalidate()
                continue
            await self._wait(IDLE_SECONDS)
            if self._idle_seconds() > IDLE_SECONDS:
                await self._send_heartbeat()

    async def _send_updates(self, run: Broadcast) -> None:
        """Send the frames that the page does not have, as far as it keeps up."""
        while self._frames - self._acked < MAX_UNACKED and self._is_current:
            frame = run.get_frame_after(self._run_frames)
            if frame is None:  # too far behind: the whole of it
                whole = run.snapshot()
                self._run_frames, frame = whole.frames, whole.rendered.html + whole.rendered.meters
            elif frame:
                self._run_frames += 1
            else:
                break
            await self._send(frame)
        if self._run_frames == run.frames and (said := self._render_announcement(run.answer)):
            await self._send(said)

    async def _sync_conversation(self) -> bool:
        """Bring the page to where the conversation is now. Not yet: false."""
        if (wait := quota.get_wait_seconds(self._user.pk)) > 0:
            await asyncio.sleep(min(wait, IDLE_SECONDS))
            await self._send_heartbeat()
            return False
        scene = await self._look()
        while scene is not None and scene.run is not None:
            run = await self._join_broadcast(scene.run)
            if not run.is_over:
                break
            await self._leave_broadcast()  # it ended as we looked
            scene = await self._look()
        if scene is None:
            return True
        if scene.run is None:
            await self._leave_broadcast()
        snapshot = None
        if self._broadcast is not None and (scene.rows or self._run_frames == NO_FRAMES):
            snapshot = self._broadcast.snapshot()
        await self._send(await self._render_shared(scene, snapshot))
        self._title = scene.conversation.title
        self._head = scene.conversation.head_id
        if snapshot is not None:
            self._run_frames = snapshot.frames
        self._unfinished = {scene.run.pk} if scene.run else set()
        return True

    async def _join_broadcast(self, run: AgentRun) -> Broadcast:
        """Follow a run, unless the page does so already; wait until there is something to show."""
        if self._broadcast is None or self._broadcast.run.pk != run.pk:
            await self._leave_broadcast()
            self._broadcast = broadcast.join(self._runtime, run, self._wakeup.set)
            self._run_frames, self._announced = NO_FRAMES, ""
        await self._broadcast.wait_ready()
        return self._broadcast

    async def _leave_broadcast(self) -> None:
        if (run := self._broadcast) is not None:
            self._broadcast = None
            await run.remove_listener(self._wakeup.set)

    async def _look(self) -> ConversationSnapshot | None:
        """Return the conversation as it is now, read once for all tabs that show the same of it."""
        # Of this moment: it may resume with something else before the read that others share.
        head, live = self._head, frozenset(self._unfinished)
        return await shared_reads.read(
            self._runtime,
            self._user.pk,
            (self._conversation_id, head, live),
            lambda: self._load_snapshot(head, live),
        )

    def _load_snapshot(
        self, shown: UUID | None, live: frozenset[UUID]
    ) -> ConversationSnapshot | None:
        found = queries.for_user(self._user).filter(pk=self._conversation_id).first()
        if found is None:
            return None
        rows, is_more = _load_missing(found.head_id, shown)
        mine = AgentRun.objects.filter(user=self._user, conversation_key=self._conversation_id)
        active = mine.filter(outcome__isnull=True).first()
        unfinished = live - ({active.pk} if active else set())
        ended = list(mine.filter(pk__in=unfinished)) if unfinished else []
        return ConversationSnapshot(found, active, ended, rows, is_more)

    async def _render_shared(self, scene: ConversationSnapshot, snapshot: Snapshot | None) -> str:
        """Render what tabs that were shown the same lack, once for all of them."""
        shown = (id(scene), id(snapshot), self._title)  # both live as long as who waits for them
        return await shared_reads.read(
            self._runtime, self._user.pk, shown, lambda: self._render_charged(scene, snapshot)
        )

    def _render_charged(self, scene: ConversationSnapshot, snapshot: Snapshot | None) -> str:
        """`snapshot` is of what is going on, if the page does not have it as it is."""
        with quota.charge_user(self._user.pk):
            return self._render(scene, snapshot)

    def _render(self, scene: ConversationSnapshot, snapshot: Snapshot | None) -> str:
        live = snapshot.rendered if snapshot is not None else None
        last = live if scene.run is not None else self._get_last_answer(scene)
        frames: list[str] = []  # of a run that was too fast to be followed, the end is said here
        if scene.run is None and last is not None and (scene.ended or scene.is_more):
            frames.append(fragments.render("announce", text=last.activity))
        frames.append(fragments.render("controls", running=scene.run is not None))
        if scene.conversation.title != self._title:
            frames.append(fragments.render("title", title=scene.conversation.title))
        frames += [thread.get_rendered_answer(ended).html for ended in scene.ended]
        if not scene.is_more:
            frames.append(thread.render_thread(scene.conversation, scene.rows, live))
        elif scene.rows:
            more = thread.render_exchanges(scene.rows, live)
            frames.append(fragments.append("thread", more))
        elif live is not None:
            frames.append(live.html)
        if last is not None:
            frames.append(last.meters)
        return "".join(frames)

    def _get_last_answer(self, scene: ConversationSnapshot) -> RenderedAnswer | None:
        """Return the last answer that is sent, when nothing is going on."""
        runs = [row.run for row in scene.rows] or scene.ended
        return thread.get_rendered_answer(runs[-1]) if runs else None

    # -- frames -----------------------------------------------------------------------------------

    async def _send(self, frame: str) -> None:
        self._frames += 1
        self._sent_at = asyncio.get_running_loop().time()
        await self._send_text(frame)
        if self._frames % ACK_EVERY == 0:
            await self._send_heartbeat()

    async def _send_heartbeat(self) -> None:
        self._frames += 1
        self._sent_at = asyncio.get_running_loop().time()
        await self._send_text(self._heartbeat_html())

    def _idle_seconds(self) -> float:
        """Return seconds since the page heard from us; after too many it takes us for dead."""
        return asyncio.get_running_loop().time() - self._sent_at

    def _heartbeat_html(self) -> str:
        return fragments.render("heartbeat", frames=self._frames)

    def _render_announcement(self, answer: AnswerView) -> str:
        """Render what is read to those who listen: what else happens, without rush."""
        now = asyncio.get_running_loop().time()
        is_soon = now - self._announced_at < ANNOUNCE_SECONDS and answer.done is None
        if answer.activity == self._announced or is_soon:
            return ""
        self._announced, self._announced_at = answer.activity, now
        return fragments.render("announce", text=answer.activity)

    async def _with_retry(self, step: Callable[[], Awaitable[bool]]) -> bool:
        """Try again while the database is away: that does not end a page."""
        try:
            return await step()
        except (OperationalError, InterfaceError) as error:
            logger.warning("a page cannot be brought up to date (%s)", error)
            await asyncio.sleep(broadcast.FRAME_SECONDS)
            return False

    async def _wait(self, seconds: float) -> None:
        """Wait until there is news, or reason to look for some."""
        timer = asyncio.get_running_loop().call_later(seconds, self._wakeup.set)
        try:
            await self._wakeup.wait()
        finally:
            timer.cancel()


def _load_missing(head: UUID | None, shown: UUID | None) -> tuple[list[Exchange], bool]:
    """Return exchanges that a page lacks, and whether they go on from the one that it shows."""
    if head == shown:
        return [], True
    rows = tree.get_path_segment(head).exchanges
    known = [number for number, row in enumerate(rows) if row.parent_id == shown]
    if known and (shown is not None or rows[0].parent_id is None):
        return rows[known[0] :], True
    return rows, False
