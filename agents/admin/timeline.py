"""A run's timeline as SVG: numbers for a template, colours by class, no script and no style.

Bounded whatever the run did: what falls on the same spot is drawn once, with a count in its title;
the table behind it has everything up to its own bounds, and says what it leaves out.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from agents.admin.story import DONE, FAILED, QUEUED, REFUSED, RUNNING, UNKNOWN, Call, Story, Turn

LEFT, PLOT, RIGHT = 84, 716, 10
"""Names of the rows, what happened, and room for the last number below."""
ROW, GAP, AXIS = 18, 5, 22
LANES = 6
"""Rows for tools; more calls at one moment share a bar."""
THINNEST = 2.5
NUMBER_WIDTH = 16
"""A turn narrower than this has no number."""
MOST_TURNS = 120
MOST_CALLS = 20
"""Of one turn in the table."""
_NAMED = 5
_WORST = (FAILED, RUNNING, QUEUED, UNKNOWN, REFUSED, DONE)
"""Bars that share a spot have the first of these that one of them has."""


@dataclass(slots=True, eq=False)
class Bar:
    """A rectangle, from `left` for `width`. Its numbers are told as text, with a point."""

    left: float
    width: float
    row: int
    tone: str
    titles: list[str] = field(default_factory=list)
    label: str = ""

    @property
    def x(self) -> str:
        return _text(LEFT + self.left)

    @property
    def w(self) -> str:
        return _text(self.width)

    @property
    def y(self) -> str:
        return _text(top(self.row))

    @property
    def height(self) -> str:
        return str(ROW)

    @property
    def text_x(self) -> str:
        return _text(LEFT + self.left + 4)

    @property
    def text_y(self) -> str:
        return _text(top(self.row) + ROW - 5)

    @property
    def middle_x(self) -> str:
        return _text(LEFT + self.left + self.width / 2)

    @property
    def middle_y(self) -> str:
        return _text(top(self.row) + ROW / 2)

    @property
    def title(self) -> str:
        more = len(self.titles) - _NAMED
        said = "; ".join(self.titles[:_NAMED])
        return f"{said}; and {more} more" if more > 0 else said


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment below the rows."""

    x: str
    label: str


@dataclass(frozen=True, slots=True)
class Name:
    """What a row shows."""

    text: str
    y: str


@dataclass(frozen=True, slots=True)
class Line:
    """A turn in the table."""

    turn: Turn
    at: str
    model: str
    calls: Sequence[Call]
    more_calls: int


@dataclass(frozen=True, slots=True)
class Timeline:
    names: Sequence[Name]
    turns: Sequence[Bar]
    bars: Sequence[Bar]
    notices: Sequence[Bar]
    decisions: Sequence[Bar]
    ticks: Sequence[Tick]
    rows: int
    lines: Sequence[Line]
    more_turns: int
    summary: str

    @property
    def view_box(self) -> str:
        return f"0 0 {LEFT + PLOT + RIGHT} {self.floor + AXIS}"

    @property
    def floor(self) -> int:
        return int(top(self.rows))

    @property
    def tick_y(self) -> int:
        return self.floor + AXIS - 7


def top(row: int) -> float:
    return GAP + row * (ROW + GAP)


def timeline(story: Story, began: float, until: float) -> Timeline:
    """`began` and `until` are the ends of its axis, in seconds since the epoch."""
    seconds = max(until - began, 0.001)

    def place(at: float) -> float:
        return PLOT * min(max((at - began) / seconds, 0.0), 1.0)

    drawn = story.turns[:MOST_TURNS]
    tools, lanes = _tools(drawn, until, place)
    first = 2 + lanes
    names = ["Turns", "Model", *(["Tools"] if lanes else []), *[""] * (lanes - 1)]
    names += ["Notices", "Decisions"]
    return Timeline(
        names=[Name(text, _text(top(row) + ROW - 5)) for row, text in enumerate(names) if text],
        turns=[_turn(turn, until, place) for turn in drawn],
        bars=[*(_model(turn, until, place) for turn in drawn), *tools],
        notices=_marks(
            ((n.at, _notice_tone(n.kind), n.title) for n in story.notices), first, place
        ),
        decisions=_marks(_decided(story), first + 1, place),
        ticks=ticks(seconds),
        rows=len(names),
        lines=[_line(turn, began) for turn in drawn],
        more_turns=len(story.turns) - len(drawn),
        summary=_summary(story, seconds),
    )


# -- rows -----------------------------------------------------------------------------------------


def _turn(turn: Turn, until: float, place: Callable[[float], float]) -> Bar:
    bar = _bar(turn.began, turn.ended or until, 0, "wrap-up" if turn.wrap_up else "turn", place)
    bar.titles.append(f"Turn {turn.number}" + (", the wrap-up" if turn.wrap_up else ""))
    bar.label = str(turn.number) if bar.width >= NUMBER_WIDTH else ""
    return bar


