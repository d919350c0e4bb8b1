"""What if: the runs of a filter, or one, played again under other limits, another tree or other
stuck rules. Nothing is changed and no model is asked; an address with a result can be passed on."""

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.contrib.admin.options import IncorrectLookupParameters
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, QueryDict
from django.template.response import TemplateResponse

from agents.admin.access import key_of, viewer
from agents.admin.what_if_form import NAMES, Form, read
from agents.audit.recordings import recordings
from agents.charts import label
from agents.core.replay import replay
from agents.core.verdicts import Summary, Verdict, summary
from agents.models import AgentRun

MOST_RUNS = 2_000
"""The newest ones of a filter."""
MOST_SHOWN = 200
NOT_FILTERS = ("o", "p", "_facets", "e")
"""What an address of the list may say besides: order, page, and the like."""
KINDS = {
    "same": ("As recorded", "They would have ended the same way."),
    "earlier": ("Earlier", "They would have ended after fewer turns."),
    "later": ("Later", "They would have gone on, nobody knows to where: a run that was stopped "
              "cannot show what it would have done next."),
    "other": ("Another reason", "They would have ended at the same turn, for another reason."),
    "unknown": ("Unknown", "Their recordings cannot tell; why is said below."),
}  # fmt: skip


class BadFilter(Exception):
    """Something in the address is no filter of the list."""


@dataclass(frozen=True, slots=True)
class Chosen:
    """The runs that are played, and what was asked for them."""

    keys: Sequence[UUID]
    total: int
    filters: Sequence[tuple[str, str]] = ()
    run: UUID | None = None


@dataclass(frozen=True, slots=True)
class Kind:
    name: str
    meaning: str
    runs: int


@dataclass(frozen=True, slots=True)
class Change:
    """One run that would have ended otherwise."""

    id: str
    kind: str
    old: str
    new: str
    turns: str
    tokens_saved: int
    was_cut: bool


@dataclass(frozen=True, slots=True)
class Result:
    summary: Summary
    kinds: Sequence[Kind]
    reasons: Sequence[tuple[str, str, int]]
    changes: Sequence[Change]
    more_changes: int


def what_if(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    viewer(request)
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    form = read(request.GET)
    context = {**admin_site.each_context(request), "title": "What if", "form": form}
    try:
        chosen = _chosen(admin_site, request)
    except BadFilter:
        return _answer(request, context | {"bad_filter": True}, 422)
    context |= {"chosen": chosen, "most_runs": MOST_RUNS}
    if form.has_errors:
        return _answer(request, context, 422)
    if form.submitted:
        context["result"] = result(chosen.keys, form)
    return _answer(request, context, 200)


def _answer(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    name = "admin/agents/agentrun/run/what_if.html"
    return TemplateResponse(request, name, context, status=status)


# -- which runs -----------------------------------------------------------------------------------


def _chosen(admin_site: AdminSite, request: HttpRequest) -> Chosen:
    if "run" in request.GET:
        key = key_of(request.GET["run"])
        if not AgentRun.objects.filter(pk=key).exists():
            raise Http404("There is no such run.")
        return Chosen([key], 1, run=key)
    asked = {
        name: request.GET[name]
        for name in request.GET
        if name not in NAMES and name not in NOT_FILTERS
    }
    found = _listed(admin_site, request, asked)
    newest = found.queryset.order_by("-started_at", "id").values_list("pk", flat=True)
    return Chosen(list(newest[:MOST_RUNS]), found.counts.total, list(asked.items()))


def _listed(admin_site: AdminSite, request: HttpRequest, asked: dict[str, str]) -> Any:
    """The list as these filters show it, and for those who look."""
    model_admin: Any = admin_site.get_model_admin(AgentRun)
    if set(asked) - model_admin.parameters():
        raise BadFilter
    filtered, query = copy.copy(request), QueryDict(mutable=True)
    query.update(asked)
    filtered.GET = query  # type: ignore[assignment]
    try:
        return model_admin.get_changelist_instance(filtered)
    except IncorrectLookupParameters:
        raise BadFilter from None


# -- what comes of it -----------------------------------------------------------------------------


def result(keys: Sequence[UUID], form: Form) -> Result:
    verdicts = _verdicts(keys, form)
    found = summary(verdicts)
    changed = [verdict for verdict in verdicts if verdict.changes]
    return Result(
        found,
        [Kind(*KINDS[kind], number) for kind, number in found.kinds.items()],
        [(_label(old), _new(new), number) for (old, new), number in found.changes.items()],
        [_change(verdict) for verdict in changed[:MOST_SHOWN]],
        max(0, len(changed) - MOST_SHOWN),
    )


def _verdicts(keys: Sequence[UUID], form: Form) -> list[Verdict]:
    limits, tree, stuck = form.chosen_limits, form.tree or None, form.chosen_rules
    found = recordings(keys, tree=tree)
    return [replay(recording, limits=limits, tree=tree, stuck=stuck) for recording in found]


def _change(verdict: Verdict) -> Change:
    after = "?" if verdict.turn is None else str(verdict.turn)
    return Change(
        verdict.id,
        KINDS[verdict.kind][0],
        _label(verdict.old_reason),
        _new(verdict.reason),
        f"{verdict.old_turn} → {after}",
        verdict.tokens_saved,
        verdict.was_cut,
    )


def _label(code: str) -> str:
    return label(code) if code else "Not ended"


def _new(code: str) -> str:
    return label(code) if code else "Not known"
