"""Bars as SVG, without script and style attributes: numbers for a template, colours by class.

A chart is as wide as its place: only bars are in the SVG, which is stretched; words are HTML.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.web.limit_levels import limit_css_class

HEIGHT = 100
GAP = 0.1
"""Of the width of a column, on either side of a bar."""
USUAL_SIZE = 640, 128
"""Width and height of a plot in pixels, for which patterns are scaled."""
BINS = 10


@dataclass(frozen=True)
class Bar:
    """A rectangle. Its numbers are text, so that no language writes them with a comma."""

    x: str
    y: str
    width: str
    height: str
    css_class: str
    title: str
    pattern: str = ""


@dataclass(frozen=True)
class Layer:
    """All bars of one colour and pattern, as one path."""

    css_class: str
    path: str
    pattern: str = ""


@dataclass(frozen=True)
class Chart:
    """`first` and `last` stand below its ends, `top` beside its highest bar."""

    bars: Sequence[Bar]
    columns: int
    top: int
    first: str
    last: str
    layers: Sequence[Layer] = ()

    @property
    def view_box(self) -> str:
        return f"0 0 {self.columns} {HEIGHT}"

    @property
    def pattern_scale(self) -> str:
        """How patterns are shrunk, so that they look as drawn in a plot of the usual size."""
        x, y = self.columns / USUAL_SIZE[0], HEIGHT / USUAL_SIZE[1]
        return f"{_format_number(x)} {_format_number(y)}"


@dataclass(frozen=True)
class BarSegment:
    """Something that is stacked: how much, in which colour, and what it is."""

    amount: int
    css_class: str
    title: str
    pattern: str = ""


def stacked_chart(columns: Iterable[Sequence[BarSegment]], first: str, last: str) -> Chart:
    """Return one column for each item, its parts on top of each other."""
    stacks = list(columns)
    top = max((sum(part.amount for part in stack) for stack in stacks), default=0)
    bars = [bar for at, stack in enumerate(stacks) for bar in _stack_bars(at, stack, top)]
    return Chart(bars, len(stacks), top, first, last)


def _stack_bars(at: int, parts: Sequence[BarSegment], top: int) -> Iterable[Bar]:
    below = 0
    for part in parts:
        if part.amount:
            height = HEIGHT * part.amount / top
            floor = HEIGHT * below / top
            yield Bar(
                x=_format_number(at + GAP),
                y=_format_number(HEIGHT - floor - height),
                width=_format_number(1 - 2 * GAP),
                height=_format_number(height),
                css_class=part.css_class,
                title=part.title,
                pattern=part.pattern,
            )
            below += part.amount


def layered_chart(
    columns: Iterable[Sequence[BarSegment]], titles: Iterable[str], first: str, last: str
) -> Chart:
    """Return the same with many bars: a path for each look, and over each column its title."""
    chart = stacked_chart(columns, first, last)
    paths: dict[tuple[str, str], list[str]] = {}
    for bar in chart.bars:
        drawn = f"M{bar.x} {bar.y}h{bar.width}v{bar.height}h-{bar.width}z"
        paths.setdefault((bar.css_class, bar.pattern), []).append(drawn)
    layers = [
        Layer(css_class, "".join(drawn), pattern) for (css_class, pattern), drawn in paths.items()
    ]
    bars = [Bar(str(at), "0", "1", str(HEIGHT), "column", text) for at, text in enumerate(titles)]
    return Chart(bars, chart.columns, chart.top, first, last, layers)


def horizontal_bar(parts: Iterable[BarSegment], whole: float) -> list[Bar]:
    """Return parts beside each other, in a lying bar whose whole length is `whole`."""
    bars, before = [], 0
    for part in parts:
        if part.amount and whole:
            x, width = (_format_number(HEIGHT * n / whole) for n in (before, part.amount))
            bars.append(Bar(x, "0", width, "1", part.css_class, part.title, part.pattern))
            before += part.amount
    return bars


def _format_number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


# -- shares of a limit ----------------------------------------------------------------------------


def get_bin(share: float) -> int:
    """Return which tenth of its limit something used; all of it and more is the last one."""
    return max(0, min(int(share * BINS), BINS - 1))


def distribution_chart(bins: Mapping[int, int]) -> Chart:
    """Return how many runs used which tenth of a limit, coloured as the meters of a run are."""
    columns = [
        [BarSegment(bins.get(n, 0), _bin_css_class(n), _bin_title(n, bins.get(n, 0)))]
        for n in range(BINS)
    ]
    return stacked_chart(columns, "0 %", "100 %")


def _bin_css_class(number: int) -> str:
    level = limit_css_class(number * 100 / BINS)
    return {"": "plain", "amber": "limited", "high": "failed"}[level]


def _bin_title(number: int, runs: int) -> str:
    return f"{number * 10} to {number * 10 + 10} %: {runs} run{'' if runs == 1 else 's'}"
