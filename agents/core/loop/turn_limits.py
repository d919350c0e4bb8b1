"""What a behaviour holds a turn to: it can only tighten what the run allows."""

import math
from collections.abc import Iterator, Set

from agents.core.behaviours.run_interface import PLAIN_TURN, TurnOrder
from agents.core.ports import ToolRunner

NOTHING: frozenset[str] = frozenset()


class TurnLimits:
    """The limits of the turn that is open."""

    def __init__(self, tools: ToolRunner) -> None:
        self._tools = tools
        self.order = PLAIN_TURN
        self.withheld: frozenset[str] = frozenset()
        """Tools that are not wanted in this turn."""
        self.deadline = math.inf
        """When the node of the behaviour has used its time."""

    def apply(self, order: TurnOrder) -> None:
        """Hold the turn to what is wanted of it."""
        self.order = order
        self.withheld = NOTHING
        if order.tools not in (None, "all"):
            names = (schema["function"]["name"] for schema in self._tools.schemas())
            self.withheld = frozenset(name for name in names if not self._is_wanted(name))

    def _is_wanted(self, name: str) -> bool:
        tools = self.order.tools
        if tools == "reading":
            return not self._tools.writes(name)
        return tools != "none" and name in (tools or ())

    def forbid(self, withheld: Set[str]) -> Set[str]:
        """Return what subagents may not call either, with what rules withhold, also meanwhile:
        where only reading is wanted, nothing that writes."""
        return JoinedNames(withheld, self.withheld) if self.order.tools == "reading" else withheld


class JoinedNames(Set[str]):
    """Two sets as one, of which the first may still grow."""

    def __init__(self, growing: Set[str], fixed: Set[str]) -> None:
        self._growing, self._fixed = growing, fixed

    def __contains__(self, name: object) -> bool:
        return name in self._growing or name in self._fixed

    def __iter__(self) -> Iterator[str]:
        yield from self._growing | self._fixed

    def __len__(self) -> int:
        return len(self._growing | self._fixed)
