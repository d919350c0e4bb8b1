"""The SQL of the ledger's writer. Synchronous and short: it runs in the ledger's own thread.

Every commit begins with one fenced UPDATE over all its runs. A run that is missing from its answer
was taken over; nothing of it is written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from itertools import chain
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction

from agents.audit import signing
from agents.audit.erasure import erase_rows, erase_unfinished
from agents.audit.event_codec import EncodedEvent, encode_chunk
from agents.audit.log import log_action
from agents.audit.traces import empty_log_soon
from agents.core.chunks import OracleStreamChunk
from agents.models import AgentRun, RuleState, RunTool


@dataclass(frozen=True, slots=True)
class Claim:
    """A process's claim to a run: valid while the row's fence is this one."""

    run_id: UUID
    fence: int


@dataclass(frozen=True, slots=True)
class FinalValues:
    """What there is to say of a run that has ended: columns of its row, and of its tools."""

    values: Mapping[str, Any]
    tools: Sequence[Mapping[str, Any]] = ()
    also_store: Sequence[Callable[[AgentRun], None]] = ()
    """What else is written with the end, in the same transaction. None of it may be refused."""
    rule_states: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """What rules remember from now on, by their keys."""


@dataclass(frozen=True, slots=True)
class Commit:
    """What one commit writes of one run: events, and its last words if it has ended."""

    claim: Claim
    chunks: Sequence[OracleStreamChunk]
    final: FinalValues | None = None
    unfinished: Sequence[str] = ()
    """Calls whose subagents did not finish: with these events their words go."""


MAX_INSERTED = 64
"""Events that one statement inserts: half as many as there are statements that a connection keeps
ready, so that those for all numbers are."""


class HeldRun(NamedTuple):
    """A run that is still ours, as a commit found it."""

    link: str
    """The newest of its chain."""
    stored: Sequence[EncodedEvent] = ()
    """Its events that were stored just now; none where words were erased with them."""


HeldRuns = dict[UUID, HeldRun]


class RunStatus(NamedTuple):
    """Who may write a run, and whether somebody asked to cancel it."""

    fence: int
    is_cancelled: bool
    cancel_note: str


def write(commits: Sequence[Commit]) -> HeldRuns:
    """Store the events of every run that is still ours, all together or not at all."""
    rows = [
        [encode_chunk(chunk) for chunk in commit.chunks] for commit in commits
    ]  # before the lock
    with transaction.atomic():
        held = _advance({commit.claim: commit.chunks[-1].seq for commit in commits})
        inserted: list[tuple[Any, ...]] = []
        endings: list[tuple[Commit, str]] = []
        for commit, written in zip(commits, rows, strict=True):
            if (run := held.get(commit.claim.run_id)) is not None:
                links = signing.next_links(run.link, [row.signed for row in written])
                inserted += _insert_values(commit.claim.run_id, written, links)
                endings.append((commit, links[-1]))
                held[commit.claim.run_id] = run._replace(stored=written)
        _insert(inserted)
        for commit, link in endings:
            if _finish_commit(commit, link):
                run_id = commit.claim.run_id
                held[run_id] = held[run_id]._replace(stored=())
    return held


def _finish_commit(commit: Commit, link: str) -> bool:
    """Write what comes after a commit's events; return whether words were erased."""
    run_id = commit.claim.run_id
    if commit.unfinished:
        erase_unfinished(run_id, commit.unfinished)
    is_erased = commit.final is not None and _close_run(run_id, commit.final, link)
    return is_erased or bool(commit.unfinished)


def _insert_values(
    run_id: UUID, rows: list[EncodedEvent], links: list[str]
) -> Iterator[tuple[Any, ...]]:
    run, adapt = prepare_id(run_id), connection.ops.adapt_datetimefield_value
    for row, link in zip(rows, links, strict=True):
        yield (run, row.seq, row.kind, row.data, row.content, row.sha256, link, adapt(row.at))


def _close_run(run_id: UUID, final: FinalValues, link: str) -> bool:
    """Write a run's last words, count what it used, and seal it; return whether it was erased."""
    RunTool.objects.bulk_create(RunTool(run_id=run_id, **tool) for tool in final.tools)
    run = AgentRun.objects.get(pk=run_id)
    for name, value in final.values.items():
        setattr(run, name, value)
    update_totals(run)
    signing.sign_end(run, link, final.tools)
    run.save(update_fields=[*final.values, *_TOTAL_FIELDS])
    log_action("close", by=None, run=run, seal=run.seal)
    for store in final.also_store:
        store(run)
    _store_rule_states(run, final.rule_states)
    if run.user_id is not None:
        return False
    erase_rows([run_id], why="user deleted")  # they were deleted while it went on
    transaction.on_commit(empty_log_soon, robust=True)
    return True


