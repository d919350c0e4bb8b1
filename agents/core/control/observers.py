"""Observers: functions that are handed the events of runs. What one of them does changes no run.

A package registers one for all runs of the site, and whoever starts a run may give one of its own.
"""

import logging
from collections.abc import Callable, Sequence
from copy import deepcopy
from dataclasses import dataclass

from agents.core.chunks import OracleStreamChunk
from agents.core.control.event_stream import EventStream
from agents.core.control.events import AgentEvent
from agents.core.registry import Registry

logger = logging.getLogger(__name__)
MAX_FAILURES = 3
"""An observer that has failed so often is handed no more events of that run."""


@dataclass(frozen=True, slots=True)
class ObservedRun:
    """Which run an event is of, and whose it is."""

    id: str
    user_id: str
    project_id: str


Observer = Callable[[AgentEvent], None]
"""Is handed the events of one run."""
SiteObserver = Callable[[AgentEvent, ObservedRun], None]
"""Is handed the events of all runs, each with its run."""
NamedObserver = tuple[str, Observer]
"""An observer, with its name in the log."""
OBSERVERS: Registry[SiteObserver] = Registry("observer")


def observer(name: str) -> Callable[[SiteObserver], SiteObserver]:
    """Register a function that is handed every event of every run. It must return at once: the
    run waits for it."""

    def register(function: SiteObserver) -> SiteObserver:
        return OBSERVERS.register(name, function)

    return register


def list_observers(run: ObservedRun, own: Observer | None) -> list[NamedObserver]:
    """Return who is handed the events of a run: those of the site, and its own."""
    site = [(name, _Outsider(_bind_run(hand, run))) for name, hand in OBSERVERS]
    return [*site, *name_observer(own)]


def name_observer(own: Observer | None) -> list[NamedObserver]:
    """Return a run's own observer, if it has one, by the name that it has in code."""
    return [(getattr(own, "__qualname__", repr(own)), _Outsider(own))] if own is not None else []


def build_observation(
    observers: Sequence[NamedObserver], run_id: str = ""
) -> Callable[[OracleStreamChunk], None]:
    """Return what hands observers the events of each chunk of one run. One that raises is named in
    the log; it changes neither the run nor what others are handed."""
    if not observers:
        return _ignore
    stream, hand = EventStream(), build_handing(observers, run_id)
    return lambda chunk: hand(stream.feed(chunk))


def build_handing(
    observers: Sequence[NamedObserver], run_id: str = ""
) -> Callable[[Sequence[AgentEvent]], None]:
    """Return what hands observers events of one run."""

    def hand_events(events: Sequence[AgentEvent]) -> None:
        for event in events:
            for name, hand in observers:
                try:
                    hand(event)
                except Exception:
                    logger.exception("observer %s failed at %s of run %s", name, event.name, run_id)

    return hand_events


class _Outsider:
    """An observer that is not ours: it is handed copies, until it has failed too often."""

    def __init__(self, hand: Observer) -> None:
        self._hand = hand
        self._failures = 0

    def __call__(self, event: AgentEvent) -> None:
        if self._failures >= MAX_FAILURES:
            return
        try:
            self._hand(_copy_event(event))
        except Exception:
            self._failures += 1
            raise


def _copy_event(event: AgentEvent) -> AgentEvent:
    """Return an event that shares nothing with the chunk that it was made of."""
    payload = {
        name: deepcopy(value) if isinstance(value, dict | list) else value
        for name, value in event.payload.items()
    }
    return AgentEvent(event.name, event.seq, event.at, payload, event.own_type)


def _bind_run(hand: SiteObserver, run: ObservedRun) -> Observer:
    return lambda event: hand(event, run)


def _ignore(chunk: OracleStreamChunk) -> None:
    pass
