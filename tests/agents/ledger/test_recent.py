"""What was just committed, for readers of the same process: as the rows have it, or not at all."""

import asyncio
from collections.abc import Sequence

import pytest
from asgiref.sync import async_to_sync, sync_to_async

from agents.audit.event_codec import EncodedEvent, encode_chunk
from agents.core.chunks import Content, OracleStreamChunk
from agents.core.config import AgentConfig
from agents.ledger import pages, queries, reader, recent
from agents.ledger.pages import EventCursor
from agents.ledger.reader import Reader
from agents.ledger.recent import RecentEvents
from agents.ledger.writer import OwnedRun, Writer
from agents.models import AgentRun
from tests.agents.ledger.test_reader import GatedDatabase, end, made, soon, words
from tests.support import scenarios
from tests.support.virtual import run_virtual

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def database() -> GatedDatabase:
    return GatedDatabase()


class Process:
    """A writer and a reader, joined as the runtime joins them."""

    def __init__(self, database: GatedDatabase, run: AgentRun) -> None:
        self.reader = Reader(database)
        self._writer = Writer(self.reader.notify, keep=self.reader.keep)
        claim = queries.Claim(run.pk, run.fence)
        self.lost = asyncio.Event()
        self._own = OwnedRun(claim, lambda note: None, self.lost.set, lambda: None)

    async def __aenter__(self) -> "Process":
        self._writer.start()
        self._writer.add_run(self._own)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._writer.close()

    async def write(self, chunks: Sequence[OracleStreamChunk]) -> None:
        """Commit these, by themselves."""
        for chunk in chunks:
            self._writer.append(self._own, chunk)
        await soon(self._writer.wait_committed(self._own, chunks[-1].seq))


def encoded(chunks: Sequence[OracleStreamChunk]) -> list[EncodedEvent]:
    return [encode_chunk(chunk) for chunk in chunks]


async def test_who_follows_a_run_of_this_process_asks_the_database_only_once(
    database: GatedDatabase,
) -> None:
    (run,) = await made(1)
    async with Process(database, run) as process:
        found = process.reader.follow_pages(run.pk)
        assert (await soon(anext(found))) is not None  # nothing yet, and from now on watched
        for first in range(1, 40, 4):
            await process.write(words(first, first + 3))
            page = await soon(anext(found))
            assert page is not None
            assert [chunk.seq for chunk in page.chunks] == list(range(first, first + 4))
        await process.write([end(41)])
        assert [page.is_last async for page in found if page] == [True]
    assert database.queries == 1
    await database.close()


def test_a_run_reads_as_its_rows_do() -> None:
    """Compare every chunk of randomised runs: type, fields, and the time to the digit."""
    for seed, run in enumerate(async_to_sync(made)(12)):
        chunks: list[OracleStreamChunk] = []
        run_virtual(scenarios.play(seed, kept=chunks), thread_grace=0.002)
        async_to_sync(compare_with_rows)(run, chunks)


async def compare_with_rows(run: AgentRun, chunks: list[OracleStreamChunk]) -> None:
    kept = RecentEvents()
    for start in range(0, len(chunks), 40):
        part = chunks[start : start + 40]
        commit = queries.Commit(queries.Claim(run.pk, run.fence), part)
        held = await sync_to_async(queries.write)([commit])
        kept.add(run.pk, held[run.pk].stored)
        cursor = EventCursor(run.pk, part[0].seq - 1)
        rows = await sync_to_async(pages.read)([cursor])
        assert kept.read(cursor) == rows[cursor]


async def test_what_erases_words_is_read_from_the_rows(database: GatedDatabase) -> None:
    (run,) = await made(1)
    rows = Reader(database)
    with rows.watch(run.pk, lambda: None):
        rows.keep(run.pk, encoded(words(1, 3)))
        assert await soon(rows.read(run.pk, 0)) is not None
        assert database.queries == 0
        rows.keep(run.pk, ())
        assert await soon(rows.read(run.pk, 0)) is None  # as there are no rows
        assert database.queries == 1
    await database.close()


async def test_words_of_an_unfinished_subagent_are_not_handed_out(database: GatedDatabase) -> None:
    (run,) = await made(1)
    said = [Content(content="Half of it", parent="a", seq=1, at=1_700_000_000.0)]
    commit = queries.Commit(queries.Claim(run.pk, run.fence), said, unfinished=["a"])
    held = await sync_to_async(queries.write)([commit])
    assert held[run.pk].stored == ()
    await database.close()


