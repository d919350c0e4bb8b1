"""Following runs by their rows: shared reads, hints, and a database that is away for a while."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from contextlib import aclosing, suppress
from typing import TypeVar

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from agents.core.chunks import Content, Done, OracleStreamChunk
from agents.ledger import queries, reader
from agents.ledger.db_executor import DatabaseExecutor
from agents.ledger.pages import PAGE_SIZE
from agents.ledger.reader import Reader
from agents.models import AgentRun
from tests.agents.models.factories import ada, engine, run_of
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")
AT = 1_700_000_000.0


class GatedDatabase(DatabaseExecutor):
    """Counts the queries, lets them through when told, and fails as often as told."""

    def __init__(self) -> None:
        super().__init__(1, "test")
        self.queries = 0
        self.asked = asyncio.Event()
        self.gate = asyncio.Event()
        self.gate.set()
        self.failures: list[Exception] = []

    async def run(self, work: Callable[[], T], person: int | str | None = None) -> T:
        self.queries += 1
        self.asked.set()
        await self.gate.wait()
        if self.failures:
            raise self.failures.pop(0)
        return await super().run(work)


@pytest.fixture
async def database() -> GatedDatabase:
    return GatedDatabase()


@pytest.fixture(autouse=True)
def no_look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks without a hint, unless a test wants it."""
    monkeypatch.setattr(reader, "POLL_SECONDS", 60.0)


@sync_to_async
def made(count: int) -> list[AgentRun]:
    user = ada()
    project = engine(user)
    return [run_of(user, project) for _ in range(count)]


@sync_to_async
def stored(run: AgentRun, chunks: Iterable[OracleStreamChunk]) -> None:
    commit = queries.Commit(queries.Claim(run.pk, run.fence), list(chunks))
    queries.write([commit])


def words(first: int, last: int) -> list[OracleStreamChunk]:
    return [Content(content=f"w{seq} ", seq=seq, at=AT) for seq in range(first, last + 1)]


def end(seq: int) -> OracleStreamChunk:
    return Done(
        termination_reason="completed",
        outcome="completed",
        turns_used=1,
        tokens_used=1,
        usage_source="provider",
        model_used="m",
        seq=seq,
        at=AT,
    )


async def followed(rows: Reader, run: AgentRun, after: int = 0) -> list[int]:
    return [chunk.seq async for chunk in rows.follow(run.pk, after)]


async def soon(waited_for: Awaitable[T]) -> T:
    async with asyncio.timeout(PATIENCE):
        return await waited_for


async def test_those_who_ask_while_a_query_runs_share_the_next_one(
    database: GatedDatabase,
) -> None:
    runs = await made(20)
    for run in runs:
        await stored(run, words(1, 3))
    rows = Reader(database)
    database.gate.clear()
    first = asyncio.create_task(rows.read(runs[0].pk, 0))
    await soon(database.asked.wait())
    others = [asyncio.create_task(rows.read(run.pk, 1)) for run in runs]
    await asyncio.sleep(0)
    database.gate.set()
    page = await soon(first)
    pages = await soon(asyncio.gather(*others))
    assert page is not None
    assert (len(page.chunks), page.last_seq) == (3, 3)
    assert [found.last_seq for found in pages if found] == [3] * 20
    assert database.queries == 2
    await database.close()


async def test_the_same_place_is_read_once_for_everybody(database: GatedDatabase) -> None:
    (run,) = await made(1)
    await stored(run, words(1, 3))
    rows = Reader(database)
    pages = await soon(asyncio.gather(*(rows.read(run.pk, 0) for _ in range(10))))
    assert all(page is pages[0] for page in pages)
    assert database.queries == 1
    await database.close()


