"""Labels, order and looks of termination reasons, installed or not."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import cycle
from typing import NamedTuple

from agents.core.reasons import REASONS, get_reason
from agents.web.charts import BarSegment

RUNNING = "running"


# -- reasons --------------------------------------------------------------------------------------

_TILES = (
    "M0 4h8", "M4 0v8", "M-1 9L9 -1M-1 1L1 -1M7 9L9 7", "M-1 -1L9 9M7 -1L9 1M-1 7L1 9",
    "M3 3h2v2h-2z", "M0 4h8M4 0v8", "M-1 9L9 -1M-1 -1L9 9", "M0 2h8M0 6h8", "M2 0v8M6 0v8",
    "M1 1h1v1h-1zM5 5h1v1h-1z", "M2 4h4", "M4 2v4", "M1 6L4 2L7 6", "M4 2v4M2 4h4", "M2 2h4v4h-4z",
    "M4 1L7 4L4 7L1 4z", "M0 2h8M4 2v6", "M2 2L6 6M6 2L2 6", "M2 0v4M6 4v4", "M0 2h4M4 6h4",
    "M0 6h8M4 0v6",
)  # fmt: skip
"""Strokes of 8 by 8 tiles that can be told apart without colour."""
_WIDTHS = ("1.5", "3")
_UNINSTALLED = ""
"""Stands for every reason whose package is gone."""


@dataclass(frozen=True, slots=True)
class ReasonLook:
    """The colour of an outcome as a class, and a pattern that no other installed reason has."""

    pattern: str
    css_class: str
    strokes: str
    width: str


def assign_looks(groups: Mapping[str, str]) -> dict[str, ReasonLook]:
    """Return a look for each code of `groups` (code to outcome): the first plain, the others all
    different as long as there are at most `len(_TILES) * len(_WIDTHS)` of them."""
    strokes = cycle((tile, width) for width in _WIDTHS for tile in _TILES)
    return {
        code: ReasonLook(f"reason-{index}", group, *(next(strokes) if index else ("", "0")))
        for index, (code, group) in enumerate(groups.items())
    }


@cache
def _get_looks() -> dict[str, ReasonLook]:
    """Return the looks in the order in which reasons are listed: completed first, running last."""
    groups = {code: reason.outcome.value for code, reason in REASONS}
    completed = {"completed": groups["completed"]}
    return assign_looks(completed | groups | {RUNNING: RUNNING, _UNINSTALLED: "cancelled"})


def reason_look(code: str) -> ReasonLook:
    looks = _get_looks()
    return looks.get(code, looks[_UNINSTALLED])


class LegendEntry(NamedTuple):
    label: str
    number: int
    look: ReasonLook


def reason_legend(runs: Mapping[str, int]) -> list[LegendEntry]:
    """Return an entry for each reason in `runs`."""
    return [
        LegendEntry(reason_label(code), number, reason_look(code))
        for code, number in sort_by_reason(runs)
    ]


def reason_segments(runs: Mapping[str, int], title: str = "") -> Iterable[BarSegment]:
    """Yield a segment for each reason in `runs`, with `title` before its label and number."""
    for code, number in sort_by_reason(runs):
        look = reason_look(code)
        label = f"{title}{reason_label(code)} {number:,}"
        yield BarSegment(number, look.css_class, label, look.pattern)


def reason_label(code: str) -> str:
    """Return the label of a reason, which may be that of a package no longer installed."""
    if code == RUNNING:
        return "Running"
    return get_reason(code).label


def sort_by_reason(runs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort by the order of the looks, so that a reason is always in the same place."""
    order = {code: index for index, code in enumerate(_get_looks())}
    return sorted(runs.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))


class CountsByReason:
    """What counts runs by their reasons, in `runs`."""

    runs: Counter[str]

    @property
    def total(self) -> int:
        return sum(self.runs.values())

    @property
    def reasons(self) -> str:
        """How many of each, in words."""
        counts = sort_by_reason(self.runs)
        return ", ".join(f"{reason_label(code)} {number:,}" for code, number in counts)
