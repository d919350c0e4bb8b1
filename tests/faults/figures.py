"""What a scenario measured, and which of its bounds did not hold."""

import asyncio
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from agents.core.tasks import spawn, stop

TICK = 0.005


@dataclass
class Figures:
    """Figures by their names, in the order they were noted; nothing is `broken` or `late` when all
    is well."""

    name: str
    slack: float = 1.0
    """By how much bounds of time are widened, for a machine that also does other things."""
    notes: dict[str, str] = field(default_factory=dict)
    broken: list[str] = field(default_factory=list)
    late: list[str] = field(default_factory=list)
    """Bounds of time that did not hold. On a machine that does other work they need not."""

    def note(self, label: str, value: float | str) -> None:
        self.notes[label] = value if isinstance(value, str) else _plain(value)

    def none(self, label: str, count: int) -> None:
        """There must be none of these."""
        self.note(label, count)
        if count:
            self.broken.append(f"{label}: {count:,} instead of 0")

    def exactly(self, label: str, count: int, expected: int) -> None:
        self.note(label, int(count))
        if count != expected:
            self.broken.append(f"{label}: {count:,} instead of {expected:,}")

    def some(self, label: str, count: int) -> None:
        """Without any of these the scenario has shown nothing."""
        self.note(label, count)
        if not count:
            self.broken.append(f"{label}: none, so nothing was shown")

    def at_most(self, label: str, value: float, bound: float) -> None:
        self.note(label, value)
        if value > bound:
            self.broken.append(f"{label}: {value:.3f} is more than {bound:g}")

    def under(self, label: str, seconds: float, bound: float) -> None:
        """It must take less than `bound` seconds, on a machine that does nothing else."""
        self.note(label, seconds)
        if seconds >= bound * self.slack:
            self.late.append(f"{label}: {seconds:.3f} is not under {bound * self.slack:g}")

    def line(self) -> str:
        figures = ", ".join(f"{label} {value}" for label, value in self.notes.items())
        broken = (f"\n  BROKEN {what}" for what in (*self.broken, *self.late))
        return f"{self.name}: {figures}" + "".join(broken)


def _plain(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}"


def share(values: Sequence[float], part: float) -> float:
    """The value that this part of all values does not exceed; 0 of none."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(part * len(ordered)))] if ordered else 0.0


@asynccontextmanager
async def control() -> AsyncIterator[list[float]]:
    """How late a short timer is meanwhile: what the machine adds to every figure beside it."""
    late: list[float] = []

    async def tick() -> None:
        while True:
            began = time.perf_counter()
            await asyncio.sleep(TICK)
            late.append(time.perf_counter() - began - TICK)

    task = spawn(tick(), "control")
    try:
        yield late
    finally:
        await stop([task], 1.0)
