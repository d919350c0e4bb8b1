"""Lookups of host names that people enter, in threads of their own.

The event loop has four threads for lookups, and a caller that gives up does not free its thread: a
few slow names would stop everybody's requests. Lookups on behalf of people therefore run here, a
few at a time for each person, and never in the loop's threads.
"""

import asyncio
import socket
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass, field
from ipaddress import ip_address

import httpcore

MAX_ADDRESSES = 4
"""Addresses of one host that are tried."""
MAX_THREADS = 32
THREADS_PER_PERSON = 2
WAITING_PER_PERSON = 16
SECONDS = 8.0
"""For one lookup and the wait for its thread: less than a connection may take, so that the person
reads that the name was slow."""

asking_person: ContextVar[object] = ContextVar("asking_person", default=None)
"""Primary key of the person on whose behalf names are looked up. Without one, a limit is shared."""

LookUp = Callable[[str, int], Sequence[str]]
"""Return the IP addresses of a host and port; blocks. OSError or UnicodeError if there are none."""


class LookupTimedOut(httpcore.ConnectTimeout):
    """The name was not resolved in time."""


class LookupRefused(httpcore.ConnectError):
    """The person's earlier lookups are still running, so this one was not begun."""


class LookupsBusy(LookupRefused):
    """No thread was free for the lookup, because of lookups of other people or of the machine."""


@dataclass(eq=False, slots=True)
class _Lookup:
    person: object
    host: str
    port: int
    future: Future[Sequence[str]] = field(default_factory=Future)


def look_up(host: str, port: int) -> Sequence[str]:
    """Return the IP addresses of a host, in the order in which the system would try them."""
    infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return tuple(dict.fromkeys(str(info[4][0]) for info in infos))[:MAX_ADDRESSES]


class PersonalLookups:
    """Looks names up in at most `threads` threads, `per_person` of them for one person.

    A thread counts until its lookup returns, also if nobody waits for the result any more.
    """

    def __init__(
        self,
        look_up: LookUp = look_up,
        threads: int = MAX_THREADS,
        per_person: int = THREADS_PER_PERSON,
        waiting_per_person: int = WAITING_PER_PERSON,
        seconds: float = SECONDS,
    ) -> None:
        self._look_up = look_up
        self._threads = threads
        self._per_person = per_person
        self._waiting_per_person = waiting_per_person
        self._seconds = seconds
        self._lock = threading.Lock()
        self._running: Counter[object] = Counter()
        self._waiting: list[_Lookup] = []

    async def resolve(self, host: str, port: int) -> Sequence[str]:
        """Return the IP addresses of a host.

        Raises OSError or UnicodeError if it has none, LookupTimedOut if that takes too long, and
        LookupRefused if the lookup could not begin: LookupsBusy if not because of this person.
        """
        if _is_ip_address(host):
            return (host,)
        lookup = self._add(host, port)
        try:
            async with asyncio.timeout(self._seconds):
                return await asyncio.wrap_future(lookup.future)
        except TimeoutError:
            if not lookup.future.cancelled():
                raise LookupTimedOut(host) from None
            raise self._refuse(lookup) from None
        finally:
            self._drop_waiting(lookup)

    def _add(self, host: str, port: int) -> _Lookup:
        lookup = _Lookup(asking_person.get(), host, port)
        with self._lock:
            waiting = sum(other.person == lookup.person for other in self._waiting)
            if waiting >= self._waiting_per_person:
                raise LookupRefused(host)
            self._waiting.append(lookup)
            self._start_waiting()
        return lookup

    def _drop_waiting(self, lookup: _Lookup) -> None:
        with self._lock:
            if lookup in self._waiting:
                self._waiting.remove(lookup)

    def _refuse(self, lookup: _Lookup) -> LookupRefused:
        """Return the error for a lookup that waited for a thread until its time was over."""
        with self._lock:
            is_own_fault = self._running[lookup.person] >= self._per_person
        return LookupRefused(lookup.host) if is_own_fault else LookupsBusy(lookup.host)

    def _start_waiting(self) -> None:
        """Start every lookup that may run now, oldest first. Call it with the lock held."""
        for lookup in tuple(self._waiting):
            if self._running.total() >= self._threads:
                return
            if self._running[lookup.person] < self._per_person:
                self._waiting.remove(lookup)
                if lookup.future.set_running_or_notify_cancel():
                    self._start(lookup)

    def _start(self, lookup: _Lookup) -> None:
        # A daemon: a slow name must not hold up the end of the process.
        thread = threading.Thread(
            target=self._run, args=(lookup,), name="oracle-lookup", daemon=True
        )
        try:
            thread.start()
        except RuntimeError:  # the machine has no more threads
            lookup.future.set_exception(LookupsBusy(lookup.host))
        else:
            self._running[lookup.person] += 1

    def _run(self, lookup: _Lookup) -> None:
        try:
            lookup.future.set_result(self._look_up(lookup.host, lookup.port))
        except BaseException as error:  # it belongs to the person who waits
            lookup.future.set_exception(error)
        finally:
            with self._lock:
                self._running[lookup.person] -= 1
                self._running += Counter()  # drops people without lookups
                self._start_waiting()


def _is_ip_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


_LOOKUPS = PersonalLookups()
resolve = _LOOKUPS.resolve
