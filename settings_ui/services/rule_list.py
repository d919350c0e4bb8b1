"""The rules that hold for somebody, sorted by the moment at which they look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django.contrib.auth.models import User

from agents.core.rules.vocabulary import HOOKS
from agents.rule_firings import FIRING_DAYS, RuleFirings, find_firings
from agents.rule_listing import RULES, ListedRule, list_rules_for
from agents.runtime import find_file_problems

HOOK_LABELS = {
    "on_query_start": "When a run starts",
    "on_turn_start": "Before each iteration",
    "on_turn_end": "After each iteration",
    "on_tool_call": "Before a tool is called",
    "on_tool_complete": "After a tool call",
    "on_tool_failure": "After a tool call that failed",
    "on_session_end": "When a run has ended",
}
EVENTS_LABEL = "On certain events"
UNREADABLE_LABEL = "No longer understood: change them, or delete them"
PACKAGE_LABEL = "Comes with a package"
LEVEL_LABELS = {"shipped": "Comes with Oracle", "site": "Site", "own": "Yours"}


@dataclass(frozen=True, slots=True)
class RuleRow:
    """One rule of the list."""

    listed: ListedRule
    firings: RuleFirings = field(default_factory=RuleFirings)

    @property
    def dom_id(self) -> str:
        return f"rule-{self.listed.id.replace(':', '-')}"

    @property
    def origin(self) -> str:
        if self.listed.project is not None:
            return f"Project {self.listed.project.name}"
        if self.listed.package:
            return PACKAGE_LABEL
        return LEVEL_LABELS[self.listed.level]


def build_rule_list(user: User) -> dict[str, Any]:
    """Return what the list shows, with how often each rule has fired lately."""
    listed = list_rules_for(user)
    found = find_firings(user)
    rows = [RuleRow(each, found.get(each.firing_key, RuleFirings())) for each in listed]
    problems = find_file_problems() if RULES.may_write_site(user) else []
    return {
        "groups": _group_by_hook(rows),
        "firing_days": FIRING_DAYS,
        "file_problems": [each for each in problems if each.path.startswith("rules")],
    }


def _group_by_hook(rows: Sequence[RuleRow]) -> list[tuple[str, list[RuleRow]]]:
    groups: Mapping[str, list[RuleRow]] = {
        **{HOOK_LABELS[hook]: [] for hook in HOOKS},
        EVENTS_LABEL: [],
        UNREADABLE_LABEL: [],
    }
    for row in rows:
        rule = row.listed.rule
        label = HOOK_LABELS.get(rule.trigger, EVENTS_LABEL) if rule else UNREADABLE_LABEL
        groups[label].append(row)
    return [(label, found) for label, found in groups.items() if found]
