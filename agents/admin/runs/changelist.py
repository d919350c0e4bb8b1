"""The list of runs: what a filter finds, counted once, and one page of it."""

from datetime import UTC, datetime, time, timedelta
from functools import cached_property
from typing import Any
from uuid import UUID

from django import forms
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.views.main import SEARCH_VAR, ChangeList
from django.core.paginator import InvalidPage
from django.db.models import Q, QuerySet
from django.http import HttpRequest

from agents.admin.runs.aggregates import RunCounts, count_runs
from agents.admin.runs.dashboard import Dashboard
from agents.admin.runs.date_hierarchy import DateHierarchy, build_date_hierarchy
from agents.admin.runs.filters import DateFilter, RunFilter
from agents.admin.runs.search import SearchMatch, get_titles, search
from agents.audit.event_codec import READ_ERRORS
from agents.models import AgentRun

MAX_SEARCH_LENGTH = 200
CHARTS_PARAM = "charts"
"""Set to "all" in an address, charts are of all runs that it finds."""
LIST_COLUMNS = (
    "started_at", "user", "conversation_key", "model", "tree", "config", "outcome", "reason",
    "turns", "tool_calls", "tokens_in", "tokens_out", "tokens", "duration_ms",
)  # fmt: skip
"""Columns that a line needs; question and answer are not read."""
NUMBER_COLUMNS = ("turns", "tool_calls", "tokens_in", "tokens_out", "tokens")


class SearchForm(forms.Form):
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[SEARCH_VAR] = forms.CharField(
            required=False,
            max_length=MAX_SEARCH_LENGTH,
            error_messages={"max_length": f"Search for at most {MAX_SEARCH_LENGTH} characters."},
        )


class RunList(ChangeList):
    """`queryset` is in order, for a page of it; `for_counting()` is for reading all of it."""

    search_form_class = SearchForm
    filter_specs: list[Any]

    def get_queryset(self, request: HttpRequest, exclude_parameters: Any = None) -> QuerySet[Any]:
        self.may_read = request.user.has_perm("agents.view_content")
        self.search_match = search(self.query, titles=self.may_read)
        found = super().get_queryset(request, exclude_parameters)
        return found.filter(_build_search_condition(self.search_match, counting=False))

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> list[Any]:
        """Return each column once: an address may name one a thousand times."""
        ordering = super().get_ordering(request, queryset)
        return list({str(name).lstrip("-"): name for name in reversed(ordering)}.values())[::-1]

    def for_counting(self, without: RunFilter | None = None) -> QuerySet[AgentRun]:
        """Return the same runs, or those that one filter less would show, for counting."""
        conditions = [
            spec.condition(counting=True) for spec in self.filter_specs if spec is not without
        ]
        runs = AgentRun.objects.order_by()
        return runs.filter(*conditions, _build_search_condition(self.search_match, counting=True))

    @cached_property
    def counts(self) -> RunCounts:
        return count_runs(self.for_counting())

    @cached_property
    def dashboard(self) -> Dashboard:
        return Dashboard(
            self.counts, self.for_counting(), all_runs=self.params.get(CHARTS_PARAM) == "all"
        )

    @property
    def all_charts_query(self) -> str:
        return self.get_query_string({CHARTS_PARAM: "all"})

    def get_filters_params(self, params: Any = None) -> dict[str, Any]:
        found: dict[str, Any] = super().get_filters_params(params)
        found.pop(CHARTS_PARAM, None)
        return found

    @cached_property
    def calendar(self) -> DateHierarchy | None:
        chosen = next(
            (spec.value() for spec in self.filter_specs if isinstance(spec, DateFilter)), None
        )
        return build_date_hierarchy(self.counts.days, chosen or "", self.get_query_string)

    def get_results(self, request: HttpRequest) -> None:
        paginator = self.model_admin.get_paginator(request, self.queryset, self.list_per_page)
        paginator.count = self.counts.total
        try:
            page = paginator.page(self.page_num)
        except InvalidPage as error:
            raise IncorrectLookupParameters(error) from error
        self.paginator = paginator
        self.result_count = paginator.count
        self.full_result_count = None
        self.show_full_result_count = self.can_show_all = self.show_admin_actions = False
        self.multi_page = paginator.num_pages > 1
        self.result_list = self._load_rows(self._slice(page.start_index() - 1))

    def _slice(self, skipped: int) -> QuerySet[Any]:
        """Skip so many runs without counting them one by one: whole days before are left out."""
        newest_first = next(iter(self.queryset.query.order_by), "") != "started_at"
        day, left = self.counts.find_page_start(max(skipped, 0), newest_first=newest_first)
        runs: QuerySet[Any] = self.queryset
        if day is not None and skipped > 0:
            begin = datetime.combine(day, time.min, UTC)
            end = begin + timedelta(days=1)
            runs = runs.filter(Q(started_at__lt=end) if newest_first else Q(started_at__gte=begin))
        return runs[left : left + self.list_per_page]

    def _load_rows(self, page: Any) -> list[AgentRun]:
        lines = _read_page(page.only("id", *LIST_COLUMNS).prefetch_related("user"))
        if self.may_read:
            titles = get_titles({run.conversation_key for run in lines if run.conversation_key})
            for run in lines:
                if run.conversation_key in titles:
                    vars(run)["title"] = titles[run.conversation_key]
        return lines


def _build_search_condition(found: SearchMatch | None, *, counting: bool) -> Q:
    return Q() if found is None else found.condition(counting=counting)


def _read_page(page: QuerySet[AgentRun]) -> list[AgentRun]:
    """Read one page of runs. A damaged row is shown as such, among the others."""
    try:
        return [run if _is_valid(run) else _build_damaged_row(run.pk) for run in page]
    except READ_ERRORS:
        return [_read_one(key) for key in page.values_list("pk", flat=True)]


def _read_one(key: UUID) -> AgentRun:
    try:
        run = AgentRun.objects.only("id", *LIST_COLUMNS).select_related("user").get(pk=key)
    except READ_ERRORS:
        return _build_damaged_row(key)
    return run if _is_valid(run) else _build_damaged_row(key)


def _is_valid(run: AgentRun) -> bool:
    """Check a row: SQLite keeps whatever it is given, in any column."""
    began: object = run.started_at
    numbers = [getattr(run, name) for name in NUMBER_COLUMNS]
    took = 0 if run.duration_ms is None else run.duration_ms
    return isinstance(began, datetime) and all(isinstance(n, int) for n in (*numbers, took))


def _build_damaged_row(key: UUID) -> AgentRun:
    damaged = AgentRun(pk=key, model="", tree="", config={}, reason="", outcome="")
    vars(damaged)["damaged"] = True
    return damaged
