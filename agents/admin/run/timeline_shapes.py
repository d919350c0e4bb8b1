"""What a run's timeline is drawn of: bars, ticks and rows, with their places as text."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from agents.admin.run.history import HistoryCall, HistoryTurn

LEFT, PLOT, RIGHT = 84, 716, 10
"""Names of the rows, what happened, and room for the last number below."""
ROW, GAP, AXIS = 18, 5, 22
_MAX_TITLES = 5


@dataclass(slots=True, eq=False)
class TimelineBar:
    """A rectangle, from `left` for `width`. Its numbers are told as text, with a point."""

    left: float
    width: float
    row: int
    css_class: str
    titles: list[str] = field(default_factory=list)
    label: str = ""

    @property
    def x(self) -> str:
        return format_number(LEFT + self.left)

    @property
    def w(self) -> str:
        return format_number(self.width)

    @property
    def y(self) -> str:
        return format_number(get_row_top(self.row))

    @property
    def height(self) -> str:
        return str(ROW)

    @property
    def text_x(self) -> str:
        return format_number(LEFT + self.left + 4)

    @property
    def text_y(self) -> str:
        return format_number(get_row_top(self.row) + ROW - 5)

    @property
    def middle_x(self) -> str:
        return format_number(LEFT + self.left + self.width / 2)

    @property
    def middle_y(self) -> str:
        return format_number(get_row_top(self.row) + ROW / 2)

    @property
    def title(self) -> str:
        more = len(self.titles) - _MAX_TITLES
        said = "; ".join(self.titles[:_MAX_TITLES])
        return f"{said}; and {more} more" if more > 0 else said


@dataclass(frozen=True, slots=True)
class Tick:
    """A moment below the rows."""

    x: str
    label: str


@dataclass(frozen=True, slots=True)
class RowName:
    """What a row shows."""

    text: str
    y: str


@dataclass(frozen=True, slots=True)
class TimelineRow:
    """A turn in the table."""

    turn: HistoryTurn
    at: str
    model: str
    calls: Sequence[HistoryCall]
    more_calls: int


@dataclass(frozen=True, slots=True)
class Timeline:
    names: Sequence[RowName]
    turns: Sequence[TimelineBar]
    bars: Sequence[TimelineBar]
    notices: Sequence[TimelineBar]
    decisions: Sequence[TimelineBar]
    ticks: Sequence[Tick]
    rows: int
    lines: Sequence[TimelineRow]
    more_turns: int
    summary: str

    @property
    def view_box(self) -> str:
        return f"0 0 {LEFT + PLOT + RIGHT} {self.floor + AXIS}"

    @property
    def floor(self) -> int:
        return int(get_row_top(self.rows))

    @property
    def tick_y(self) -> int:
        return self.floor + AXIS - 7


def get_row_top(row: int) -> float:
    return GAP + row * (ROW + GAP)


def format_number(value: float) -> str:
    """Write a number as SVG reads it: with a point, and no longer than it must be."""
    return f"{value:.2f}".rstrip("0").rstrip(".")
