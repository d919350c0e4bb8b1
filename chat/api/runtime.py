"""The runtime of this process, for requests: database work goes through its threads."""

from collections.abc import Callable
from typing import TypeVar

from agents.runtime import Runtime, get_runtime
from chat.api.errors import unavailable_error

T = TypeVar("T")


def require_runtime() -> Runtime:
    try:
        return get_runtime()
    except RuntimeError:
        raise unavailable_error(
            "This server is not taking requests right now. Try again in a moment."
        ) from None


async def run_db(function: Callable[[], T]) -> T:
    return await require_runtime().run_db(function)
