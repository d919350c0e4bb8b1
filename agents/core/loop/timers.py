"""When a run is woken: moments on its clock, which outlive the turns that ask for them."""

from collections.abc import Callable
from functools import partial

from agents.core.ports import Clock, Timer


class RunTimers:
    """The moments at which a run wants to be woken, wherever it waits then.

    Most turns want the same ones, so a timer that is not wanted at present stays set and rings
    for nobody: to cancel and set it again in every turn costs more.
    """

    def __init__(self, clock: Clock, wake: Callable[[], None]) -> None:
        self._clock = clock
        self._wake = wake
        self._wanted: set[float] = set()
        self._timers: dict[float, Timer] = {}

    def want(self, *moments: float) -> None:
        """Wake the run at these moments too; at once, if one has passed."""
        self._wanted.update(moments)
        for moment in moments:
            if moment not in self._timers:
                self._timers[moment] = self._clock.call_at(moment, partial(self._ring, moment))

    def want_only(self, *moments: float) -> None:
        """Wake the run at these moments, and at no other."""
        self._wanted.clear()
        self.want(*moments)

    def _ring(self, moment: float) -> None:
        del self._timers[moment]
        if moment in self._wanted:
            self._wake()

    def cancel(self) -> None:
        for timer in self._timers.values():
            timer.cancel()
        self._timers.clear()