def _store_rule_states(run: AgentRun, states: Mapping[str, Mapping[str, Any]]) -> None:
    """Keep what rules remember; of each value, what the later of two runs says."""
    if not states or run.user_id is None:
        return
    rows = [
        RuleState(user_id=run.user_id, project_id=run.project_id, rule=rule, key=key, value=value)
        for rule, values in states.items()
        for key, value in values.items()
    ]
    RuleState.objects.bulk_create(
        rows,
        update_conflicts=True,
        unique_fields=["user", "project", "rule", "key"],
        update_fields=["value", "changed_at"],
    )


def update_totals(run: AgentRun) -> None:
    """Store what a run that has ended took, and how much of each limit that was."""
    run.tokens = run.tokens_in + run.tokens_out
    if run.ended_at is not None:
        took = run.ended_at - run.started_at
        run.duration_ms = max(0, round(took.total_seconds() * 1000))
        run.time_percent = round(run.duration_ms / 10 / run.config["timeout_seconds"])
    run.turns_percent = round(100 * run.turns / run.config["max_iterations"])
    run.tokens_percent = round(100 * run.tokens / run.config["token_budget"])


_TOTAL_FIELDS = (
    "tokens",
    "duration_ms",
    "turns_percent",
    "tokens_percent",
    "time_percent",
    "digests",
    "seal",
)


def _insert(rows: list[tuple[Any, ...]]) -> None:
    """Insert by hand: nearly all that is stored passes here.

    Many rows go in one statement, because SQLite's thread gives way to others several times for
    each. On PostgreSQL a session that stands still after psycopg's `executemany` would not be ended
    as idle, and would keep its locks.
    """
    with connection.cursor() as cursor:
        for start in range(0, len(rows), MAX_INSERTED):
            some = rows[start : start + MAX_INSERTED]
            cursor.execute(_insert_statement(len(some)), [*chain.from_iterable(some)])


@cache
def _insert_statement(count: int) -> str:
    values = ", ".join(["(%s, %s, %s, %s, %s, %s, %s, %s)"] * count)
    return f"""
        INSERT INTO agents_runevent (run_id, seq, kind, data, content, sha256, link, at)
        VALUES {values}
    """  # noqa: S608  # only placeholders are joined


def read_statuses(run_ids: Sequence[UUID]) -> dict[UUID, RunStatus]:
    """Return what other processes may have changed of runs, by their ids."""
    columns = ("pk", "fence", "cancel_requested_at", "cancel_note")
    rows = AgentRun.objects.filter(pk__in=run_ids).values_list(*columns)
    return {
        run_id: RunStatus(fence, asked_at is not None, note)
        for run_id, fence, asked_at, note in rows
    }


def checkpoint_wal() -> bool:
    """Let SQLite move what it has logged into its file; return whether all of it was moved.

    Nobody waits for it, neither readers nor writers; left to itself it would do so at the end of a
    commit, which then takes long. What is newer than somebody reads stays where it is."""
    with connection.cursor() as cursor:
        _, logged, moved = cursor.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
        return bool(moved == logged)


def _advance(newest: Mapping[Claim, int]) -> HeldRuns:
    """Run the fenced UPDATE. `newest` is the highest number each run will have."""
    values = [
        value
        for claim, seq in newest.items()
        for value in (prepare_id(claim.run_id), claim.fence, seq)
    ]
    statement = f"""
        WITH v(id, fence, seq) AS (VALUES {build_placeholders(len(newest))})
        UPDATE agents_agentrun
        SET last_seq = v.seq
        FROM v
        WHERE agents_agentrun.id = v.id
          AND agents_agentrun.fence = v.fence
          AND agents_agentrun.outcome IS NULL
        RETURNING agents_agentrun.id,
            COALESCE(
                (SELECT e.link FROM agents_runevent e
                 WHERE e.run_id = agents_agentrun.id ORDER BY e.seq DESC LIMIT 1),
                agents_agentrun.first_link
            )
    """  # noqa: S608  # only placeholders are joined
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return {parse_id(run_id): HeldRun(link) for run_id, link in cursor.fetchall()}


_ROW_PLACEHOLDERS = {"sqlite": "(%s, %s, %s)", "postgresql": "(%s::uuid, %s::int, %s::int)"}


def prepare_id(run_id: UUID) -> Any:
    """Return a run's id as this database takes it."""
    return AgentRun._meta.pk.get_db_prep_value(run_id, connection)


def build_placeholders(rows: int) -> str:
    """Return the values of so many rows of a run's id and two numbers."""
    return ", ".join([_ROW_PLACEHOLDERS[connection.vendor]] * rows)


def parse_id(value: Any) -> UUID:
    """Return a run's id as this database gives it."""
    return value if isinstance(value, UUID) else UUID(value)
