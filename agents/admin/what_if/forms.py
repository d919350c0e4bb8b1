"""What to try instead: other limits, another tree, other stuck rules. Empty means as recorded.

Fields and bounds come from the one definition of the limits; a form is read strictly, and what it
cannot read is refused in words beside its field.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from agents.core.config import LIMITS
from agents.core.decisions import TREES, check_tree_name
from agents.core.registry import NotRegistered
from agents.core.stuck import DEFAULT_STUCK_RULES, RULE_BOUNDS, StuckRules

TREE_PARAM = "with_tree"
"""Not `tree`: that is a filter of the list."""
SUBMIT_PARAM = "replay"
STUCK_RULE_LABELS = {
    "identical": "Same calls, same results: iterations",
    "writing": "Same writing calls: iterations",
    "known": "Nothing but what is known: iterations",
}
MAX_INPUT_LENGTH = 200
_INTEGER_PATTERN = re.compile(r"\d{1,9}|\d{1,3}(,\d{3}){1,2}", re.ASCII)


@dataclass(frozen=True, slots=True)
class WhatIfField:
    """One value to try."""

    name: str
    label: str
    help: str
    minimum: int = 0
    maximum: int = 0
    allow_zero: bool = False
    """Whether 0 is allowed too: off."""
    raw_value: str = ""
    error: str = ""

    @property
    def value(self) -> int | None:
        return None if self.error or not self.raw_value else int(self.raw_value.replace(",", ""))

    def bind(self, raw_value: str) -> "WhatIfField":
        """The field with what somebody typed, and what is wrong with it."""
        raw_value = raw_value.strip()[:MAX_INPUT_LENGTH]
        if not raw_value:
            return self
        number = int(raw_value.replace(",", "")) if _INTEGER_PATTERN.fullmatch(raw_value) else -1
        is_fine = self.minimum <= number <= self.maximum or (self.allow_zero and number == 0)
        return replace(self, raw_value=raw_value, error="" if is_fine else self._build_error())

    def _build_error(self) -> str:
        off = ", or 0 for off" if self.allow_zero else ""
        return f"Must be a whole number from {self.minimum:,} to {self.maximum:,}{off}."


@dataclass(frozen=True, slots=True)
class WhatIfForm:
    limits: Sequence[WhatIfField]
    stuck: Sequence[WhatIfField]
    tree: str = ""
    tree_error: str = ""
    submitted: bool = False
    trees: Sequence[str] = field(default_factory=TREES.names)

    @property
    def has_errors(self) -> bool:
        return bool(self.tree_error) or any(f.error for f in (*self.limits, *self.stuck))

    @property
    def is_empty(self) -> bool:
        return not self.tree and not any(f.raw_value for f in (*self.limits, *self.stuck))

    @property
    def chosen_limits(self) -> dict[str, int]:
        return {f.name: f.value for f in self.limits if f.value is not None}

    @property
    def chosen_rules(self) -> StuckRules | None:
        chosen = {f.name: f.value for f in self.stuck if f.value is not None}
        return replace(DEFAULT_STUCK_RULES, **chosen) if chosen else None


PARAM_NAMES = frozenset({*LIMITS, *STUCK_RULE_LABELS, TREE_PARAM, SUBMIT_PARAM, "run"})
"""Parameters of the address that are not filters of the list."""


def parse_form(asked: Mapping[str, str]) -> WhatIfForm:
    """The form as an address fills it in."""
    tree = asked.get(TREE_PARAM, "").strip()[:MAX_INPUT_LENGTH]
    return WhatIfForm(
        limits=[_build_limit_field(name).bind(asked.get(name, "")) for name in LIMITS],
        stuck=[_build_rule_field(name).bind(asked.get(name, "")) for name in STUCK_RULE_LABELS],
        tree=tree,
        tree_error=_find_tree_error(tree) if tree else "",
        submitted=SUBMIT_PARAM in asked,
    )


def _find_tree_error(name: str) -> str:
    try:
        check_tree_name(name, "tree")
    except NotRegistered as error:
        return str(error)
    return ""


def _build_limit_field(name: str) -> WhatIfField:
    limit = LIMITS[name]
    words = f"{limit.minimum:,} to {limit.maximum:,}"
    return WhatIfField(name, limit.label, words, limit.minimum, limit.maximum)


def _build_rule_field(name: str) -> WhatIfField:
    low, high = RULE_BOUNDS
    words = f"{low} to {high}, 0 is off; in force: {getattr(DEFAULT_STUCK_RULES, name)}"
    return WhatIfField(name, STUCK_RULE_LABELS[name], words, low, high, allow_zero=True)
