"""What the pages of one person read and render alike: once for all of them, and in one thread.

All tabs of a conversation hear at the same moment that it has changed. Each of them would ask for
the same rows in a thread of its own, and threads take turns: thirty tabs of one person would be so
many turns before the next one of somebody else.
"""

import asyncio
from collections.abc import Callable, Hashable
from typing import Any, TypeVar

from agents.runtime import Runtime
from agents.web.throttling import Lanes

T = TypeVar("T")

_lanes = Lanes(1)
_waiting: dict[Hashable, asyncio.Task[Any]] = {}
"""Reads that have not begun."""


async def read(runtime: Runtime, person: int, what: Hashable, work: Callable[[], T]) -> T:
    """Do database work for a page of a person. Who asks for the same before it begins shares it;
    who asks later needs a newer one, and shares that with others."""
    key = (runtime, person, what)
    if key not in _waiting:
        _waiting[key] = asyncio.create_task(_read(key, work))
        _waiting[key].add_done_callback(_take_error)
    shared: asyncio.Task[T] = _waiting[key]
    return await asyncio.shield(shared)


async def _read(key: tuple[Runtime, int, Hashable], work: Callable[[], T]) -> T:
    runtime, person, _ = key
    try:
        await _lanes.acquire((runtime, person))
    finally:
        del _waiting[key]
    try:
        return await runtime.run_db(work)
    finally:
        _lanes.release((runtime, person))


def _take_error(task: asyncio.Task[Any]) -> None:
    """Look at an error that perhaps nobody waits for any more."""
    if not task.cancelled():
        task.exception()
