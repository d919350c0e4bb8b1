"""What an expression is while it is worked out: closures over one evaluation, with its steps."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.control.kinds import ValueKind
from agents.core.control.problems import PlacedProblem

ITEMS_A_STEP = 8
"""Items of a list that a built-in function looks at in the time of one step."""
CHARS_A_STEP = 500
"""Characters of a text, likewise."""


class Unanswerable(Exception):
    """An expression has no value for these facts. `problem` says why, and at which place."""

    def __init__(self, place: tuple[int, int], message: str) -> None:
        super().__init__(message)
        self.problem = PlacedProblem(*place, message)


class Evaluation:
    """One evaluation: the values it may see, the item of the loop it is in, the steps it has."""

    __slots__ = ("item", "steps", "values")

    def __init__(self, values: Mapping[str, Any], steps: int) -> None:
        self.values, self.steps = values, steps
        self.item: Any = None

    def spend(self, steps: int, place: tuple[int, int]) -> None:
        self.steps -= steps
        if self.steps < 0:
            raise Unanswerable(place, "this takes too many steps")

    def spend_on(self, value: Any, place: tuple[int, int]) -> None:
        """Pay for a function that looks at the whole of a value."""
        if type(value) is str:
            self.spend(1 + len(value) // CHARS_A_STEP, place)
        elif hasattr(value, "__len__"):
            self.spend(1 + len(value) // ITEMS_A_STEP, place)


Run = Callable[[Evaluation], Any]


@dataclass(frozen=True, slots=True)
class CompiledPart:
    """A part of an expression: the kind of its value, and how that is worked out."""

    kind: ValueKind
    run: Run
