"""Usage of a user's own runs in the last thirty days."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.core.reasons import REASONS, Outcome
from agents.models import AgentRun
from agents.web.charts import BarSegment, Chart, stacked_chart
from agents.web.limit_usage import PERCENT_COLUMNS, LimitDistribution, build_distributions
from agents.web.reason_labels import (
    RUNNING,
    CountsByReason,
    reason_legend,
    reason_segments,
)
from agents.web.requests import get_user, sign_in_required

DAYS = 30
MAX_RUNS = 1_000
"""How many runs, the newest ones, are compared with their limits."""


@dataclass
class DailyUsage(CountsByReason):
    """One day: runs by reason, and tokens."""

    day: date
    runs: Counter[str] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def name(self) -> str:
        return f"{self.day.day} {self.day:%b}"


@never_cache
@sign_in_required()
@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    user = get_user(request)
    days = get_daily_usage(user)
    totals: Counter[str] = sum((day.runs for day in days), Counter())
    limited = sum(n for code, n in totals.items() if _get_outcome(code) == Outcome.LIMITED)
    context = {
        "section": "usage",
        "days": [day for day in reversed(days) if day.total],
        "total": sum(totals.values()),
        "tokens": sum(day.tokens for day in days),
        "limited": limited,
        "legend": reason_legend(totals),
        "runs_chart": _runs_chart(days),
        "tokens_chart": _tokens_chart(days),
        "shares": get_limit_shares(user),
        "max_runs": MAX_RUNS,
    }
    return render(request, "settings/usage.html", context)


def get_daily_usage(user: User) -> list[DailyUsage]:
    """Return the last thirty days, oldest first, also those without a run."""
    first = _first_day()
    days = {day: DailyUsage(day) for day in (first + timedelta(days=n) for n in range(DAYS))}
    grouped = (
        _recent_runs(user)
        .order_by()
        .values("outcome", "reason", "day")
        .annotate(runs=Count("pk"), sent=Sum("tokens_in"), got=Sum("tokens_out"))
    )
    for row in grouped:
        if (day := days.get(row["day"])) is not None:
            day.runs[row["reason"] if row["outcome"] else RUNNING] += row["runs"]
            day.tokens_in += row["sent"]
            day.tokens_out += row["got"]
    return list(days.values())


def get_limit_shares(user: User) -> list[LimitDistribution]:
    """Return iterations, tokens and time of the newest runs, as parts of the limits they had."""
    ended = _recent_runs(user).filter(ended_at__isnull=False).order_by("-started_at")
    return build_distributions(list(ended.values_list(*PERCENT_COLUMNS)[:MAX_RUNS]))


def _recent_runs(user: User) -> Any:
    begin = datetime.combine(_first_day(), time.min, UTC)
    return AgentRun.objects.filter(user=user, started_at__gte=begin)


def _first_day() -> date:
    return timezone.now().astimezone(UTC).date() - timedelta(days=DAYS - 1)


def _runs_chart(days: Sequence[DailyUsage]) -> Chart:
    columns = [list(reason_segments(day.runs, f"{day.name}: ")) for day in days]
    return stacked_chart(columns, days[0].name, days[-1].name)


def _tokens_chart(days: Sequence[DailyUsage]) -> Chart:
    columns = [
        [
            BarSegment(day.tokens_in, "sent", f"{day.name}: {day.tokens_in:,} tokens in"),
            BarSegment(day.tokens_out, "got", f"{day.name}: {day.tokens_out:,} tokens out"),
        ]
        for day in days
    ]
    return stacked_chart(columns, days[0].name, days[-1].name)


def _get_outcome(code: str) -> Outcome | None:
    return REASONS.get(code).outcome if code in REASONS else None
