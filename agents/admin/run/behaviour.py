"""A run in its behaviour, from the events that its page has read already."""

import re
from collections.abc import Iterable
from dataclasses import replace

from agents.admin.run.event_rows import Event
from agents.behaviour_log import WayFold, trace_ways
from agents.core.behaviours.trace import BehaviourTrace, TurnWay
from agents.models import AgentRun

_WRITTEN = re.compile(r'"(?:[^"\\]|\\.)*"?')
"""What somebody wrote in a node; a long one is cut, and has no second quotation mark."""
_INTERIM = re.compile(r':interim "((?:[^"\\]|\\.)*)"')


def load_run_trace(
    run: AgentRun, events: Iterable[Event], turn: int | None, *, may_read: bool
) -> BehaviourTrace | None:
    """Return the drawing: one query. Words in it are for those who may read what was said."""
    fold = WayFold(run.started_at.timestamp())
    now = run.started_at.timestamp()
    for event in events:
        now = event.at if event.at is not None else now
        if not event.parent:
            _add(fold, event, now)
    trace = trace_ways(run, fold, turn)
    if trace is None:
        return None
    labels = [_find_label(trace, way) if may_read else "" for way in trace.ways]
    if not may_read:
        for traced in trace.by_number.values():
            label = _WRITTEN.sub('"…"', traced.node.label)
            traced.node = replace(traced.node, label=label)
    pairs = zip(trace.ways, labels, strict=True)
    return replace(trace, ways=[replace(way, interim=label) for way, label in pairs])


def _find_label(trace: BehaviourTrace, way: TurnWay) -> str:
    """Return what the text of a turn is called, as its node says: events have it as content."""
    nodes = (trace.by_number.get(step.number) for step in way.steps if way.interim)
    found = (_INTERIM.search(traced.node.label) for traced in nodes if traced is not None)
    return next((match[1] for match in found if match), way.interim)


def _add(fold: WayFold, event: Event, now: float) -> None:
    match event.kind:
        case "turn" if event.text("phase") == "end":
            fold.end_turn(event.number("model_ms") / 1000)
        case "turn":
            wrap_up = bool(event.text("wrap_up"))
            fold.start_turn(event.number("number"), event.label, is_wrap_up=wrap_up)
        case "tool_result":
            fold.add_result(event.number("duration_ms") / 1000)
        case "decision":
            path = event.data.get("path")
            fold.add_decision(path if isinstance(path, str) else "", now)
        case _:
            pass
