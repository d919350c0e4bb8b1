"""Stored runs as recordings, for the replay: many at a time, two queries for each lot of them."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any
from uuid import UUID

from django.db.models import QuerySet, TextField
from django.db.models.functions import Cast
from pydantic_core import from_json

from agents.audit.event_codec import list_stand_ins
from agents.core.chunks import PARSE_ERRORS
from agents.core.config import AgentConfig
from agents.core.decisions import TREES, build_guard
from agents.core.replay.event_reader import EVENT_KINDS, build_recording
from agents.core.replay.recording import DAMAGED_MESSAGE, Recording
from agents.ledger import load_rows_of_runs
from agents.models import AgentRun

BATCH_SIZE = 200
"""Runs that are read at a time."""
_ROW_FIELDS = ("pk", "tree", "reason", "outcome", "turns", "tokens_in", "tokens_out", "started_at")
_EVENT_COLUMNS = ("kind", "data_text", "content")
_Event = tuple[Any, ...]


def load_recordings(
    runs: "QuerySet[AgentRun] | Iterable[UUID]",
    *,
    tree: str | None = None,
    batch_size: int = BATCH_SIZE,
) -> Iterator[Recording]:
    """Yield the recordings of runs, in the order given; ids that there are not are passed over.

    `tree` is the one they are to be replayed under, if another: what tools were asked and
    answered is read only for a tree that looks at it. A run whose events are missing or damaged
    is a recording that says so.
    """
    ids = list(runs.values_list("pk", flat=True) if isinstance(runs, QuerySet) else runs)
    for start in range(0, len(ids), batch_size):
        yield from _load_batch(ids[start : start + batch_size], tree)


def _load_batch(ids: list[UUID], tree: str | None) -> Iterator[Recording]:
    # JSON is read as text: what cannot be parsed is then one run's damage, not everybody's.
    rows = {
        row["pk"]: row
        for row in AgentRun.objects.filter(pk__in=ids)
        .annotate(config_text=Cast("config", TextField()))
        .values(*_ROW_FIELDS, "config_text")
    }
    trees = {tree} if tree is not None else {row["tree"] for row in rows.values()}
    with_results = any(map(tree_reads_results, trees))
    kinds = EVENT_KINDS if with_results else EVENT_KINDS - {"tool_result"}
    columns = _EVENT_COLUMNS if with_results else _EVENT_COLUMNS[:2]
    events = load_rows_of_runs(ids, kinds, columns)
    for run_id in ids:
        if run_id in rows:
            yield _recording_from_row(rows[run_id], events.get(run_id, []))


def tree_reads_results(tree: str) -> bool:
    """Return whether a tree looks at what tools were asked and answered."""
    if tree not in TREES:
        return False
    config = AgentConfig()
    return build_guard(tree, config).overrides("on_tool_result")


def _recording_from_row(row: Mapping[str, Any], events: list[_Event]) -> Recording:
    known = {
        "id": str(row["pk"]),
        "tree": row["tree"],
        "reason": row["reason"],
        "outcome": row["outcome"] or "",
        "started_at": row["started_at"].timestamp(),
    }
    try:
        config = AgentConfig.build(json.loads(row["config_text"]))
    except PARSE_ERRORS:
        return Recording(config=AgentConfig(), damage=DAMAGED_MESSAGE, **known)
    recording = build_recording((_to_wire(*event) for event in events), config=config, **known)
    counted = (recording.turns, recording.tokens)
    if row["outcome"] and counted != (row["turns"], row["tokens_in"] + row["tokens_out"]):
        return Recording(config=config, damage=DAMAGED_MESSAGE, **known)
    return recording


def _to_wire(kind: str, data: str, content: str | None = None) -> dict[str, Any]:
    """Return an event as `chunks.to_dict` does, without stamp and what was erased."""
    event: dict[str, Any] = from_json(data)
    event["type"] = kind
    if kind == "turn":
        event |= list_stand_ins(kind, event.get("words", ()))
    elif kind == "tool_call" and content:
        event["tool_call"]["arguments"] = json.loads(content)
    elif kind == "tool_result" and content is not None:
        is_json = bool(event.get("words")) and bool(content)  # the model got a summary of it
        event["tool_result"] = json.loads(content)["tool_result"] if is_json else content
    return event
