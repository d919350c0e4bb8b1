"""What an attack cost, beside a control without one, and whether that is too much."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, replace
from operator import itemgetter
from typing import Any

from tests.attack.victim import Noticed, Took
from tests.faults.figures import share

TIMES, MORE_SECONDS = 3.0, 0.2
"""How much longer than the control another person's page and frames may take, at p99."""
UNSTORED_MARK = "*"
UNSTORED_NOTE = (
    "* Nothing could be stored, by anybody: a word is shown when it is stored, and not before. "
    "Frames are not held to the bound here; pages, /healthz and /readyz are, and every word has to "
    "be shown afterwards."
)
HEALTH_SECONDS = 0.5
MEMORY_MB = 250.0
HEADINGS = (
    "attack",
    "acts",
    "CPU s",
    "ms/act",
    "page p99 ms",
    "(control)",
    "frame p99 ms",
    "(control)",
    "healthz ms",
    "memory MB",
    "starved ms",
)


def p99(took: Sequence[Took]) -> float:
    """Seconds that 99 of a hundred do not exceed."""
    return share(list(map(itemgetter(0), took)), 0.99)


@dataclass(frozen=True)
class Times:
    """What another person notices, in seconds: p99 of pages and frames, the worst `/healthz`."""

    page: float
    frame: float
    health: float

    @classmethod
    def of(cls, noticed: Noticed) -> "Times":
        """As they were."""
        worst = max(map(itemgetter(0), noticed.health), default=0.0)
        return cls(p99(noticed.pages), p99(noticed.frames), worst)

    @classmethod
    def own(cls, noticed: Noticed) -> "Times":
        """Without what the machine took from the server."""
        return cls.of(replace(noticed, pages=_own(noticed.pages), frames=_own(noticed.frames),
                              health=_own(noticed.health)))  # fmt: skip


def _own(took: Sequence[Took]) -> list[Took]:
    return [(seconds - starved, 0.0) for seconds, starved in took]


@dataclass
class Row:
    """One attack. Seconds, but for memory."""

    name: str
    acts: int
    cpu: float
    """Of the server, beyond what the control cost it."""
    times: Times
    control: Times
    own: Times
    own_control: Times
    memory: float
    starved: float
    """The most of one page or frame that the machine took from the server."""
    broken: list[str] = field(default_factory=list)
    streams: bool = True
    """Whether frames are held to the bound: while nothing is stored, nothing can be shown."""

    @property
    def cells(self) -> list[str]:
        each = 1000 * self.cpu / self.acts if self.acts else 0.0
        now, before = self.times, self.control
        times = (now.page, before.page, now.frame, before.frame, now.health)
        cost = [f"{self.acts:,}", f"{self.cpu:.2f}", f"{each:.1f}"]
        machine = [f"{self.memory:+.0f}", f"{1000 * self.starved:,.0f}"]
        shown = [f"{1000 * one:,.0f}" for one in times]
        if not self.streams:
            shown[2] += UNSTORED_MARK
        return [self.name, *cost, *shown, *machine]

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def judge(row: Row, noticed: Noticed) -> None:
    """Note what the other person had to suffer.

    A bound of time is broken if it is so as measured, and still is without what the machine took
    from the server, in the attack and in the control alike.
    """
    late = _late(row.times, row.control, streams=row.streams)
    still_late = _late(row.own, row.own_control, streams=row.streams)
    row.broken += [said for what, said in late.items() if what in still_late]
    if row.memory > MEMORY_MB:
        row.broken.append(f"the server grew by {row.memory:.0f} MB")
    if noticed.words < noticed.asked:
        row.broken.append(f"{noticed.asked - noticed.words} words of another person were not shown")
    if noticed.refused:
        row.broken.append(f"{noticed.refused} pages of another person were refused")


def _late(times: Times, control: Times, *, streams: bool) -> dict[str, str]:
    """What took too long, in words, by what it is."""
    bounds = {
        "page p99": (times.page, TIMES * control.page + MORE_SECONDS),
        "frame p99": (times.frame, TIMES * control.frame + MORE_SECONDS),
        "/healthz": (times.health, HEALTH_SECONDS),
    }
    if not streams:
        del bounds["frame p99"]
    return {
        what: f"{what} {1000 * value:.0f} ms, at most {1000 * most:.0f}"
        for what, (value, most) in bounds.items()
        if value > most
    }


def lines(rows: Sequence[Row]) -> list[str]:
    """The table, as people read it."""
    cells = [list(HEADINGS), *(row.cells for row in rows)]
    widths = [max(len(line[at]) for line in cells) for at in range(len(HEADINGS))]
    printed = []
    for line, row in zip(cells, [None, *rows], strict=True):
        first, *rest = (cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        printed.append("  ".join([first.strip().ljust(widths[0]), *rest]))
        printed += [f"  BROKEN {what}" for what in (row.broken if row is not None else [])]
    return printed if all(row.streams for row in rows) else [*printed, UNSTORED_NOTE]