async def test_one_who_goes_away_does_not_disturb_those_who_share_the_query(
    database: GatedDatabase,
) -> None:
    (run,) = await made(1)
    await stored(run, words(1, 3))
    rows = Reader(database)
    database.gate.clear()
    leaving, staying = (asyncio.create_task(rows.read(run.pk, 0)) for _ in range(2))
    await soon(database.asked.wait())
    leaving.cancel()
    with suppress(asyncio.CancelledError):
        await leaving
    database.gate.set()
    page = await soon(staying)
    assert page is not None
    assert page.last_seq == 3
    await database.close()


async def test_a_run_longer_than_one_read_is_followed_to_its_end(database: GatedDatabase) -> None:
    (run,) = await made(1)
    last = 2 * PAGE_SIZE + 7
    await stored(run, [*words(1, last - 1), end(last)])
    assert await soon(followed(Reader(database), run)) == list(range(1, last + 1))
    assert await soon(followed(Reader(database), run, after=last - 2)) == [last - 1, last]
    await database.close()


async def test_a_hint_wakes_who_waits(database: GatedDatabase) -> None:
    (run,) = await made(1)
    await stored(run, words(1, 2))
    rows = Reader(database)
    got: list[int] = []
    both = asyncio.Event()

    async def follow() -> None:
        async for chunk in rows.follow(run.pk):
            got.append(chunk.seq)
            if chunk.seq == 2:
                both.set()

    following = asyncio.create_task(follow())
    await soon(both.wait())
    await stored(run, [*words(3, 4), end(5)])
    rows.notify({run.pk: 5})
    await soon(following)
    assert got == [1, 2, 3, 4, 5]
    await database.close()


async def test_a_lost_hint_only_costs_until_the_next_look(
    database: GatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "POLL_SECONDS", 0.05)
    (run,) = await made(1)
    rows = Reader(database)
    following = asyncio.create_task(followed(rows, run))
    await soon(database.asked.wait())
    await stored(run, [*words(1, 2), end(3)])
    assert await soon(following) == [1, 2, 3]
    await database.close()


async def test_a_database_that_is_away_is_asked_again(
    database: GatedDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "RETRY_SECONDS", 0.02)
    (run,) = await made(1)
    await stored(run, [*words(1, 2), end(3)])
    database.failures = [OperationalError("gone"), OperationalError("still gone")]
    assert await soon(followed(Reader(database), run)) == [1, 2, 3]
    assert database.queries == 3
    await database.close()


async def test_what_is_no_fault_of_the_database_is_passed_on_and_the_reader_goes_on(
    database: GatedDatabase,
) -> None:
    (run,) = await made(1)
    await stored(run, words(1, 2))
    rows = Reader(database)
    database.failures = [ValueError("a row that nobody can read")]
    with pytest.raises(ValueError, match="nobody can read"):
        await soon(rows.read(run.pk, 0))
    page = await soon(rows.read(run.pk, 0))
    assert page is not None
    assert page.last_seq == 2
    await database.close()


async def test_a_run_without_news_gives_nothing(database: GatedDatabase) -> None:
    (run,) = await made(1)
    assert await soon(Reader(database).read(run.pk, 0)) is None
    await database.close()


async def test_silence_is_told_as_empty_pages(database: GatedDatabase) -> None:
    (run,) = await made(1)
    await stored(run, words(1, 2))
    rows = Reader(database)
    async with aclosing(rows.follow_pages(run.pk, 0, heartbeat=0.01)) as pages:
        found = [await soon(anext(pages)) for _ in range(3)]
    assert [(len(page.chunks), page.last_seq) for page in found if page] == [(2, 2), (0, 2), (0, 2)]
    await database.close()


async def test_a_database_that_is_away_is_told_as_no_page(database: GatedDatabase) -> None:
    (run,) = await made(1)
    await stored(run, [end(1)])
    database.failures = [OperationalError("gone")]
    rows = Reader(database)
    found = [page async for page in rows.follow_pages(run.pk, 0, heartbeat=0.01)]
    assert found[0] is None
    assert found[1] is not None
    assert found[1].is_last
    assert len(found) == 2
    await database.close()
