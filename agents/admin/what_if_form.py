"""What to try instead: other limits, another tree, other stuck rules. Empty means as recorded.

Fields and bounds come from the one definition of the limits; a form is read strictly, and what it
cannot read is refused in words beside its field.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.core.config import LIMITS
from agents.core.decision import TREES
from agents.core.progress import RULE_BOUNDS, SHIPPED, StuckRules

TREE = "with_tree"
"""Not `tree`: that is a filter of the list."""
SUBMITTED = "replay"
STUCK = {
    "identical": "Same calls, same results: turns",
    "writing": "Same writing calls: turns",
    "known": "Nothing but what is known: turns",
}
LONGEST = 200
_WHOLE = re.compile(r"\d{1,9}|\d{1,3}(,\d{3}){1,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class Field:
    """One value to try."""

    name: str
    label: str
    help: str
    minimum: int = 0
    maximum: int = 0
    zero: bool = False
    """Whether 0 is allowed too: off."""
    typed: str = ""
    error: str = ""

    @property
    def value(self) -> int | None:
        return None if self.error or not self.typed else int(self.typed.replace(",", ""))

    def read(self, typed: str) -> "Field":
        """The field with what somebody typed, and what is wrong with it."""
        typed = typed.strip()[:LONGEST]
        if not typed:
            return self
        number = int(typed.replace(",", "")) if _WHOLE.fullmatch(typed) else -1
        is_fine = self.minimum <= number <= self.maximum or (self.zero and number == 0)
        return replace(self, typed=typed, error="" if is_fine else self._problem())

    def _problem(self) -> str:
        off = ", or 0 for off" if self.zero else ""
        return f"Must be a whole number from {self.minimum:,} to {self.maximum:,}{off}."


@dataclass(frozen=True, slots=True)
class Form:
    limits: Sequence[Field]
    stuck: Sequence[Field]
    tree: str = ""
    tree_error: str = ""
    submitted: bool = False
    trees: Sequence[str] = field(default_factory=TREES.names)

    @property
    def has_errors(self) -> bool:
        return bool(self.tree_error) or any(f.error for f in (*self.limits, *self.stuck))

    @property
    def is_empty(self) -> bool:
        return not self.tree and not any(f.typed for f in (*self.limits, *self.stuck))

    @property
    def chosen_limits(self) -> dict[str, int]:
        return {f.name: f.value for f in self.limits if f.value is not None}

    @property
    def chosen_rules(self) -> StuckRules | None:
        chosen = {f.name: f.value for f in self.stuck if f.value is not None}
        return replace(SHIPPED, **chosen) if chosen else None


NAMES = frozenset({*LIMITS, *STUCK, TREE, SUBMITTED, "run"})
"""Parameters of the address that are not filters of the list."""


def read(asked: Mapping[str, str]) -> Form:
    """The form as an address fills it in."""
    tree = asked.get(TREE, "").strip()[:LONGEST]
    known = not tree or tree in TREES
    return Form(
        limits=[_limit(name).read(asked.get(name, "")) for name in LIMITS],
        stuck=[_rule(name).read(asked.get(name, "")) for name in STUCK],
        tree=tree,
        tree_error="" if known else f"There is no such tree. Known: {', '.join(TREES.names())}.",
        submitted=SUBMITTED in asked,
    )


def _limit(name: str) -> Field:
    limit = LIMITS[name]
    words = f"{limit.minimum:,} to {limit.maximum:,}"
    return Field(name, limit.label, words, limit.minimum, limit.maximum)


def _rule(name: str) -> Field:
    low, high = RULE_BOUNDS
    words = f"{low} to {high}, 0 is off; in force: {getattr(SHIPPED, name)}"
    return Field(name, STUCK[name], words, low, high, zero=True)
