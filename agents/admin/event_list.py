"""Every event of a run, a page at a time, each in one line of metadata."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from agents.admin import events
from agents.admin.events import PAGE, Event, Record

MOST_PAGES = 10**9


@dataclass(frozen=True, slots=True)
class Line:
    """An event, or a gap where there should be some."""

    seq: str
    kind: str = ""
    at: str = ""
    what: str = ""
    size: int = 0
    problem: str = ""
    inner: bool = False


@dataclass(frozen=True, slots=True)
class EventPage:
    number: int
    pages: int
    total: int
    lines: Sequence[Line]

    @property
    def previous(self) -> int:
        return self.number - 1

    @property
    def next(self) -> int:
        return self.number + 1 if self.number < self.pages else 0


def event_page(run_id: UUID, record: Record, last_seq: int, asked: str, began: float) -> EventPage:
    """The page that was asked for, or the nearest there is."""
    newest = max(record.newest, last_seq)
    pages = max(1, -(-newest // PAGE))
    number = min(_number(asked), pages)
    found = events.page(run_id, number)
    upto = min(number * PAGE, newest)
    lines = _lines(found, (number - 1) * PAGE, upto, began)
    return EventPage(number, pages, record.total, lines)


def _number(asked: str) -> int:
    is_number = asked.isascii() and asked.isdecimal() and len(asked) < 10
    return max(1, int(asked)) if is_number else 1


def _lines(found: Sequence[Event], after: int, upto: int, began: float) -> list[Line]:
    lines: list[Line] = []
    for event in found:
        lines += _gap(after + 1, event.seq - 1)
        lines.append(_line(event, began))
        after = event.seq
    return lines + _gap(after + 1, upto)


def _gap(first: int, last: int) -> list[Line]:
    if first > last:
        return []
    seq = str(first) if first == last else f"{first} to {last}"
    return [Line(seq, "missing", problem="There is nothing where something was written.")]


def _line(event: Event, began: float) -> Line:
    at = f"{max(event.at - began, 0.0):.2f} s" if event.at is not None else ""
    what = _WORDS[event.kind](event) if event.kind in _WORDS else ""
    problem = event.problem.capitalize() + "." if event.problem else ""
    return Line(str(event.seq), event.kind, at, what, event.size, problem, bool(event.parent))


def _turn(event: Event) -> str:
    number, phase = event.number("number"), event.text("phase")
    if phase != "end":
        wrap_up = event.text("wrap_up")
        return f"turn {number} starts" + (f", the wrap-up ({wrap_up})" if wrap_up else "")
    tokens = sum(
        event.number(name) for name in ("prompt_tokens", "completion_tokens", "subagent_tokens")
    )
    return f"turn {number} ends ({event.text('finish_reason') or 'cut'}), {tokens:,} tokens"


def _result(event: Event) -> str:
    return f"{'ok' if event.flag('ok') else 'failed'}, {event.number('duration_ms'):,} ms"


def _decision(event: Event) -> str:
    return "goes on" if event.flag("continue") else f"stops: {event.text('reason')}"


def _context(event: Event) -> str:
    used, window = event.number("context_tokens"), event.number("max_context_tokens")
    return f"{used:,} of {window:,} tokens"


_WORDS: Mapping[str, Callable[[Event], str]] = {
    "turn": _turn,
    "tool_call": lambda e: f"{e.text('tool_call', 'name')}: {e.text('tool_call', 'status')}",
    "tool_result": _result,
    "decision": _decision,
    "system": lambda e: e.text("system_type").replace("_", " "),
    "source": lambda e: e.text("source", "source_type"),
    "context_update": _context,
    "error": lambda e: ", ".join(filter(None, (e.text("code"), e.text("cause")))),
    "done": lambda e: f"{e.text('outcome')}: {e.text('termination_reason')}",
}
