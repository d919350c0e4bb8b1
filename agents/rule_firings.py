"""In which of somebody's runs rules have fired lately."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db.models import TextField
from django.db.models.functions import Cast
from django.utils import timezone

from agents.core.chunks import PARSE_ERRORS, EventRecord
from agents.ledger import decode_row, query_events
from agents.projects.queries import runs_for

FIRING_DAYS = 30
MAX_RUNS = 500
"""The newest ones that are looked at."""
MAX_LINKS = 5
FiringKey = tuple[str, UUID | None]
"""A rule by its key and, if it is a project's, by that: two projects may use one id."""


@dataclass(slots=True)
class RuleFirings:
    """How often a rule has fired, and in which runs, the newest first."""

    runs: Counter[UUID] = field(default_factory=Counter)
    shadow: int = 0
    """How many of the firings were only recorded."""

    @property
    def count(self) -> int:
        return self.runs.total()

    @property
    def newest(self) -> list[UUID]:
        return list(self.runs)[:MAX_LINKS]


def find_firings(user: User) -> Mapping[FiringKey, RuleFirings]:
    """Return the firings of the last thirty days in a person's own runs, by rule."""
    begin = timezone.now() - timedelta(days=FIRING_DAYS)
    recent = runs_for(user).filter(started_at__gte=begin).order_by("-started_at", "pk")
    projects = dict(recent.values_list("pk", "project_id")[:MAX_RUNS])
    ids = list(projects)
    events = query_events(ids).filter(kind="event")
    named = events.annotate(data_text=Cast("data", TextField())).filter(
        data_text__contains='"rule.fired"'
    )
    order = {run_id: at for at, run_id in enumerate(ids)}
    rows = named.values_list("run_id", "seq", "kind", "data_text", "content", "at")
    found: dict[FiringKey, RuleFirings] = {}
    for run_id, *row in sorted(rows, key=lambda row: order[row[0]]):
        _count(found, run_id, projects[run_id], _read_firing(row))
    return found


def _read_firing(row: Sequence[Any]) -> Mapping[str, Any]:
    """Return what a firing tells; nothing of one that was damaged."""
    try:
        chunk = decode_row(*row)
    except PARSE_ERRORS:
        return {}
    if isinstance(chunk, EventRecord) and chunk.name == "rule.fired":
        return chunk.told
    return {}


def _count(
    found: dict[FiringKey, RuleFirings], run_id: UUID, project_id: UUID, told: Mapping[str, Any]
) -> None:
    rule = told.get("rule")
    if not isinstance(rule, str):
        return
    key = rule, project_id if rule.startswith("project:") else None
    firings = found.setdefault(key, RuleFirings())
    firings.runs[run_id] += 1
    firings.shadow += told.get("mode") == "shadow"
