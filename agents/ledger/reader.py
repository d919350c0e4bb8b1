"""Following runs by their rows. A hint only says that it is worth looking; a lost one costs 2 s."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from uuid import UUID

from django.db import InterfaceError, OperationalError

from agents.core.chunks import Chunk, Done
from agents.core.tasks import spawn
from agents.ledger import store
from agents.ledger.database import Database

log = logging.getLogger(__name__)

LOOK_SECONDS = 2.0


class Reader:
    """The rows of runs for everybody in this process who waits for them."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._watching: defaultdict[UUID, list[Callable[[], None]]] = defaultdict(list)
        self._wanted: dict[store.Cursor, asyncio.Future[store.Page | None]] = {}
        self._reading: asyncio.Task[None] | None = None

    def tell(self, newest: dict[UUID, int]) -> None:
        """There are new rows of these runs."""
        for run_id in newest:
            for call in self._watching.get(run_id, ()):
                call()

    async def read(self, run_id: UUID, after: int) -> store.Page | None:
        """What is stored next of a run. Who asks while a query runs shares the one after it."""
        cursor = store.Cursor(run_id, after)
        if cursor not in self._wanted:
            self._wanted[cursor] = asyncio.get_running_loop().create_future()
        wanted = self._wanted[cursor]
        if self._reading is None or self._reading.done():
            self._reading = spawn(self._read_wanted(), "ledger reader")
        return await asyncio.shield(wanted)

    @contextmanager
    def watch(self, key: UUID, call: Callable[[], None]) -> Iterator[None]:
        """Call back whenever there may be news of a run, or of whatever else is told of."""
        self._watching[key].append(call)
        try:
            yield
        finally:
            self._watching[key].remove(call)
            if not self._watching[key]:
                del self._watching[key]

    async def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[Chunk, None]:
        """Every chunk of a run after a cursor, until its end. Opening and resuming are the same."""
        hint = asyncio.Event()
        with self.watch(run_id, hint.set):
            while True:
                hint.clear()
                if (page := await self._read_patiently(run_id, after)) is not None:
                    if page.is_full:
                        hint.set()
                    after = page.upto
                    for chunk in page.chunks:
                        yield chunk
                        if isinstance(chunk, Done):
                            return
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await hint.wait()

    async def _read_patiently(self, run_id: UUID, after: int) -> store.Page | None:
        """A database that is away for a while does not end a reader: it looks again later."""
        try:
            return await self.read(run_id, after)
        except (OperationalError, InterfaceError) as error:
            log.warning("the database cannot be read (%s); looking again", error)
            return None

    async def _read_wanted(self) -> None:
        while self._wanted:
            wanted, self._wanted = self._wanted, {}
            try:
                found = await self._database.run(partial(store.read, list(wanted)))
            except Exception as error:
                for waiting in wanted.values():
                    waiting.set_exception(error)
                    waiting.exception()  # nobody may be waiting any more
            else:
                for cursor, waiting in wanted.items():
                    waiting.set_result(found.get(cursor))
