"""The runtime of this process, for requests: database work goes through its threads."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import TypeVar

from agents.runtime import Runtime, get_runtime
from chat.api.errors import unavailable_error

T = TypeVar("T")

asking_person: ContextVar[int | str | None] = ContextVar("asking_person", default=None)
"""Whose request this is; until their token is known, the address that it comes from."""


def require_runtime() -> Runtime:
    try:
        return get_runtime()
    except RuntimeError:
        raise unavailable_error(
            "This server is not taking requests right now. Try again in a moment."
        ) from None


async def run_db(function: Callable[[], T]) -> T:
    """Run database work of a request; what one person asks for, a little at a time."""
    return await require_runtime().run_db(function, asking_person.get())
