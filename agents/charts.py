"""Bars as SVG, without script and style attributes: numbers for a template, colours by class.

A chart is as wide as its place: only bars are in the SVG, which is stretched; words are HTML.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from agents.core.reasons import REASONS

HEIGHT = 100
GAP = 0.1
"""Of the width of a column, on either side of a bar."""
BINS = 10
RUNNING = "running"


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
class Layer:
    """All bars of one colour, as one path."""

    tone: str
    path: str


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


def layered(
    columns: Iterable[Sequence[Part]], titles: Iterable[str], first: str, last: str
) -> Chart:
    """The same with many bars: a path for each colour, and over each column its title."""
    chart = stacked(columns, first, last)
    paths: dict[str, list[str]] = {}
    for bar in chart.bars:
        drawn = f"M{bar.x} {bar.y}h{bar.width}v{bar.height}h-{bar.width}z"
        paths.setdefault(bar.tone, []).append(drawn)
    layers = [Layer(tone, "".join(drawn)) for tone, drawn in paths.items()]
    bars = [Bar(str(at), "0", "1", str(HEIGHT), "column", text) for at, text in enumerate(titles)]
    return Chart(bars, chart.columns, chart.top, first, last, layers)


def along(parts: Iterable[Part], whole: float) -> list[Bar]:
    """Parts beside each other, in a lying bar whose whole length is `whole`."""
    bars, before = [], 0
    for part in parts:
        if part.amount and whole:
            x, width = HEIGHT * before / whole, HEIGHT * part.amount / whole
            bars.append(Bar(_number(x), "0", _number(width), "1", part.tone, part.title))
            before += part.amount
    return bars


def _number(value: float) -> str:
    return f"{value:.3f}".rstrip("0").rstrip(".")


# -- shares of a limit ----------------------------------------------------------------------------


def bin_of(share: float) -> int:
    """Which tenth of its limit something used; all of it and more is the last one."""
    return max(0, min(int(share * BINS), BINS - 1))


def distribution(bins: Mapping[int, int]) -> Chart:
    """How many runs used which tenth of a limit, coloured as the meters of a run are."""
    columns = [[Part(bins.get(n, 0), _tone(n), _title(n, bins.get(n, 0)))] for n in range(BINS)]
    return stacked(columns, "0 %", "100 %")


def _tone(number: int) -> str:
    """Neutral below 70 %, amber to 90 %, red above."""
    return "plain" if number < 7 else "limited" if number < 9 else "failed"


def _title(number: int, runs: int) -> str:
    return f"{number * 10} to {number * 10 + 10} %: {runs} run{'' if runs == 1 else 's'}"


# -- reasons --------------------------------------------------------------------------------------


def tones(codes: Mapping[str, str]) -> dict[str, str]:
    """A class for each code: the colour of its group, paler for each further code of it."""
    found: dict[str, str] = {}
    members: dict[str, int] = {}
    for code, group in codes.items():
        members[group] = members.get(group, 0) + 1
        found[code] = f"{group} shade-{min(members[group], 4)}"
    return found


TONES = tones({code: reason.outcome.value for code, reason in REASONS} | {RUNNING: RUNNING})


def tone_of(code: str) -> str:
    return TONES.get(code, "cancelled shade-4")


def label(code: str) -> str:
    """A reason may be that of a package which is no longer installed."""
    if code == RUNNING:
        return "Running"
    return REASONS.get(code).label if code in REASONS else code


def in_order(runs: Mapping[str, int]) -> list[tuple[str, int]]:
    """As they are registered, so that a colour is always in the same place."""
    order = {code: at for at, code in enumerate(TONES)}
    return sorted(runs.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))
