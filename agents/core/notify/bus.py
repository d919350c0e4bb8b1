"""The notification bus of one run: takes in events, and says when it is asked what is due.

Pure: it is told the time, on the run's own clock, and nothing in it is shared between runs.
"""

import logging
import math
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import Any

from agents.core.control.evaluation import Unanswerable
from agents.core.control.event_stream import SELF_NOTE
from agents.core.control.events import AgentEvent, matches_event
from agents.core.control.facts import RESULT_EVENTS, Facts, describe_result
from agents.core.notify.reminders import REMINDED, RULE_NOTE, ReminderLog
from agents.core.notify.self_notes import DeferredNotes
from agents.core.notify.subscriber import (
    PRIORITIES,
    SEVERITIES,
    InjectionPoint,
    Subscriber,
)
from agents.core.notify.words import Notification, ToldEvent, build_notification

logger = logging.getLogger(__name__)
MAX_WAITING = 1_000
"""Events that wait in all. Beyond that the least grave goes first, but no error."""
MAX_KEYS = 1_000
"""Keys of a subscriber that are remembered for having been said."""
_ERROR = SEVERITIES.index("error")
_REMEMBERED = (SELF_NOTE, RULE_NOTE, REMINDED)
"""What the bus heeds whoever listens: notes."""


class BusLayout:
    """Subscribers that speak in a run together, in their order, and who listens to what. Runs with
    the same ones share it, and nothing of a run is in it."""

    def __init__(self, subscribers: Iterable[Subscriber]) -> None:
        speaking = [one for one in subscribers if not one.is_said_by_loop]
        self.subscribers = sorted(speaking, key=_rank)
        self.listeners: dict[str, list[int]] = {}
        """Their places, by the names of events."""
        for place, subscriber in enumerate(self.subscribers):
            for name in subscriber.types:
                self.listeners.setdefault(name, []).append(place)
        self.heeded = frozenset((*self.listeners, *_REMEMBERED))
        """Events that come to anything."""


@lru_cache(maxsize=256)
def _arrange(subscribers: tuple[Subscriber, ...]) -> BusLayout:
    return BusLayout(subscribers)


def _rank(subscriber: Subscriber) -> tuple[int, bool]:
    return PRIORITIES.index(subscriber.priority), not subscriber.core


class NotificationBus:
    """The subscribers of a run, each with the events that wait to be told."""

    def __init__(self, subscribers: Iterable[Subscriber], facts: Facts | None = None) -> None:
        self._layout = _arrange(tuple(subscribers))
        self._counts = [0] * len(SEVERITIES)
        """How many wait, by severity."""
        self.waiting = 0
        """How many events wait to be told."""
        self._immediate = 0
        """How many of them are to be told as soon as their time has come."""
        self._dropped = 0
        self._deferred = DeferredNotes(facts)
        self.reminders = ReminderLog()
        """What the run keeps for a later one."""

    @property
    def is_idle(self) -> bool:
        """Whether nobody listens to anything."""
        return not self._layout.subscribers

    @cached_property
    def _queues(self) -> list["_Queue"]:
        """Those of all subscribers. In most runs, nothing happens that is of interest to any."""
        return [_Queue(subscriber) for subscriber in self._layout.subscribers]

    @property
    def has_waiting(self) -> bool:
        """Whether there is anything to be told, now or later."""
        return self.waiting > 0 or bool(self._deferred.waiting)

    def ignores(self, event: AgentEvent) -> bool:
        """Return whether nobody listens to an event, and it cannot move what waits either."""
        if self._immediate or self._deferred.waiting or event.own_type is not None:
            return False
        return event.name not in self._layout.heeded

    def emit(self, event: AgentEvent, now: float) -> None:
        """Take in an event. A note of the model to itself waits for its moment."""
        self.reminders.hear(event)
        if not self._deferred.hear(event):
            self._offer(event, now)

    def _offer(self, event: AgentEvent, now: float) -> None:
        """Let everybody have an event who listens."""
        for queue in self._find_listeners(event):
            if queue.try_take(event, now):
                severity = SEVERITIES.index(event.severity)
                self._counts[severity] += 1
                self.waiting += 1
                self._immediate += queue.is_immediate
                if self.waiting > MAX_WAITING:
                    self._drop_one(queue, severity)

    def _find_listeners(self, event: AgentEvent) -> Sequence["_Queue"]:
        """Return who listens. Which events rules emit is known only when they do."""
        if event.own_type is None:
            places = self._layout.listeners.get(event.name, ())
            return [self._queues[place] for place in places]
        return [queue for queue in self._queues if queue.listens_to(event)]

    def due(self, point: InjectionPoint, now: float) -> list[Notification]:
        """Return what is to be said at a point of the run; what is immediate, at any point."""
        for event in self._deferred.release(point):
            self._offer(event, now)
        if not self.waiting:
            return []
        ready = [
            queue
            for queue in self._queues
            if queue.rows and queue.subscriber.at in (point, "immediate") and queue.due_at <= now
        ]
        return self._take_out(ready, now)

    def flush(self, now: float) -> list[Notification]:
        """Return all that waits, because the run ends."""
        if not self.waiting:
            return []
        return self._take_out([queue for queue in self._queues if queue.rows], now)

    def pop_dropped(self) -> int:
        """Return how many events were given up, since this was last asked, as too many waited."""
        count, self._dropped = self._dropped, 0
        return count

    def next_due(self) -> float | None:
        """Return when something immediate will be due, or None if nothing waits for its time."""
        if not self._immediate:
            return None
        moments = [queue.due_at for queue in self._queues if queue.rows and queue.is_immediate]
        return min(moments, default=None)

    def _take_out(self, ready: list["_Queue"], now: float) -> list[Notification]:
        ready.sort(key=lambda queue: (*_rank(queue.subscriber), queue.opened))
        for queue in ready:
            for row in queue.rows.values():
                self._counts[SEVERITIES.index(row.event.severity)] -= 1
            self.waiting -= len(queue.rows)
            self._immediate -= len(queue.rows) * queue.is_immediate
        return [notice for queue in ready if (notice := queue.try_pop(now)) is not None]

    def _drop_one(self, queue: "_Queue", severity: int) -> None:
        """Give up the newest of the least grave events that wait, unless all are errors.

        `queue` is the one with the newest event, which is of that severity.
        """
        least = next(at for at, count in enumerate(self._counts) if count)
        if least >= _ERROR:
            return
        if least < severity:
            queue = next(queue for queue in self._queues if queue.holds(least))
        self._dropped += queue.drop_newest(least)
        self._counts[least] -= 1
        self.waiting -= 1
        self._immediate -= queue.is_immediate


