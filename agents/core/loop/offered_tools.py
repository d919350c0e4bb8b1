"""Which of a run's tools a request offers, and how long their descriptions are."""

from collections.abc import Set

from agents.core.messages import ToolSchema
from agents.core.ports import ToolRunner
from agents.core.tokens import schema_chars


class OfferedTools:
    """The tools of a run without those that are withheld; the last choice is kept."""

    def __init__(self, tools: ToolRunner) -> None:
        self._tools = tools
        self._withheld: Set[str] | None = None
        self._offered: tuple[ToolSchema, ...] = ()
        self._chars = 0

    def list(self, withheld: Set[str]) -> tuple[ToolSchema, ...]:
        self._choose(withheld)
        return self._offered

    def measure(self, withheld: Set[str]) -> int:
        """Return the characters of all that is offered."""
        self._choose(withheld)
        return self._chars

    def _choose(self, withheld: Set[str]) -> None:
        if withheld != self._withheld:
            self._withheld = frozenset(withheld)
            self._offered = tuple(
                schema
                for schema in self._tools.schemas()
                if schema["function"]["name"] not in withheld
            )
            self._chars = schema_chars(self._offered)
