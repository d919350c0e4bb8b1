"""Stored runs under a rule: what it would have done in each, two queries for each lot of them."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Count, QuerySet, TextField
from django.db.models.functions import Cast

from agents.core.chunks import CHUNK_TYPES, PARSE_ERRORS, OracleStreamChunk, Turn
from agents.core.config import AgentConfig
from agents.core.control.facts import RunBackground
from agents.core.replay.recording import DAMAGED_MESSAGE
from agents.core.rules.dry_run import ERASED, TOO_DEAR, RuleTrial, try_rule
from agents.core.rules.rule import Rule
from agents.ledger import decode_row, load_rows_of_runs
from agents.models import AgentRun, Note

BATCH_SIZE = 200
"""Runs that are read at a time."""
MAX_TRIAL_STEPS = 5_000_000
"""That a rule may take in all runs, about a second; the runs after that are not tried."""
_UNREAD_KINDS = frozenset({"content", "thinking", "hint", "status", "kept_result"})
_READ_KINDS = frozenset(CHUNK_TYPES) - _UNREAD_KINDS
_ROW_FIELDS = ("pk", "user_id", "project_id", "outcome", "turns", "question")
Writes = Callable[[str], bool]


def try_rule_on_runs(
    rule: Rule,
    runs: "QuerySet[AgentRun] | Iterable[UUID]",
    *,
    writes: Writes,
    batch_size: int = BATCH_SIZE,
) -> Iterator[RuleTrial]:
    """Yield what a rule would have done in each run: from the oldest, or in the order of the ids.

    `writes` says whether a tool changes anything. What the rule remembers goes on from one run of
    a person in a project to the next, as it would have. Of notes there are as many as today. Where
    the rule has taken too many steps, the rest is given up.
    """
    if isinstance(runs, QuerySet):
        runs = runs.order_by("started_at", "pk").values_list("pk", flat=True)
    ids = list(runs)
    states: dict[Any, dict[str, Any]] = {}
    notes = _count_notes()
    steps = 0
    for start in range(0, len(ids), batch_size):
        batch = ids[start : start + batch_size]
        if steps > MAX_TRIAL_STEPS:
            yield from map(_give_up, batch)
            continue
        rows = _load_rows(batch)
        events = load_rows_of_runs(batch, _READ_KINDS, decisions_with='"checkpoint": "start"')
        for row in (rows[run_id] for run_id in batch if run_id in rows):
            if steps > MAX_TRIAL_STEPS:
                yield _give_up(row["pk"])
                continue
            state = states.setdefault((row["user_id"], row["project_id"]), {})
            found = events.get(row["pk"], [])
            trial = _try_run(rule, row, found, state, notes.get(row["project_id"], 0), writes)
            steps += trial.steps
            yield trial


def _give_up(run_id: UUID) -> RuleTrial:
    return RuleTrial(run_id=str(run_id), why_unknown=TOO_DEAR)


def _count_notes() -> dict[UUID, int]:
    kept = Note.objects.filter(deleted_at__isnull=True).order_by().values("project_id")
    return dict(kept.annotate(count=Count("pk")).values_list("project_id", "count"))


def _load_rows(ids: list[UUID]) -> dict[UUID, dict[str, Any]]:
    # JSON is read as text: what cannot be parsed is then one run's damage, not everybody's.
    found = AgentRun.objects.filter(pk__in=ids).annotate(config_text=Cast("config", TextField()))
    return {row["pk"]: row for row in found.values(*_ROW_FIELDS, "config_text")}


def _try_run(
    rule: Rule,
    row: Mapping[str, Any],
    events: list[tuple[Any, ...]],
    state: dict[str, Any],
    note_count: int,
    writes: Writes,
) -> RuleTrial:
    known: dict[str, Any] = {"run_id": str(row["pk"]), "outcome": row["outcome"] or ""}
    if rule.reads_content and not row["question"]:
        return RuleTrial(**known, why_unknown=ERASED)
    try:
        background = RunBackground(
            config=AgentConfig.build(json.loads(row["config_text"])),
            user_id=str(row["user_id"] or ""),
            project_id=str(row["project_id"]),
            note_count=note_count,
            writes=writes,
        )
        chunks = list(_decode_events(events))
        turns = sum(chunk.answered for chunk in chunks if isinstance(chunk, Turn))
        if not row["outcome"] or turns == row["turns"]:
            return try_rule(rule, chunks, background, state, **known)
    except PARSE_ERRORS:
        pass
    return RuleTrial(**known, why_unknown=DAMAGED_MESSAGE)


def _decode_events(events: list[tuple[Any, ...]]) -> Iterator[OracleStreamChunk]:
    for event in events:
        if '"parent": ' in event[2]:  # a subagent's
            continue
        if (chunk := decode_row(*event)) is not None:
            yield chunk
