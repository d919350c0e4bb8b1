"""Following runs by their rows. A hint only says that it is worth looking; a lost one costs 2 s."""

import asyncio
import logging
import math
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import aclosing, contextmanager
from functools import partial
from uuid import UUID

from django.db import InterfaceError, OperationalError

from agents.audit.event_codec import EncodedEvent
from agents.core.chunks import OracleStreamChunk
from agents.core.tasks import spawn
from agents.ledger import pages
from agents.ledger.db_executor import DatabaseExecutor
from agents.ledger.pages import ChunkPage, EventCursor
from agents.ledger.recent import RecentEvents
from agents.models.runs import TERMINAL

logger = logging.getLogger(__name__)

POLL_SECONDS = 2.0
"""After so long without a hint the rows are looked at all the same."""
KEEP_SECONDS = 2.0
"""How long the last events of a run that has ended are kept for those who follow it."""
RETRY_SECONDS = 0.5
"""When a database that did not answer is asked again."""


class Reader:
    """The rows of runs for everybody in this process who waits for them."""

    def __init__(self, database: DatabaseExecutor) -> None:
        self._database = database
        self._recent = RecentEvents()
        self._watchers: defaultdict[UUID, list[Callable[[], None]]] = defaultdict(list)
        self._pending_reads: dict[EventCursor, asyncio.Future[ChunkPage | None]] = {}
        self._read_task: asyncio.Task[None] | None = None

    def notify(self, newest: dict[UUID, int]) -> None:
        """Wake the readers of these runs: there are new rows."""
        for run_id in newest:
            for call in self._watchers.get(run_id, ()):
                call()

    def keep(self, run_id: UUID, events: Sequence[EncodedEvent]) -> None:
        """Keep what was just stored of a run for those who follow it. None: words were erased, or
        may be, as they may when it has ended: then it is kept for a moment."""
        if not events or run_id not in self._watchers:
            self._recent.drop(run_id)
            return
        self._recent.add(run_id, events)
        if events[-1].kind == TERMINAL:
            asyncio.get_running_loop().call_later(KEEP_SECONDS, self._recent.drop, run_id)

    async def read(self, run_id: UUID, after: int) -> ChunkPage | None:
        """Return what is stored next of a run: as it was just stored, else from its rows.

        Who asks during a query shares the next one.
        """
        cursor = EventCursor(run_id, after)
        if (page := self._recent.read(cursor)) is not None:
            return page
        if cursor not in self._pending_reads:
            self._pending_reads[cursor] = asyncio.get_running_loop().create_future()
        wanted = self._pending_reads[cursor]
        if self._read_task is None or self._read_task.done():
            self._read_task = spawn(self._read_pending(), "ledger reader")
        return await asyncio.shield(wanted)

    @contextmanager
    def watch(self, key: UUID, callback: Callable[[], None]) -> Iterator[None]:
        """Call back whenever there may be news of a run, or of whatever else is told of."""
        self._watchers[key].append(callback)
        try:
            yield
        finally:
            self._watchers[key].remove(callback)
            if not self._watchers[key]:
                del self._watchers[key]
                self._recent.drop(key)

    async def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[OracleStreamChunk, None]:
        """Yield every chunk of a run after a cursor, until its end; resuming is opening."""
        async with aclosing(self.follow_pages(run_id, after)) as pages:
            async for page in pages:
                for chunk in page.chunks if page is not None else ():
                    yield chunk

    async def follow_pages(
        self, run_id: UUID, after: int = 0, heartbeat: float = math.inf
    ) -> AsyncGenerator[ChunkPage | None, None]:
        """Yield what is stored of a run after a cursor, page by page, until its end.

        One comes after every look, every `heartbeat` seconds at least, if need be an empty one.
        None says that the database did not answer, which does not end a reader.
        """
        loop, hint = asyncio.get_running_loop(), asyncio.Event()
        with self.watch(run_id, hint.set):
            while True:
                hint.clear()
                page = await self._read_page(run_id, after)
                yield page
                if page is not None:
                    after = page.last_seq
                    if page.is_last:
                        return
                    if page.is_full:
                        continue
                wait = POLL_SECONDS if page is not None else RETRY_SECONDS
                timer = loop.call_later(min(heartbeat, wait), hint.set)
                await hint.wait()
                timer.cancel()

    async def _read_page(self, run_id: UUID, after: int) -> ChunkPage | None:
        try:
            page = await self.read(run_id, after)
        except (OperationalError, InterfaceError) as error:
            logger.warning("the database cannot be read (%s); looking again", error)
            return None
        return page if page is not None else ChunkPage([], after, is_full=False)

    async def _read_pending(self) -> None:
        while self._pending_reads:
            wanted, self._pending_reads = self._pending_reads, {}
            try:
                found = await self._database.run(partial(pages.read, list(wanted)))
            except Exception as error:
                for waiting in wanted.values():
                    waiting.set_exception(error)
                    waiting.exception()  # nobody may be waiting any more
            else:
                for cursor, waiting in wanted.items():
                    waiting.set_result(found.get(cursor))
