"""What a behaviour holds a turn to: it can only tighten what the run allows."""

import math

from agents.core.behaviours.driven_run import PLAIN_TURN, TurnOrder
from agents.core.ports import ToolRunner


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
        self.withheld = frozenset()
        if order.tools not in (None, "all"):
            names = (schema["function"]["name"] for schema in self._tools.schemas())
            self.withheld = frozenset(name for name in names if not self._is_wanted(name))

    def _is_wanted(self, name: str) -> bool:
        tools = self.order.tools
        if tools == "reading":
            return not self._tools.writes(name)
        return tools != "none" and name in (tools or ())

    @property
    def forbidden(self) -> frozenset[str]:
        """What subagents may not call either: where only reading is wanted, nothing that writes."""
        return self.withheld if self.order.tools == "reading" else frozenset()
