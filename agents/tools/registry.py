"""The tools that are installed: one registry, filled at import, closed after start-up."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from agents.core.behaviours.vocabulary import ToolParameter
from agents.core.loop import AskMode
from agents.core.registry import Registry
from agents.tools.definition import DEFAULT_TIMEOUT, Tool, define, read_parameters

TOOLS: Registry[Tool] = Registry("tool")
F = TypeVar("F", bound=Callable[..., Any])


def tool(
    *,
    writes: bool = False,
    timeout: float | None = DEFAULT_TIMEOUT,
    asks: AskMode = "never",
    acknowledges: bool = False,
) -> Callable[[F], F]:
    """Register a typed function as a tool (a decorator). The function stays as it is.

    `asks` is when it waits for a person's yes; those who use it can only be stricter. One that
    `acknowledges` only says that the call was taken: the same result each time is no repetition.
    """

    def register(function: F) -> F:
        made = define(
            function, writes=writes, timeout=timeout, asks=asks, acknowledges=acknowledges
        )
        TOOLS.register(function.__name__, made, origin=function)
        return function

    return register


def names() -> tuple[str, ...]:
    return TOOLS.names()


def list_parameters() -> dict[str, Mapping[str, ToolParameter]]:
    """Return the parameters of all tools by their names, for what names tools in a text."""
    return {name: read_parameters(tool) for name, tool in TOOLS}


def get(name: str) -> Tool:
    return TOOLS.get(name)


def tool_writes(name: str) -> bool:
    """Return whether a tool changes anything; one that there is not does not."""
    return name in TOOLS and TOOLS.get(name).writes
