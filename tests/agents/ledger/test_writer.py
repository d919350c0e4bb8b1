"""The one writer of a process: together, in order, behind a fence, and patient."""

import asyncio
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from agents.core.chunks import Content, OracleStreamChunk, Turn
from agents.ledger import queries, writer
from agents.ledger.db_errors import LOCKED
from agents.ledger.writer import LedgerClosed, OwnedRun, Writer
from agents.models import AgentRun, RunEvent
from tests.agents.models.factories import ada, engine, run_of
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def rows(count: int) -> list[AgentRun]:
    user = ada()
    project = engine(user)
    return [run_of(user, project) for _ in range(count)]


class Told:
    """Keeps what a writer says."""

    def __init__(self) -> None:
        self.commits: list[dict[UUID, int]] = []
        self.lost: list[UUID] = []
        self.heard = asyncio.Event()
        self.stalled = asyncio.Event()

    def own(self, row: AgentRun) -> OwnedRun:
        return OwnedRun(
            queries.Claim(row.pk, row.fence),
            on_cancel=lambda note: self.heard.set(),
            on_lost=lambda: self.lost.append(row.pk),
            on_stalled=self.stalled.set,
        )


def text(seq: int) -> OracleStreamChunk:
    return Content(content=f"word{seq} ", seq=seq, at=1_700_000_000.0)


async def numbers(row: AgentRun) -> list[int]:
    found = RunEvent.objects.filter(run=row).order_by("seq").values_list("seq", flat=True)
    return [seq async for seq in found]


async def test_events_of_several_runs_share_commits_and_keep_their_order() -> None:
    told = Told()
    made = await rows(10)
    ledger = Writer(told.commits.append)
    ledger.start()
    owned = [told.own(row) for row in made]
    for own in owned:
        ledger.add_run(own)
    for seq in range(1, 51):
        for own in owned:
            ledger.append(own, text(seq))
    for own in owned:
        await ledger.wait_committed(own, 50)
    await ledger.close()
    for row in made:
        assert await numbers(row) == list(range(1, 51))
    assert len(told.commits) < 100  # of 500 events


async def test_a_reader_is_told_only_of_what_is_stored() -> None:
    (row,) = await rows(1)
    told = Told()
    seen: list[tuple[int, int]] = []

    def tell(newest: dict[UUID, int]) -> None:
        with sqlite3.connect(connection.settings_dict["NAME"]) as other:
            (stored,) = other.execute("SELECT max(seq) FROM agents_runevent").fetchone()
        seen.append((newest[row.pk], stored))

    ledger = Writer(tell)
    ledger.start()
    own = told.own(row)
    ledger.add_run(own)
    for seq in range(1, 6):
        ledger.append(own, Turn(number=1, phase="start", seq=seq, at=1_700_000_000.0))
        await ledger.wait_committed(own, seq)
    await ledger.close()
    assert seen == [(seq, seq) for seq in range(1, 6)]


async def test_a_run_that_was_taken_over_is_refused_and_the_others_are_not() -> None:
    mine, stolen = await rows(2)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    owned = [told.own(mine), told.own(stolen)]
    for own in owned:
        ledger.add_run(own)
    await AgentRun.objects.filter(pk=stolen.pk).aupdate(fence=2)
    for own in owned:
        ledger.append(own, text(1))
    await ledger.wait_committed(owned[0], 1)
    await ledger.close()
    assert await numbers(mine) == [1]
    assert await numbers(stolen) == []
    assert told.lost == [stolen.pk]


async def test_a_quiet_run_hears_of_a_cancellation() -> None:
    (row,) = await rows(1)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    ledger.add_run(told.own(row))
    await AgentRun.objects.filter(pk=row.pk).aupdate(cancel_requested_at=timezone.now())
    async with asyncio.timeout(PATIENCE):
        await told.heard.wait()
    await ledger.close()


async def test_a_quiet_run_hears_of_a_cancellation_while_others_stream() -> None:
    """Commits follow one another without a pause, and none of them is of that run."""
    quiet, busy = await rows(2)
    told, streaming = Told(), Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    ledger.add_run(told.own(quiet))
    ledger.add_run(own := streaming.own(busy))
    await AgentRun.objects.filter(pk=quiet.pk).aupdate(cancel_requested_at=timezone.now())
    seq = 0
    async with asyncio.timeout(PATIENCE):
        while not told.heard.is_set():
            seq += 1
            ledger.append(own, text(seq))
            await asyncio.sleep(0.001)
    assert not streaming.heard.is_set()
    await ledger.wait_committed(own, seq)
    await ledger.close()
    assert await numbers(busy) == list(range(1, seq + 1))


async def test_a_quiet_run_that_was_taken_over_is_dropped_while_others_stream(
    caplog: pytest.LogCaptureFixture,
) -> None:
    quiet, busy = await rows(2)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    owned = [told.own(quiet), told.own(busy)]
    for own in owned:
        ledger.add_run(own)
    await AgentRun.objects.filter(pk=quiet.pk).aupdate(fence=2)
    seq = 0
    async with asyncio.timeout(PATIENCE):
        while not told.lost:
            seq += 1
            ledger.append(owned[1], text(seq))
            await asyncio.sleep(0.001)
    await ledger.wait_committed(owned[1], seq)
    await ledger.close()
    assert told.lost == [quiet.pk]
    with pytest.raises(LedgerClosed, match="another process has taken it over"):
        ledger.append(owned[0], text(1))
    why = f"run {quiet.pk} is not written any more: another process has taken it over"
    assert why in caplog.messages