def _model(turn: Turn, until: float, place: Callable[[float], float]) -> Bar:
    """The model is asked when a turn starts. While it answers nobody knows how long it will."""
    if turn.ended is None:
        waits = min((call.began for call in turn.calls), default=until)
        bar = _bar(turn.began, waits, 1, "model", place)
        bar.titles.append(f"Turn {turn.number}: the model")
    else:
        bar = _bar(turn.began, turn.began + turn.model_seconds, 1, "model", place)
        bar.titles.append(f"Turn {turn.number}: the model, {turn.model_seconds:.1f} s")
    return bar


def _tools(
    turns: Iterable[Turn], until: float, place: Callable[[float], float]
) -> tuple[list[Bar], int]:
    """A bar for each call, in as few rows as keep them apart, and how many rows those are."""
    ends: list[Bar] = []
    """The last bar of each row."""
    bars: list[Bar] = []
    for turn in turns:
        for call in turn.calls:
            bar = _bar(call.began, call.ended or until, 0, call.status, place)
            bar.titles.append(f"Turn {turn.number}: {call.name}: {call.words}")
            if _settled(bar, ends):
                bars.append(bar)
    return bars, len(ends)


def _settled(bar: Bar, ends: list[Bar]) -> bool:
    """Whether the bar found a row; else it has become part of another."""
    for lane, last in enumerate(ends):
        if last.left + last.width <= bar.left:
            bar.row, ends[lane] = 2 + lane, bar
            return True
    if len(ends) < LANES:
        bar.row = 2 + len(ends)
        ends.append(bar)
        return True
    _join(min(ends, key=lambda last: last.left + last.width), bar)
    return False


def _join(kept: Bar, bar: Bar) -> None:
    end = max(kept.left + kept.width, bar.left + bar.width)
    kept.left = min(kept.left, bar.left)
    kept.width = end - kept.left
    kept.tone = min(kept.tone, bar.tone, key=lambda tone: _WORST.index(tone))
    kept.titles += bar.titles


def _marks(
    moments: Iterable[tuple[float, str, str]], row: int, place: Callable[[float], float]
) -> list[Bar]:
    """Points in time. One that is no further than its own size from the last joins it."""
    marks: list[Bar] = []
    for at, tone, title in moments:
        left = place(at)
        if marks and left - marks[-1].left < 2 * THINNEST and marks[-1].tone == tone:
            marks[-1].titles.append(title)
        else:
            marks.append(Bar(left, 0, row, tone, [title]))
    return marks


def _decided(story: Story) -> Iterable[tuple[float, str, str]]:
    for point in story.checkpoints:
        said = "the run goes on" if point.goes_on else f"the run is stopped: {point.reason}"
        yield (
            point.at,
            "goes-on" if point.goes_on else "stops",
            f"After turn {point.after_turn}, {said}",
        )


def _notice_tone(kind: str) -> str:
    return "ends" if kind in ("limit_reached", "no_progress", "error_limit") else "warns"


def _bar(began: float, ended: float, row: int, tone: str, place: Callable[[float], float]) -> Bar:
    left, right = place(began), place(max(began, ended))
    width = max(right - left, THINNEST)
    return Bar(min(left, PLOT - width), width, row, tone)


# -- the axis, the table, the words ---------------------------------------------------------------


def ticks(seconds: float) -> list[Tick]:
    """Round moments, five to ten of them."""
    rough = seconds / 8
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(power * n for n in (1, 2, 5, 10) if power * n >= rough)
    found = [n * step for n in range(int(seconds / step) + 1)]
    return [Tick(_text(LEFT + PLOT * at / seconds), f"{at:.6g} s") for at in found]


def _line(turn: Turn, began: float) -> Line:
    shown = turn.calls[:MOST_CALLS]
    return Line(
        turn,
        f"{max(turn.began - began, 0.0):.1f} s",
        f"{turn.model_seconds:.1f} s" if turn.ended is not None else "",
        shown,
        len(turn.calls) - len(shown),
    )


def _summary(story: Story, seconds: float) -> str:
    calls, failed = story.calls, sum(call.status == FAILED for call in story.calls)
    parts = [
        _counted(len(story.turns), "turn"),
        _counted(len(calls), "tool call") + (f", {failed} failed" if failed else ""),
        _counted(len(story.notices), "notice"),
        _counted(len(story.checkpoints), "decision"),
    ]
    return (
        f"Timeline of {seconds:.1f} seconds: {'; '.join(parts)}. The table below has the details."
    )


def _counted(number: int, what: str) -> str:
    return f"{number} {what}" + ("" if number == 1 else "s")


def _text(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