class _Queue:
    """One subscriber in a run: what waits, and what was said."""

    def __init__(self, subscriber: Subscriber) -> None:
        self.subscriber = subscriber
        self.is_immediate = subscriber.at == "immediate"
        self.rows: dict[Any, ToldEvent] = {}
        self.more = 0
        """Events beyond a full batch: they are counted."""
        self.opened = 0.0
        self._said: dict[Any, float] = {}
        self._failures = 0

    def listens_to(self, event: AgentEvent) -> bool:
        least = SEVERITIES.index(self.subscriber.min_severity)
        return SEVERITIES.index(event.severity) >= least and any(
            matches_event(pattern, event.name) for pattern in self.subscriber.types
        )

    @property
    def due_at(self) -> float:
        is_full = len(self.rows) >= self.subscriber.most
        return self.opened if is_full else self.opened + self.subscriber.window

    def try_take(self, event: AgentEvent, now: float) -> bool:
        """Do as `take`. A subscriber that fails is named, and keeps no other from hearing."""
        try:
            return self.take(event, now)
        except Exception:
            self._report_failure()
            return False

    def try_pop(self, now: float) -> Notification | None:
        """Do as `pop`. A subscriber that fails is named, and says nothing of these events."""
        try:
            return self.pop(now)
        except Exception:
            self._report_failure()
            return None

    def _report_failure(self) -> None:
        if not self._failures:
            logger.exception("subscriber %s failed", self.subscriber.id)
        self._failures += 1

    def take(self, event: AgentEvent, now: float) -> bool:
        """Let an event wait if it is of interest; return whether one more waits."""
        if not self._is_wanted(event):
            return False
        key = self._find_key(event)
        if now < self._said.get(key, -math.inf) + self.subscriber.again_after:
            return False
        if (known := self.rows.get(key)) is not None:
            known.times += 1
        elif len(self.rows) >= self.subscriber.most:
            self.more += 1
        else:
            self.opened = self.opened if self.rows else now
            self.rows[key] = ToldEvent(event)
            return True
        return False

    def holds(self, severity: int) -> bool:
        return any(SEVERITIES.index(row.event.severity) == severity for row in self.rows.values())

    def drop_newest(self, severity: int) -> int:
        """Give up the newest event of a severity; return how many it stood for."""
        key = next(
            key
            for key, row in reversed(self.rows.items())
            if SEVERITIES.index(row.event.severity) == severity
        )
        return self.rows.pop(key).times

    def pop(self, now: float) -> Notification:
        """Return what there is to say, and begin anew."""
        told, more = list(self.rows.values()), self.more
        if self.subscriber.again_after:
            for key in self.rows:
                self._said.pop(key, None)
                self._said[key] = now
            while len(self._said) > MAX_KEYS:
                del self._said[next(iter(self._said))]
        self.rows, self.more = {}, 0
        return build_notification(self.subscriber, told, more)

    def _is_wanted(self, event: AgentEvent) -> bool:
        """Return whether its condition holds. One that cannot be answered does not."""
        if (when := self.subscriber.when) is None:
            return True
        about = {
            "type": event.name,
            "source": event.source,
            "severity": event.severity,
            "payload": event.payload,
        }
        result = describe_result(event) if event.name in RESULT_EVENTS else None
        try:
            return bool(when.evaluate({"event": about, "result": result}))
        except Unanswerable as error:
            if not self._failures:
                logger.warning("subscriber %s: %s", self.subscriber.id, error.problem)
            self._failures += 1
            return False

    def _find_key(self, event: AgentEvent) -> Any:
        """Return what the event has in common with those that count as the same."""
        parts = self.subscriber.key
        if not parts:
            return event.name if self.subscriber.again_after else (event.seq, event.name)
        return tuple(
            event.name if part == "type" else str(event.payload.get(part.removeprefix("payload.")))
            for part in parts
        )
