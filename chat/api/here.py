"""The runtime of this process, for requests: database work goes through its threads."""

from collections.abc import Callable
from typing import TypeVar

from agents.runtime import Runtime
from agents.runtime.home import home
from chat.api.errors import unavailable

T = TypeVar("T")


def runtime() -> Runtime:
    try:
        return home()
    except RuntimeError:
        raise unavailable("This server takes no requests now. Try again in a moment.") from None


async def work(work: Callable[[], T]) -> T:
    return await runtime().work(work)
