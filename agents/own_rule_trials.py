"""A rule tried on somebody's own runs."""

from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import User
from django.utils import timezone

from agents.core.rules.rule import Rule
from agents.projects.queries import runs_for
from agents.rule_trials import try_rule_on_runs
from agents.tools import registry
from agents.web.throttling import check_rate
from agents.web.trial_report import TrialReport, build_report

TRIAL_DAYS = ((7, "the last 7 days"), (30, "the last 30 days"))
MAX_RUNS = 1_000
"""The newest ones."""


@dataclass(frozen=True, slots=True)
class OwnTrial:
    report: TrialReport
    days: int
    is_cut: bool
    """Whether there were more runs than are tried."""


def try_on_own_runs(user: User, rule: Rule, days: int) -> OwnTrial:
    """Return what a rule would have done in a person's runs of so many days. Throttled: not now."""
    check_rate(user, "try")
    begin = timezone.now() - timedelta(days=days)
    ended = runs_for(user).filter(started_at__gte=begin, outcome__isnull=False)
    newest = list(ended.order_by("-started_at", "pk").values_list("pk", flat=True)[: MAX_RUNS + 1])
    oldest_first = newest[:MAX_RUNS][::-1]
    trials = try_rule_on_runs(rule, oldest_first, writes=registry.tool_writes)
    return OwnTrial(build_report(trials), days, len(newest) > MAX_RUNS)
