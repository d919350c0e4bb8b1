"""Virtual time: an event loop that never waits, and a Clock that reads it.

    def test_a_run_ends_at_its_deadline():
        async def run() -> None: ...
        run_virtual(run())

    @virtual_time
    async def test_the_same_as_a_coroutine(): ...

When nothing is ready the loop jumps to its next timer, so a thousand seconds pass in no time and
timers fire exactly when they are due. Real sockets do not belong here: time would jump while
their bytes travel. Use ScriptedTransport.
"""

import asyncio
import functools
import math
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import closing, contextmanager
from contextvars import Context
from typing import Any, ParamSpec, TypeVar, TypeVarTuple

from agents.tools.blocking import THREADS
from tests.support.timing import PATIENCE

T = TypeVar("T")
P = ParamSpec("P")
Ts = TypeVarTuple("Ts")

EPOCH = 1_750_000_000.0
"""Wall time at the start of a VirtualClock."""
_DAY = 86_400.0
_Future = asyncio.Future[Any]


class VirtualDeadlock(Exception):
    """Nothing is ready, nothing is scheduled: the program would wait for ever."""


class VirtualTimeout(Exception):
    """The program did not end within its virtual time."""


class VirtualTimeLoop(asyncio.SelectorEventLoop):
    """A job given to `run_in_executor`, or a daemon thread started since the loop was made, gets
    up to `thread_grace` real seconds to finish before time jumps. One that does not is taken to
    be blocked and is not waited for again, unless there is nothing else to wait for: then
    `patience` real seconds, then VirtualDeadlock.
    """

    _scheduled: list[asyncio.TimerHandle]

    def __init__(self, *, thread_grace: float = 0.05, patience: float = PATIENCE) -> None:
        self._now = 0.0
        self.horizon = math.inf
        """Time beyond which it will not go."""
        self.graces = 0
        """How often threads were given time to finish."""
        self._thread_grace = thread_grace
        self._patience = patience
        self._awaited: set[_Future] = set()
        self._blocked: set[_Future] = set()
        self._older_threads = set(threading.enumerate())
        self._blocked_threads: set[threading.Thread] = set()
        self._pool: Executor | None = None
        super().__init__(_JumpingSelector(self._idle))

    def time(self) -> float:
        return self._now

    def call_at(
        self,
        when: float,
        callback: Callable[[*Ts], object],
        *args: *Ts,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        if when == math.inf:  # Never due: scheduled, it would hide a dead lock.
            return asyncio.TimerHandle(when, callback, args, self, context)
        return super().call_at(when, callback, *args, context=context)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*Ts], T], *args: *Ts
    ) -> asyncio.Future[T]:
        self._pool = self._pool or ThreadPoolExecutor(thread_name_prefix="virtual")
        future = super().run_in_executor(executor or self._pool, func, *args)
        self._awaited.add(future)
        future.add_done_callback(self._forget)
        return future

    def never_wait_for(self, future: _Future) -> None:
        """Say that a thread is blocked for ever, to save its grace."""
        self._awaited.discard(future)

    def close(self) -> None:
        """Blocked threads are left behind: whoever blocked them must release them."""
        if self._pool is not None:
            self._pool.shutdown(wait=False, cancel_futures=True)
        super().close()

    def _forget(self, future: _Future) -> None:
        self._awaited.discard(future)
        self._blocked.discard(future)

    def _idle(self, poll: "_Poll") -> "_Ready":
        """Nothing is ready: let threads finish, else jump."""
        threads = self._fresh_threads()
        if self._awaited or threads:
            self.graces += 1
            if ready := poll(self._thread_grace):
                return ready
        self._blocked |= self._awaited
        self._awaited.clear()
        self._blocked_threads |= threads
        if self._scheduled:
            self._jump(self._scheduled[0].when())
            return []
        alive = any(thread.is_alive() for thread in self._blocked_threads)
        if (self._blocked or alive) and (ready := poll(self._patience)):
            return ready
        raise VirtualDeadlock(f"at {self._now:g} s nothing can happen any more; {_waiting(self)}")

    def _fresh_threads(self) -> set[threading.Thread]:
        """Threads at work that were not waited for. The workers of pools are no daemons."""
        daemons = {thread for thread in threading.enumerate() if thread.daemon}
        return daemons - self._older_threads - self._blocked_threads

    def _jump(self, when: float) -> None:
        if when > self.horizon:
            raise VirtualTimeout(
                f"not done after {self.horizon:g} virtual seconds; {_waiting(self)}"
            )
        self._now = max(self._now, when)


class VirtualClock:
    """The Clock port on the loop that it is used in, virtual or not."""

    def __init__(self, epoch: float = EPOCH) -> None:
        self._epoch = epoch

    def time(self) -> float:
        return self._epoch + self.monotonic()

    def monotonic(self) -> float:
        return asyncio.get_running_loop().time()

    def call_at(self, when: float, callback: Callable[[], None]) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_at(when, callback)


def run_virtual(
    program: Coroutine[Any, Any, T],
    timeout_virtual_seconds: float = _DAY,
    *,
    thread_grace: float = 0.05,
    patience: float = PATIENCE,
) -> T:
    """Run a coroutine to its end in a loop of its own, then cancel what it left behind."""
    with _no_thread_kept():
        loop = VirtualTimeLoop(thread_grace=thread_grace, patience=patience)
        loop.horizon = timeout_virtual_seconds
        try:
            return loop.run_until_complete(program)
        finally:
            with closing(loop):
                _wind_up(loop)


@contextmanager
def _no_thread_kept() -> Iterator[None]:
    """Let each call of a tool have a new thread: one that waits looks like one at work."""
    most, THREADS.max_idle = THREADS.max_idle, 0
    THREADS.close_idle()
    try:
        yield
    finally:
        THREADS.max_idle = most


def virtual_time(test: Callable[P, Coroutine[Any, Any, T]]) -> Callable[P, T]:
    """Make a coroutine function, such as a test, run in virtual time."""

    @functools.wraps(test)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        return run_virtual(test(*args, **kwargs))

    return run


def _wind_up(loop: VirtualTimeLoop) -> None:
    """Cancel what is left, with a day to end. What ignores that is reported by asyncio."""
    loop.horizon = loop.time() + _DAY
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(asyncio.wait(left))
    loop.run_until_complete(loop.shutdown_asyncgens())


def _waiting(loop: VirtualTimeLoop) -> str:
    tasks = asyncio.all_tasks(loop)
    shown = "\n  ".join(repr(task) for task in sorted(tasks, key=lambda task: task.get_name()))
    return f"{len(tasks)} tasks are waiting:\n  {shown}"


# -- the selector ---------------------------------------------------------------------------------

_Ready = list[tuple[selectors.SelectorKey, int]]
_Poll = Callable[[float], _Ready]


class _JumpingSelector(selectors.DefaultSelector):
    """Asks `idle` what to do instead of blocking."""

    def __init__(self, idle: Callable[[_Poll], _Ready]) -> None:
        super().__init__()
        self._idle = idle

    def select(self, timeout: float | None = None) -> _Ready:
        ready = super().select(0)
        if ready or timeout == 0:
            return ready
        return self._idle(super().select)
