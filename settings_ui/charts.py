"""Bars as SVG, without script and style attributes: numbers for a template, colours by class.

A chart is as wide as its place: only bars are in the SVG, which is stretched; words are HTML.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

HEIGHT = 100
GAP = 0.1
"""Of the width of a column, on either side of a bar."""


@dataclass(frozen=True)
class Bar:
    """A rectangle. Its numbers are text, so that no language writes them with a comma."""

    x: str
    y: str
    width: str
    height: str
    tone: str
    title: str


@dataclass(frozen=True)
class Chart:
    """`first` and `last` stand below its ends, `top` beside its highest bar."""

    bars: Sequence[Bar]
    columns: int
    top: int
    first: str
    last: str

    @property
    def view_box(self) -> str:
        return f"0 0 {self.columns} {HEIGHT}"


@dataclass(frozen=True)
class Part:
    """Something that is stacked: how much, in which colour, and what it is."""

    amount: int
    tone: str
    title: str


def stacked(columns: Iterable[Sequence[Part]], first: str, last: str) -> Chart:
    """One column for each item, its parts on top of each other."""
    stacks = list(columns)
    top = max((sum(part.amount for part in stack) for stack in stacks), default=0)
    bars = [bar for at, stack in enumerate(stacks) for bar in _stack(at, stack, top)]
    return Chart(bars, len(stacks), top, first, last)


def _stack(at: int, parts: Sequence[Part], top: int) -> Iterable[Bar]:
    below = 0
    for part in parts:
        if part.amount:
            height = HEIGHT * part.amount / top
            floor = HEIGHT * below / top
            yield Bar(
                x=_number(at + GAP),
                y=_number(HEIGHT - floor - height),
                width=_number(1 - 2 * GAP),
                height=_number(height),
                tone=part.tone,
                title=part.title,
            )
            below += part.amount


def tones(codes: Mapping[str, str]) -> dict[str, str]:
    """A class for each code: the colour of its group, paler for each further code of it."""
    found: dict[str, str] = {}
    members: dict[str, int] = {}
    for code, group in codes.items():
        members[group] = members.get(group, 0) + 1
        found[code] = f"{group} shade-{min(members[group], 4)}"
    return found


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")
