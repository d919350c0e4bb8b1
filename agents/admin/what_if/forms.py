"""Form of a what-if trial: other limits, another tree or behaviour, other stuck rules; or a
rule, by itself. Empty means as recorded.

Fields and bounds come from the one definition of the limits; a form is read strictly, and what it
cannot read is refused in words beside its field.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from agents.core.behaviours import Behaviour
from agents.core.config import LIMITS
from agents.core.control.problems import PlacedProblem
from agents.core.control.toml import InvalidToml
from agents.core.decisions import TREES, check_tree_name
from agents.core.registry import NotRegistered
from agents.core.rules.reader import MAX_RULE_LENGTH, read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.vocabulary import is_own_event, match_events
from agents.core.stuck import DEFAULT_STUCK_RULES, RULE_BOUNDS, StuckRules
from agents.tools import registry
from agents.web.form_fields import WholeNumberField

TREE_PARAM = "with_tree"
"""Not `tree`: that is a filter of the list."""
BEHAVIOUR_PARAM = "with_behaviour"
RULE_PARAM = "with_rule"
SUBMIT_PARAM = "replay"
STUCK_RULE_LABELS = {
    "identical": "Same calls, same results: iterations",
    "writing": "Same writing calls: iterations",
    "known": "Nothing new: iterations",
    "answers": "Same results, other calls: iterations",
}
MAX_INPUT_LENGTH = 200
PARAM_NAMES = frozenset(
    {*LIMITS, *STUCK_RULE_LABELS, TREE_PARAM, BEHAVIOUR_PARAM, RULE_PARAM, SUBMIT_PARAM, "run"}
)
"""Parameters of the address that are not filters of the list."""

_NO_BEHAVIOURS: Mapping[str, Behaviour] = {}


class TriedNumberField(WholeNumberField):
    """A number within bounds, or none; with `allow_zero` also 0, which is off."""

    def __init__(
        self, minimum: int, maximum: int, *, allow_zero: bool = False, **options: Any
    ) -> None:
        super().__init__(required=False, **options)
        off = ", or 0 for off" if allow_zero else ""
        problem = f"Must be a whole number from {minimum:,} to {maximum:,}{off}."
        self.error_messages["invalid"] = problem
        self._allowed = range(minimum, maximum + 1)
        self._allow_zero = allow_zero

    def validate(self, value: int | None) -> None:
        if value is None or value in self._allowed or (self._allow_zero and value == 0):
            return
        raise ValidationError(self.error_messages["invalid"], code="invalid")

    def bound_data(self, data: Any, initial: Any) -> str:
        return str(data or "").strip()[:MAX_INPUT_LENGTH]


class TreeField(forms.ChoiceField):
    """The name of a tree, or none. They are registered while apps are loaded."""

    def __init__(self) -> None:
        super().__init__(choices=lambda: [(name, name) for name in TREES.names()], required=False)

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).strip()[:MAX_INPUT_LENGTH]

    def validate(self, value: str) -> None:
        try:
            if value:
                check_tree_name(value, "tree")
        except NotRegistered as error:
            raise ValidationError(str(error), code="invalid_choice") from None


class BehaviourField(forms.ChoiceField):
    """The name of a behaviour, or none."""

    def __init__(self, known: Mapping[str, Behaviour]) -> None:
        super().__init__(choices=[(name, name) for name in known], required=False)
        self._known = known

    def clean(self, value: Any) -> Behaviour | None:
        name = str(value or "").strip()[:MAX_INPUT_LENGTH]
        if name and name not in self._known:
            known = ", ".join(self._known)
            raise ValidationError(f"There is no behaviour {name!r} here. Known: {known}.")
        return self._known[name] if name else None


class RuleField(forms.CharField):
    """The text of a rule, or none. What is wrong with it is kept in `problems`, by place."""

    def __init__(self) -> None:
        super().__init__(required=False, strip=False)
        self.problems: tuple[PlacedProblem, ...] = ()

    def clean(self, value: Any) -> Rule | None:
        if not str(value or "").strip():
            return None
        try:
            return read_rule(str(value), tools=registry.names())
        except InvalidToml as error:
            self.problems = error.problems
            raise ValidationError("This is not a rule.", code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> str:
        return str(data or "")[: MAX_RULE_LENGTH + 1]


class WhatIfForm(forms.Form):
    """Every limit, a tree or a behaviour, and every stuck rule; or a rule."""

    def __init__(
        self,
        data: Mapping[str, str],
        *,
        behaviours: Mapping[str, Behaviour] = _NO_BEHAVIOURS,
        may_read: bool = False,
    ) -> None:
        """`may_read`: whether the one who asks may read what was said in runs."""
        super().__init__(data, auto_id="%s")
        self.submitted = SUBMIT_PARAM in data
        self._may_read = may_read
        for name in LIMITS:
            self.fields[name] = _build_limit_field(name)
        self.fields[TREE_PARAM] = TreeField()
        self.fields[BEHAVIOUR_PARAM] = BehaviourField(behaviours)
        for name in STUCK_RULE_LABELS:
            self.fields[name] = _build_rule_field(name)
        self.fields[RULE_PARAM] = RuleField()

    def clean(self) -> None:
        if self.cleaned_data.get(BEHAVIOUR_PARAM) and self.cleaned_data.get(TREE_PARAM):
            self.add_error(
                BEHAVIOUR_PARAM, "A behaviour names its decision tree: leave the tree as recorded."
            )
        rule = self.cleaned_data.get(RULE_PARAM)
        if rule is None:
            return
        if any(value not in (None, "", rule) for value in self.cleaned_data.values()):
            self.add_error(RULE_PARAM, "A rule is tried by itself: leave the fields above empty.")
        elif not self._may_read and _reads_words(rule):
            self.add_error(
                RULE_PARAM,
                "This rule looks at what was said (errors, arguments, paths, sizes). "
                "Only people who may open transcripts can try it here.",
            )

    @property
    def rule(self) -> Rule | None:
        found: Rule | None = self.cleaned_data[RULE_PARAM]
        return found

    @property
    def behaviour(self) -> Behaviour | None:
        found: Behaviour | None = self.cleaned_data[BEHAVIOUR_PARAM]
        return found

    @property
    def rule_problems(self) -> tuple[PlacedProblem, ...]:
        field = self.fields[RULE_PARAM]
        return field.problems if isinstance(field, RuleField) else ()

    @property
    def limits(self) -> list[forms.BoundField]:
        return [self[name] for name in LIMITS]

    @property
    def stuck(self) -> list[forms.BoundField]:
        return [self[name] for name in STUCK_RULE_LABELS]

    @property
    def is_empty(self) -> bool:
        return not self._get_chosen(self.fields)

    @property
    def tree(self) -> str:
        return str(self.cleaned_data[TREE_PARAM])

    @property
    def chosen_limits(self) -> dict[str, int]:
        return self._get_chosen(LIMITS)

    @property
    def chosen_rules(self) -> StuckRules | None:
        chosen = self._get_chosen(STUCK_RULE_LABELS)
        return replace(DEFAULT_STUCK_RULES, **chosen) if chosen else None

    def _get_chosen(self, names: Iterable[str]) -> dict[str, Any]:
        """Return what was filled in of these fields, once the form is valid."""
        values = {name: self.cleaned_data[name] for name in names}
        return {name: value for name, value in values.items() if value not in (None, "")}


def _reads_words(rule: Rule) -> bool:
    """Return whether a rule looks, or could look, at what people, models and tools wrote."""
    heard = [name for pattern in rule.events for name in match_events(pattern)]
    has_notes = any(name.startswith("agent.self.") for name in heard)
    return rule.reads_content or has_notes or any(map(is_own_event, rule.events))


def _build_limit_field(name: str) -> TriedNumberField:
    limit = LIMITS[name]
    words = f"{limit.minimum:,} to {limit.maximum:,}"
    return TriedNumberField(limit.minimum, limit.maximum, label=limit.label, help_text=words)


def _build_rule_field(name: str) -> TriedNumberField:
    low, high = RULE_BOUNDS
    words = f"{low} to {high}, 0 is off; in force: {getattr(DEFAULT_STUCK_RULES, name)}"
    label = STUCK_RULE_LABELS[name]
    return TriedNumberField(low, high, allow_zero=True, label=label, help_text=words)
