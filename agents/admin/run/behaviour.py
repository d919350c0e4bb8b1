"""A run in its behaviour, from the events that its page has read already."""

import re
from collections.abc import Iterable
from dataclasses import replace

from agents.admin.run.event_rows import Event
from agents.behaviour_log import WayFold, trace_ways
from agents.core.behaviours.trace import BehaviourTrace
from agents.models import AgentRun

_WRITTEN = re.compile(r'"(?:[^"\\]|\\.)*"?')
"""What somebody wrote in a node; a long one is cut, and has no second quotation mark."""


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
    if trace is not None and not may_read:
        for traced in trace.by_number.values():
            label = _WRITTEN.sub('"…"', traced.node.label)
            traced.node = replace(traced.node, label=label)
        trace = replace(trace, ways=[replace(way, interim="") for way in trace.ways])
    return trace


def _add(fold: WayFold, event: Event, now: float) -> None:
    match event.kind:
        case "turn" if event.text("phase") == "end":
            fold.end_turn(event.number("model_ms") / 1000)
        case "turn":
            wrap_up = bool(event.text("wrap_up"))
            fold.start_turn(event.number("number"), event.text("interim"), is_wrap_up=wrap_up)
        case "tool_result":
            fold.add_result(event.number("duration_ms") / 1000)
        case "decision":
            path = event.data.get("path")
            fold.add_decision(path if isinstance(path, str) else "", now)
        case _:
            pass
