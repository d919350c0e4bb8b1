"""Filters of the list of runs: one value each, with counts from one query each."""

import re
from calendar import monthrange
from datetime import UTC, date, timedelta
from typing import Any, ClassVar
from uuid import UUID

from django.contrib.admin import SimpleListFilter
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.http import HttpRequest
from django.utils import timezone

from agents.admin.runs.index_hints import NoIndex, equals
from agents.core.reasons import REASONS
from agents.models import AgentRun, Project
from agents.web.reason_labels import RUNNING, reason_label

MAX_CHOICES = 50
"""Choices that a filter offers; a search finds the others."""
DELETED = "deleted"
_DATE_PATTERN = re.compile(r"(\d{4})(?:-(\d\d)(?:-(\d\d))?)?", re.ASCII)


class RunFilter(SimpleListFilter):
    """Runs that have one value in one column."""

    field: ClassVar[str]
    starts_open: ClassVar[bool] = False
    """Whether its choices are shown from the start, also where they are many."""
    template = "admin/agents/_filter.html"

    def clean(self, text: str) -> Any:
        """Return what a value of the address means; ValueError: nothing."""
        if "\0" in text or len(text) > 200:
            raise ValueError(text)
        return text

    def condition(self, *, counting: bool = False) -> Q:
        if (text := self.value()) is None:
            return Q()
        return equals(self.field, self._clean_or_raise(text), counting=counting)

    def _clean_or_raise(self, text: str) -> Any:
        try:
            return self.clean(text)
        except (ValueError, OverflowError) as error:
            raise IncorrectLookupParameters(error) from error

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(self.condition())

    def has_output(self) -> bool:
        return bool(self.lookup_choices) or self.value() is not None

    def get_facet_queryset(self, changelist: Any) -> dict[str, int]:
        """Return how many runs each choice would show, beside what else is chosen."""
        counts = dict(self._count_by_value(changelist.for_counting(without=self)))
        return {
            f"{at}__c": counts.get(self._clean_or_raise(str(value)), 0)
            for at, (value, _) in enumerate(self.lookup_choices)
        }

    def _count_by_value(self, runs: QuerySet[Any]) -> QuerySet[Any]:
        """Count by the index of its own, unless there is something else to look at."""
        column = NoIndex(F(self.field)) if runs.query.where else F(self.field)
        named: QuerySet[Any] = runs.annotate(value=column).values_list("value")
        grouped: QuerySet[Any] = named.annotate(number=Count("*"))
        return grouped


class ReasonFilter(RunFilter):
    title = "reason"
    parameter_name = field = "reason"
    starts_open = True

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        codes = dict.fromkeys(
            [*(code for code, _ in REASONS), *filter(None, distinct_values("reason"))]
        )
        return [(code, reason_label(code)) for code in codes]


class OutcomeFilter(RunFilter):
    title = "outcome"
    parameter_name = field = "outcome"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(RUNNING, reason_label(RUNNING)), *AgentRun.OUTCOMES]

    def clean(self, text: str) -> str | None:
        if text not in dict(self.lookup_choices):
            raise ValueError(text)
        return None if text == RUNNING else text


class ModelFilter(RunFilter):
    title = "model"
    parameter_name = field = "model"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in distinct_values("model")]


class TreeFilter(RunFilter):
    title = "tree"
    parameter_name = field = "tree"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, name) for name in distinct_values("tree")]


class UserFilter(RunFilter):
    title = "user"
    parameter_name = field = "user"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        people = with_runs(User.objects.order_by("username"), "user").values_list("pk", "username")
        gone = AgentRun.objects.filter(user=None).exists()
        return [*people[:MAX_CHOICES], *([(DELETED, "Deleted users")] if gone else [])]

    def clean(self, text: str) -> int | None:
        return None if text == DELETED else _parse_id(text)


class ProjectFilter(RunFilter):
    title = "project"
    parameter_name = field = "project"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[Any, str]]:
        named = with_runs(Project.objects.order_by("name"), "project").values_list("pk", "name")
        return list(named[:MAX_CHOICES])

    def clean(self, text: str) -> UUID:
        return UUID(text)


class DateFilter(RunFilter):
    """Today and the like, or what the calendar above the list chose: a year, a month, a day."""

    title = "time (UTC)"
    parameter_name = "when"
    field = "day"
    DAYS: ClassVar = {"today": 1, "7": 7, "30": 30}

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("today", "Today"), ("7", "Past 7 days"), ("30", "Past 30 days")]

    def clean(self, text: str) -> tuple[date, date]:
        """Return the first and the last day."""
        if (days := self.DAYS.get(text)) is not None:
            today = timezone.now().astimezone(UTC).date()
            return today - timedelta(days=days - 1), today
        if (found := _DATE_PATTERN.fullmatch(text)) is None:
            raise ValueError(text)
        year, month, day = (int(part or 0) for part in found.groups())
        if day:
            return date(year, month, day), date(year, month, day)
        first, last = (month, month) if month else (1, 12)
        return date(year, first, 1), date(year, last, monthrange(year, last)[1])

    def condition(self, *, counting: bool = False) -> Q:
        if (text := self.value()) is None:
            return Q()
        first, last = self._clean_or_raise(text)
        return Q(day__gte=first, day__lte=last)

    def get_facet_queryset(self, changelist: Any) -> dict[str, int]:
        first, _ = self.clean("30")
        recent = changelist.for_counting(without=self).filter(day__gte=first)
        counts = list(recent.values_list("day").annotate(number=Count("*")))
        found = {}
        for at, (value, _) in enumerate(self.lookup_choices):
            first, last = self.clean(value)
            found[f"{at}__c"] = sum(runs for day, runs in counts if first <= day <= last)
        return found


FILTERS: tuple[type[RunFilter], ...] = (
    DateFilter, OutcomeFilter, ReasonFilter, UserFilter, ModelFilter, TreeFilter, ProjectFilter,
)  # fmt: skip


def distinct_values(field: str) -> list[str]:
    """Return the values of an indexed column, jumping from one to the next: no scan."""
    table = connection.ops.quote_name(AgentRun._meta.db_table)
    column = connection.ops.quote_name(field)  # all of these are called like their columns
    query = (
        f"WITH RECURSIVE found(v) AS (SELECT min({column}) FROM {table} UNION ALL "  # noqa: S608  # names of our own columns
        f"SELECT (SELECT min({column}) FROM {table} WHERE {column} > v) FROM found "
        f"WHERE v IS NOT NULL) SELECT v FROM found WHERE v IS NOT NULL LIMIT {MAX_CHOICES}"
    )
    with connection.cursor() as cursor:
        cursor.execute(query)
        return [value for (value,) in cursor.fetchall()]


def with_runs(rows: QuerySet[Any], name: str) -> QuerySet[Any]:
    """Return those that have runs: each is looked up in the index that begins with it."""
    return rows.filter(Exists(AgentRun.objects.filter(**{name: OuterRef("pk")})))


def _parse_id(text: str) -> int:
    if not re.fullmatch(r"[0-9]{1,18}", text):
        raise ValueError(text)
    return int(text)
