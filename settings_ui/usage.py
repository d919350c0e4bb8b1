"""What a user's own runs took in the last thirty days."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta
from statistics import median
from typing import Any

from django.contrib.auth.models import User
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.charts import (
    RUNNING,
    Chart,
    Part,
    bin_of,
    distribution,
    in_order,
    label,
    stacked,
    tone_of,
)
from agents.core.reasons import REASONS, Outcome
from agents.models import AgentRun
from settings_ui.asked import signed_in, user_of

DAYS = 30
MOST_RUNS = 1_000
"""How many runs, the newest ones, are compared with their limits."""


@dataclass
class Day:
    """One day: runs by reason, and tokens."""

    day: date
    runs: Counter[str] = field(default_factory=Counter)
    tokens_in: int = 0
    tokens_out: int = 0

    @property
    def total(self) -> int:
        return sum(self.runs.values())

    @property
    def tokens(self) -> int:
        return self.tokens_in + self.tokens_out

    @property
    def reasons(self) -> str:
        return ", ".join(f"{label(code)} {n}" for code, n in in_order(self.runs))

    @property
    def name(self) -> str:
        return f"{self.day.day} {self.day:%b}"


@dataclass(frozen=True)
class Share:
    """How much of one limit the runs used, each of its own."""

    label: str
    shares: Sequence[float]

    @property
    def middle(self) -> str:
        return f"{median(self.shares):.0%}"

    @property
    def highest(self) -> str:
        return f"{max(self.shares):.0%}"

    @property
    def close(self) -> int:
        return sum(share >= 0.9 for share in self.shares)

    @property
    def chart(self) -> Chart:
        return distribution(Counter(bin_of(share) for share in self.shares))


@never_cache
@signed_in
@require_GET
def usage(request: HttpRequest) -> HttpResponse:
    user = user_of(request)
    days = by_day(user)
    totals: Counter[str] = sum((day.runs for day in days), Counter())
    limited = sum(n for code, n in totals.items() if _outcome(code) == Outcome.LIMITED)
    context = {
        "section": "usage",
        "days": [day for day in reversed(days) if day.total],
        "total": sum(totals.values()),
        "tokens": sum(day.tokens for day in days),
        "limited": limited,
        "legend": [(label(code), n, tone_of(code)) for code, n in in_order(totals)],
        "runs_chart": _runs_chart(days),
        "tokens_chart": _tokens_chart(days),
        "shares": shares(user),
        "most_runs": MOST_RUNS,
    }
    return render(request, "settings/usage.html", context)


def by_day(user: User) -> list[Day]:
    """The last thirty days, oldest first, also those without a run."""
    first = _first_day()
    days = {day: Day(day) for day in (first + timedelta(days=n) for n in range(DAYS))}
    grouped = (
        _own(user)
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


def shares(user: User) -> list[Share]:
    """Turns, tokens and time of the newest runs, as parts of the limits they had."""
    ended = _own(user).filter(ended_at__isnull=False).order_by("-started_at")
    columns = ("turns", "tokens_in", "tokens_out", "started_at", "ended_at", "config")
    used: dict[str, list[float]] = {"Turns": [], "Tokens": [], "Time": []}
    for turns, sent, got, began, end, config in ended.values_list(*columns)[:MOST_RUNS]:
        _add(used["Turns"], turns, config.get("max_iterations"))
        _add(used["Tokens"], sent + got, config.get("token_budget"))
        _add(used["Time"], (end - began).total_seconds(), config.get("timeout_seconds"))
    return [Share(name, found) for name, found in used.items() if found]


def _add(found: list[float], used: float, limit: Any) -> None:
    if isinstance(limit, int) and limit > 0:
        found.append(max(used, 0) / limit)


def _own(user: User) -> Any:
    begin = datetime.combine(_first_day(), time.min, UTC)
    return AgentRun.objects.filter(user=user, started_at__gte=begin)


def _first_day() -> date:
    return timezone.now().astimezone(UTC).date() - timedelta(days=DAYS - 1)


def _runs_chart(days: Sequence[Day]) -> Chart:
    columns = [
        [Part(n, tone_of(code), f"{day.name}: {label(code)} {n}")
         for code, n in in_order(day.runs)]
        for day in days
    ]  # fmt: skip
    return stacked(columns, days[0].name, days[-1].name)


def _tokens_chart(days: Sequence[Day]) -> Chart:
    columns = [
        [
            Part(day.tokens_in, "sent", f"{day.name}: {day.tokens_in:,} tokens in"),
            Part(day.tokens_out, "got", f"{day.name}: {day.tokens_out:,} tokens out"),
        ]
        for day in days
    ]
    return stacked(columns, days[0].name, days[-1].name)


def _outcome(code: str) -> Outcome | None:
    return REASONS.get(code).outcome if code in REASONS else None
