"""One rendering of a run, for everybody in this process who follows it.

The first page that follows a run begins it, the last one that leaves ends it. One task reads what
is stored, renders it, and keeps the last frames; each page sends them at its own pace and knows by
itself how far it is. Long text is rendered in slices, so that nobody else waits for it.
"""

import asyncio
import logging
import math
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import aclosing
from dataclasses import dataclass, replace
from uuid import UUID

from agents.core.chunks import Content, OracleStreamChunk, Thinking
from agents.core.tasks import spawn, stop
from agents.ledger import ChunkPage
from agents.models import AgentRun
from agents.runtime import Runtime
from chat.rendering import fragments
from chat.rendering.answer import AnswerView
from chat.rendering.source_links import source_linker
from chat.rendering.thread import RenderedAnswer

logger = logging.getLogger(__name__)

FRAME_SECONDS = 0.1
"""From one frame to the next at least. Reads from a model are paced, so frames
follow commits, about ten a second."""
GRID_SECONDS = 0.02
"""Frames are due on this grid, so that one read serves several runs: the thread that reads, and
the way to it and back, cost more than what is read."""
SLICE_CHARS = 2_000
"""Characters that are rendered before others have their turn: 30 ms at the very worst."""
MAX_FRAMES = 256
MAX_FRAME_CHARS = 500_000
"""Frames that are kept for pages that are behind, and their characters. A page that is further
behind is sent the whole answer."""

_broadcasts: dict[tuple[Runtime, UUID], "Broadcast"] = {}


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The answer as it is after so many frames."""

    frames: int
    rendered: RenderedAnswer


class Broadcast:
    """`join`, `wait_ready`, send a `snapshot`, then the frames after it; `remove_listener`."""

    def __init__(self, runtime: Runtime, run: AgentRun) -> None:
        self.run = run
        self.answer = AnswerView(run.pk, source_linker(run.project_id))
        self.frames = 0
        """How many there have been."""
        self._runtime = runtime
        self._recent_frames: deque[str] = deque()
        self._chars = 0
        self._chars_since_yield = 0
        self._published_at = 0.0
        self._snapshot: Snapshot | None = None
        self._listeners: list[Callable[[], None]] = []
        self._ready = asyncio.Event()
        self._error: BaseException | None = None
        self._task: asyncio.Task[None] | None = None

    # -- for pages --------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        return self.answer.done is not None

    async def wait_ready(self) -> None:
        """Wait until what was stored at the beginning has been rendered."""
        await self._ready.wait()
        self._raise_on_error()

    def snapshot(self) -> Snapshot:
        """Return what a page with nothing of it needs; made once for all who ask at a time."""
        self._publish()
        if self._snapshot is None:
            html = fragments.render_answer(self.answer, self.run)
            meters = fragments.render_meters(self.answer, self.run)
            self._snapshot = Snapshot(self.frames, RenderedAnswer(self.run.pk, html, meters))
        return self._snapshot

    def get_frame_after(self, frame: int) -> str | None:
        """Return the frame after so many; empty if there is none yet, None if it is gone."""
        self._raise_on_error()
        if frame >= self.frames:
            return ""
        first = self.frames - len(self._recent_frames)
        return self._recent_frames[frame - first] if frame >= first else None

    def _raise_on_error(self) -> None:
        if self._error is not None:
            raise RuntimeError("the run cannot be rendered") from self._error

    # -- its task ---------------------------------------------------------------------------------

    def add_listener(self, call: Callable[[], None]) -> None:
        self._listeners.append(call)
        if self._task is None:
            self._task = spawn(self._run(), f"broadcast {self.run.pk}")

    async def remove_listener(self, call: Callable[[], None]) -> None:
        self._listeners.remove(call)
        if not self._listeners:
            self._unregister()
            if self._task is not None:
                await stop([self._task], 1.0)

    def _unregister(self) -> None:
        key = (self._runtime, self.run.pk)
        if _broadcasts.get(key) is self:
            del _broadcasts[key]

    async def _run(self) -> None:
        try:
            await self._follow()
        except Exception as error:
            logger.exception("run %s cannot be rendered", self.run.pk)
            self._error = error
            self._unregister()
            self._ready.set()
            self._notify()

    async def _follow(self) -> None:
        """Render what is stored, then what comes; a frame at a time, so that hints wait for it."""
        async with aclosing(self._runtime.follow_pages(self.run.pk)) as pages:
            async for page in pages:
                if page is None:
                    continue
                await self._render_page(page)
                if not page.is_full and self.answer.has_text and not self.is_over:
                    await asyncio.sleep(self._until_next_frame())

    async def _render_page(self, page: ChunkPage) -> None:
        for chunk in page.chunks:
            await self._apply(chunk)
        self.answer.last_seq = page.last_seq
        if self._ready.is_set() and page.chunks:
            self._publish()
        elif not (self._ready.is_set() or page.is_full):
            self.answer.mark_sent()
            self._ready.set()

    async def _apply(self, chunk: OracleStreamChunk) -> None:
        if not isinstance(chunk, Content | Thinking):
            self.answer.apply(chunk)
            return
        for piece in _slice_text(chunk):
            self._chars_since_yield += len(piece.content)
            if self._chars_since_yield > SLICE_CHARS:
                self._chars_since_yield = len(piece.content)
                await asyncio.sleep(0)
            self.answer.apply(piece)

    def _publish(self) -> None:
        if frame := fragments.render_update(self.answer, self.run):
            self._recent_frames.append(frame)
            self._chars += len(frame)
            while len(self._recent_frames) > MAX_FRAMES or (
                self._chars > MAX_FRAME_CHARS and len(self._recent_frames) > 1
            ):
                self._chars -= len(self._recent_frames.popleft())
            self.frames += 1
            self._snapshot = None
            self._published_at = asyncio.get_running_loop().time()
        self._notify()

    def _notify(self) -> None:
        for call in self._listeners:
            call()

    def _until_next_frame(self) -> float:
        due = math.floor((self._published_at + FRAME_SECONDS) / GRID_SECONDS) * GRID_SECONDS
        return due - asyncio.get_running_loop().time()


def join(runtime: Runtime, run: AgentRun, call: Callable[[], None]) -> Broadcast:
    """Return a run's broadcast; `call` hears of news until `remove_listener` with the same."""
    key = (runtime, run.pk)
    if key not in _broadcasts:
        _broadcasts[key] = Broadcast(runtime, run)
    _broadcasts[key].add_listener(call)
    return _broadcasts[key]


def _slice_text(chunk: Content | Thinking) -> Iterator[Content | Thinking]:
    if len(chunk.content) <= SLICE_CHARS:
        yield chunk
        return
    for at in range(0, len(chunk.content), SLICE_CHARS):
        yield replace(chunk, content=chunk.content[at : at + SLICE_CHARS])