async def test_words_of_somebody_who_was_deleted_meanwhile_are_not_handed_out(
    database: GatedDatabase,
) -> None:
    (run,) = await made(1)
    limits = AgentConfig().model_dump()
    await AgentRun.objects.filter(pk=run.pk).aupdate(user=None, config=limits)
    ending = queries.FinalValues({"outcome": "completed", "reason": "completed"})
    last = [*words(1, 3), end(4)]
    commit = queries.Commit(queries.Claim(run.pk, run.fence), last, ending)
    held = await sync_to_async(queries.write)([commit])
    assert held[run.pk].stored == ()
    await database.close()


async def test_a_run_that_has_ended_is_kept_for_a_moment(
    database: GatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its words can be erased from then on, here or elsewhere, while somebody still follows it."""
    monkeypatch.setattr(reader, "KEEP_SECONDS", 0.0)
    (run,) = await made(1)
    rows = Reader(database)
    with rows.watch(run.pk, lambda: None):
        rows.keep(run.pk, encoded([*words(1, 3), end(4)]))
        assert await soon(rows.read(run.pk, 0)) is not None
        assert database.queries == 0
        passed = asyncio.Event()
        asyncio.get_running_loop().call_later(0.0, passed.set)
        await soon(passed.wait())
        assert await soon(rows.read(run.pk, 0)) is None  # as there are no rows
    await database.close()


async def test_a_run_that_another_process_has_taken_over_is_read_from_the_rows(
    database: GatedDatabase,
) -> None:
    (run,) = await made(1)
    async with Process(database, run) as process:
        with process.reader.watch(run.pk, lambda: None):
            await process.write(words(1, 3))
            assert await soon(process.reader.read(run.pk, 0)) is not None
            assert database.queries == 0
            await AgentRun.objects.filter(pk=run.pk).aupdate(fence=run.fence + 1)
            await soon(process.lost.wait())
            assert await soon(process.reader.read(run.pk, 0)) is not None
            assert database.queries == 1
    await database.close()


async def test_nothing_is_kept_for_nobody(database: GatedDatabase) -> None:
    (run,) = await made(1)
    rows = Reader(database)
    rows.keep(run.pk, encoded(words(1, 3)))
    assert await soon(rows.read(run.pk, 0)) is None
    with rows.watch(run.pk, lambda: None):
        rows.keep(run.pk, encoded(words(1, 3)))
    assert await soon(rows.read(run.pk, 0)) is None
    assert database.queries == 2
    await database.close()


def test_who_is_behind_what_is_kept_reads_rows() -> None:
    run_id = AgentRun().pk
    kept = RecentEvents()
    kept.add(run_id, encoded(words(5, 7)))
    assert [kept.read(EventCursor(run_id, after)) is None for after in range(3, 9)] == [
        True,  # 4 is not kept
        False,
        False,
        False,
        True,  # there is nothing newer
        True,
    ]


@pytest.mark.parametrize(
    ("commits", "readable"),
    [
        ([(1, 300), (301, 500)], 0),
        ([(1, 300), (301, 501)], 300),
        ([(1, 501)], None),
        ([(1, 501), (502, 502)], 501),
    ],
    ids=["a page", "more than a page", "more at once", "after more at once"],
)
def test_no_more_than_a_page_is_kept(commits: list[tuple[int, int]], readable: int | None) -> None:
    run_id, kept = AgentRun().pk, RecentEvents()
    for first, last in commits:
        kept.add(run_id, encoded(words(first, last)))
    found = [after for after in range(503) if kept.read(EventCursor(run_id, after))]
    assert (found[0] if found else None) == readable


def test_long_texts_are_left_to_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recent, "MAX_SIZE", 100)
    run_id, kept = AgentRun().pk, RecentEvents()
    short, long = (Content(content="x" * size, seq=1, at=0.0) for size in (40, 101))
    kept.add(run_id, encoded([short]))
    assert kept.read(EventCursor(run_id, 0)) is not None
    kept.add(run_id, encoded([long]))
    assert kept.read(EventCursor(run_id, 0)) is None


def test_what_was_decoded_for_one_reader_does_not_hide_what_came_since_from_the_next() -> None:
    run_id, kept = AgentRun().pk, RecentEvents()
    for first in (1, 4):
        kept.add(run_id, encoded(words(first, first + 2)))
        page = kept.read(EventCursor(run_id, 0))
        assert page is not None
        assert page.last_seq == first + 2


async def test_readers_of_one_place_share_what_was_decoded(database: GatedDatabase) -> None:
    (run,) = await made(1)
    rows = Reader(database)
    with rows.watch(run.pk, lambda: None):
        rows.keep(run.pk, encoded(words(1, 3)))
        pages = await soon(asyncio.gather(*(rows.read(run.pk, 0) for _ in range(10))))
    assert pages[0] is not None
    assert all(page is pages[0] for page in pages)
    await database.close()
