"""Following a run by its rows. A hint only says that it is worth looking; a lost one costs 2 s."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncGenerator
from contextlib import suppress
from uuid import UUID

from asgiref.sync import sync_to_async

from agents.core.chunks import Chunk, Done
from agents.ledger import store
from agents.models.encoding import chunk_of

LOOK_SECONDS = 2.0


class Hints:
    """Who is waiting for which run in this process."""

    def __init__(self) -> None:
        self._waiting: defaultdict[UUID, set[asyncio.Event]] = defaultdict(set)

    def tell(self, newest: dict[UUID, int]) -> None:
        for run_id in newest:
            for event in self._waiting.get(run_id, ()):
                event.set()

    async def follow(self, run_id: UUID, after: int = 0) -> AsyncGenerator[Chunk, None]:
        """Every chunk of a run after a cursor, until its end. Opening and resuming are the same."""
        hint = asyncio.Event()
        self._waiting[run_id].add(hint)
        try:
            while True:
                hint.clear()
                for event in await sync_to_async(store.read, thread_sensitive=False)(run_id, after):
                    after = event.seq
                    chunk = chunk_of(event)
                    if chunk is not None:
                        yield chunk
                    if isinstance(chunk, Done):
                        return
                    hint.set()  # there may be more than one read brings
                with suppress(TimeoutError):
                    async with asyncio.timeout(LOOK_SECONDS):
                        await hint.wait()
        finally:
            self._waiting[run_id].discard(hint)
            if not self._waiting[run_id]:
                del self._waiting[run_id]
