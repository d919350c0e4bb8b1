"""Every event of a run, a page at a time, each in one line of metadata."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.admin.run import event_rows
from agents.admin.run.event_rows import PAGE_SIZE, Event, EventSummary

MAX_PAGES = 10**9


@dataclass(frozen=True, slots=True)
class EventTableRow:
    """An event, or a gap where there should be some."""

    seq: str
    kind: str = ""
    at: str = ""
    what: str = ""
    size: int = 0
    problem: str = ""
    in_subagent: bool = False


@dataclass(frozen=True, slots=True)
class EventPage:
    number: int
    pages: int
    total: int
    lines: Sequence[EventTableRow]

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def next(self) -> int:
        return self.number + 1 if self.number < self.pages else 0


def build_event_page(
    run_id: UUID, record: EventSummary, last_seq: int, asked: str, began: float
) -> EventPage:
    """Return the page that was asked for, or the nearest there is."""
    newest = max(record.newest, last_seq)
    pages = max(1, -(-newest // PAGE_SIZE))
    number = min(_parse_page_number(asked), pages)
    found = event_rows.load_page(run_id, number)
    upto = min(number * PAGE_SIZE, newest)
    lines = _build_rows(found, (number - 1) * PAGE_SIZE, upto, began)
    return EventPage(number, pages, record.total, lines)


def _parse_page_number(asked: str) -> int:
    is_number = asked.isascii() and asked.isdecimal() and len(asked) < 10
    return max(1, int(asked)) if is_number else 1


def _build_rows(found: Sequence[Event], after: int, upto: int, began: float) -> list[EventTableRow]:
    lines: list[EventTableRow] = []
    for event in found:
        lines += _build_gap(after + 1, event.seq - 1)
        lines.append(_build_row(event, began))
        after = event.seq
    return lines + _build_gap(after + 1, upto)


def _build_gap(first: int, last: int) -> list[EventTableRow]:
    if first > last:
        return []
    seq = str(first) if first == last else f"{first} to {last}"
    return [EventTableRow(seq, "missing", problem="There is nothing where something was written.")]


def _build_row(event: Event, began: float) -> EventTableRow:
    at = f"{max(event.at - began, 0.0):.2f} s" if event.at is not None else ""
    what = _DESCRIBE_BY_KIND[event.kind](event) if event.kind in _DESCRIBE_BY_KIND else ""
    problem = event.problem.capitalize() + "." if event.problem else ""
    return EventTableRow(
        str(event.seq), event.kind, at, what, event.size, problem, bool(event.parent)
    )


def _describe_turn(event: Event) -> str:
    number, phase = event.number("number"), event.text("phase")
    if phase != "end":
        wrap_up = event.text("wrap_up")
        return f"iteration {number} starts" + (f", the wrap-up ({wrap_up})" if wrap_up else "")
    tokens = sum(
        event.number(name) for name in ("prompt_tokens", "completion_tokens", "subagent_tokens")
    )
    return f"iteration {number} ends ({event.text('finish_reason') or 'cut'}), {tokens:,} tokens"


def _describe_result(event: Event) -> str:
    return f"{'ok' if event.flag('ok') else 'failed'}, {event.number('duration_ms'):,} ms"


def _describe_notice(event: Event) -> str:
    kind, subscriber = event.text("system_type"), event.text("metadata", "subscriber")
    return kind.replace("_", " ") + (f" ({subscriber})" if subscriber else "")


def _describe_decision(event: Event) -> str:
    return "continues" if event.flag("continue") else f"stops: {event.text('reason')}"


def _describe_context(event: Event) -> str:
    used, window = event.number("context_tokens"), event.number("max_context_tokens")
    return f"{used:,} of {window:,} tokens"


_DESCRIBE_BY_KIND: Mapping[str, Callable[[Event], str]] = {
    "turn": _describe_turn,
    "tool_call": lambda e: f"{e.text('tool_call', 'name')}: {e.text('tool_call', 'status')}",
    "tool_result": _describe_result,
    "kept_result": lambda e: f"{e.number('duration_ms'):,} ms",
    "decision": _describe_decision,
    "system": _describe_notice,
    "source": lambda e: e.text("source", "source_type"),
    "context_update": _describe_context,
    "event": lambda e: f"{e.text('name')} ({e.text('severity')}, {e.text('source')})",
    "approval": lambda e: f"asked by {e.text('asker')}",
    "error": lambda e: ", ".join(filter(None, (e.text("code"), e.text("cause")))),
    "done": lambda e: f"{e.text('outcome')}: {e.text('termination_reason')}",
}