async def test_a_commit_changes_no_column_of_a_run_that_is_in_an_index() -> None:
    """PostgreSQL would write to all indexes of the row, for each commit."""
    (row,) = await rows(1)
    told = Told()
    before: dict[str, object] = {**await AgentRun.objects.filter(pk=row.pk).values().aget()}
    ledger = Writer(told.commits.append)
    ledger.start()
    ledger.add_run(own := told.own(row))
    ledger.append(own, text(1))
    await ledger.wait_committed(own, 1)
    await ledger.close()
    after: dict[str, object] = {**await AgentRun.objects.filter(pk=row.pk).values().aget()}
    assert [name for name in after if after[name] != before[name]] == ["last_seq"]
    assert "last_seq" not in await sync_to_async(indexed_columns)()


def indexed_columns() -> set[str]:
    with connection.cursor() as cursor:
        found = connection.introspection.get_constraints(cursor, AgentRun._meta.db_table)
    return {column for one in found.values() if one["index"] for column in one["columns"]}


@contextmanager
def locked() -> Iterator[sqlite3.Connection]:
    """The database as another process holds it."""
    other = sqlite3.connect(connection.settings_dict["NAME"], isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    try:
        yield other
    finally:
        other.close()


@pytest.fixture
def impatient_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock is an error at once, so that the writer's own patience is seen."""
    original = queries.write

    def write(commits: list[queries.Commit]) -> queries.HeldRuns:
        with connection.cursor() as cursor:
            cursor.execute("PRAGMA busy_timeout = 20")
        return original(commits)

    monkeypatch.setattr(queries, "write", write)


async def test_a_locked_database_is_waited_for_and_nothing_is_lost(
    impatient_database: None,
) -> None:
    (row,) = await rows(1)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    own = told.own(row)
    ledger.add_run(own)
    with locked() as other:
        for seq in range(1, 4):
            ledger.append(own, text(seq))
        await asyncio.sleep(0.3)
        assert told.commits == []
        other.execute("ROLLBACK")
        await ledger.wait_committed(own, 3)
    await ledger.close()
    assert await numbers(row) == [1, 2, 3]
    assert told.lost == []


async def test_a_run_hears_that_the_database_stays_locked_and_keeps_what_it_wrote(
    impatient_database: None,
) -> None:
    (row,) = await rows(1)
    told = Told()
    ledger = Writer(told.commits.append, stall_seconds=0.2)
    ledger.start()
    own = told.own(row)
    ledger.add_run(own)
    with locked() as other:
        ledger.append(own, text(1))
        async with asyncio.timeout(PATIENCE):
            await told.stalled.wait()
        assert ledger.last_error == LOCKED
        ledger.append(own, text(2))
        other.execute("ROLLBACK")
    await ledger.wait_committed(own, 2)
    assert not ledger.is_stalled  # any more
    assert ledger.last_error == ""
    await ledger.close()
    assert await numbers(row) == [1, 2]
    assert told.lost == []


async def test_rows_that_the_database_refuses_end_their_run_and_no_other(
    caplog: pytest.LogCaptureFixture,
) -> None:
    good, bad = await rows(2)
    told = Told()
    ledger = Writer(told.commits.append)
    owned = [told.own(good), told.own(bad)]
    for own in owned:
        ledger.add_run(own)
    ledger.append(owned[0], text(1))
    ledger.append(owned[1], text(1))
    ledger.append(owned[1], text(1))  # the same number twice: the database says no
    ledger.start()
    await ledger.wait_committed(owned[0], 1)
    with pytest.raises(LedgerClosed, match="the database refuses something in it"):
        await ledger.wait_committed(owned[1], 1)
    ledger.append(owned[0], text(2))
    await ledger.wait_committed(owned[0], 2)
    with pytest.raises(LedgerClosed):
        ledger.append(owned[1], text(2))
    await ledger.close()
    assert await numbers(good) == [1, 2]
    assert await numbers(bad) == [1, 2]  # kept, under numbers that are free
    assert told.lost == [bad.pk]
    why = [message for message in caplog.messages if f"{bad.pk} is not written" in message]
    assert why == [f"run {bad.pk} is not written any more: the database refuses something in it"]


async def test_a_process_that_stops_before_the_database_answers_says_so(
    impatient_database: None, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(writer, "CLOSE_SECONDS", 0.1)
    (row,) = await rows(1)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    ledger.add_run(own := told.own(row))
    with locked() as other:
        ledger.append(own, text(1))
        waiting = asyncio.create_task(ledger.wait_committed(own, 1))
        await ledger.close()
        with pytest.raises(LedgerClosed, match="this process has stopped"):
            await waiting
        other.execute("ROLLBACK")
    assert f"run {row.pk} is not written any more: this process has stopped" in caplog.messages
    assert told.lost == []


async def test_a_run_waits_when_too_much_is_waiting(
    impatient_database: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "MAX_PENDING", 10)
    (row,) = await rows(1)
    told = Told()
    ledger = Writer(told.commits.append)
    ledger.start()
    own = told.own(row)
    ledger.add_run(own)

    async def much() -> None:
        for seq in range(1, 101):
            ledger.append(own, text(seq))
            await ledger.wait_for_capacity(own)

    with locked() as other:
        writing = asyncio.create_task(much())
        await asyncio.wait([writing], timeout=0.2)
        assert not writing.done()
        other.execute("ROLLBACK")
        await writing
    await ledger.wait_committed(own, 100)
    await ledger.close()
    assert await numbers(row) == list(range(1, 101))
