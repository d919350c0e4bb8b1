"""What if: the runs of a filter, or one, played again under other limits, another tree or
behaviour, other stuck rules, or a rule. Nothing is changed and no model is asked; an address with a
result can be passed on."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse

from agents.admin.filtered_list import InvalidFilter, build_filtered_list, get_filters
from agents.admin.permissions import CONTENT_PERMISSION, require_permissions
from agents.admin.run.lookup import parse_run_id
from agents.admin.what_if.forms import PARAM_NAMES, WhatIfForm
from agents.behaviour_replay import replay_behaviour
from agents.core.behaviours import Behaviour
from agents.core.replay.engine import replay
from agents.core.replay.result import Summary, Verdict, summarize
from agents.models import AgentRun
from agents.replay_source import load_recordings
from agents.rule_trials import try_rule_on_runs
from agents.runtime import list_behaviours, list_common_behaviours
from agents.tools import registry
from agents.web.reason_labels import reason_label
from agents.web.trial_report import build_report

MAX_RUNS = 2_000
"""The newest ones of a filter."""
MAX_LISTED = 200
MAX_BEHAVIOUR_SECONDS = 20.0
"""Of the processor: a behaviour may visit many nodes for each iteration."""
KINDS = {
    "same": ("As recorded", "They would have ended the same way."),
    "earlier": ("Earlier", "They would have ended after fewer iterations."),
    "later": ("Later", "They would have continued: the recording of a stopped run "
              "cannot show what it would have done next."),
    "other": ("Another reason", "They would have ended at the same iteration, for another reason."),
    "unknown": ("Unknown", "Their recordings do not show it; the reasons are below."),
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class RunSelection:
    """The runs that are played, and what was asked for them."""

    keys: Sequence[UUID]
    total: int
    filters: Sequence[tuple[str, str]] = ()
    run: UUID | None = None


@dataclass(frozen=True, slots=True)
class VerdictCount:
    name: str
    meaning: str
    runs: int


@dataclass(frozen=True, slots=True)
class ChangedRun:
    """One run that would have ended otherwise."""

    id: str
    kind: str
    old: str
    new: str
    turns: str
    tokens_saved: int
    was_cut: bool


@dataclass(frozen=True, slots=True)
class WhatIfResult:
    summary: Summary
    kinds: Sequence[VerdictCount]
    reasons: Sequence[tuple[str, str, int]]
    changes: Sequence[ChangedRun]
    more_changes: int


def what_if(admin_site: AdminSite, request: HttpRequest) -> HttpResponse:
    user = require_permissions(request)
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    may_read = user.has_perm(CONTENT_PERMISSION)
    known = _list_known(user, may_read=may_read)
    form = WhatIfForm(request.GET.dict(), behaviours=known, may_read=may_read)
    context = {**admin_site.each_context(request), "title": "What if", "form": form}
    try:
        chosen = _select_runs(admin_site, request)
    except InvalidFilter:
        return _render_page(request, context | {"bad_filter": True}, 422)
    context |= {"chosen": chosen, "max_runs": MAX_RUNS}
    if not form.is_valid():
        return _render_page(request, context, 422)
    if form.submitted and (rule := form.rule) is not None:
        oldest_first = chosen.keys[::-1]
        trials = try_rule_on_runs(rule, oldest_first, writes=registry.tool_writes)
        context["report"] = build_report(trials)
    elif form.submitted:
        context["result"] = run_what_if(chosen.keys, form)
    return _render_page(request, context, 200)


def _render_page(request: HttpRequest, context: dict[str, Any], status: int) -> HttpResponse:
    name = "admin/agents/what_if/page.html"
    return TemplateResponse(request, name, context, status=status)


def _list_known(user: User, *, may_read: bool) -> dict[str, Behaviour]:
    """Return what can be tried. One that somebody writes in a page could ask for what was said,
    letter by letter, so those are only for people who may read that."""
    found = list_behaviours(user) if may_read else list_common_behaviours()
    return {entry.name: entry.behaviour for entry in found if entry.behaviour is not None}


# -- which runs -----------------------------------------------------------------------------------


def _select_runs(admin_site: AdminSite, request: HttpRequest) -> RunSelection:
    if "run" in request.GET:
        key = parse_run_id(request.GET["run"])
        if not AgentRun.objects.filter(pk=key).exists():
            raise Http404("There is no such run.")
        return RunSelection([key], 1, run=key)
    asked = get_filters(request, besides=PARAM_NAMES)
    found = build_filtered_list(admin_site.get_model_admin(AgentRun), request, asked)
    newest = found.queryset.order_by("-started_at", "id").values_list("pk", flat=True)
    return RunSelection(list(newest[:MAX_RUNS]), found.counts.total, list(asked.items()))


# -- what comes of it -----------------------------------------------------------------------------


def run_what_if(keys: Sequence[UUID], form: WhatIfForm) -> WhatIfResult:
    verdicts = list(_replay_runs(keys, form))
    found = summarize(verdicts)
    changed = [verdict for verdict in verdicts if verdict.changes]
    return WhatIfResult(
        found,
        [VerdictCount(*KINDS[kind], number) for kind, number in found.kinds.items()],
        [
            (_old_reason_label(old), _new_reason_label(new), number)
            for (old, new), number in found.changes.items()
        ],
        [_build_changed_run(verdict) for verdict in changed[:MAX_LISTED]],
        max(0, len(changed) - MAX_LISTED),
    )


def _replay_runs(keys: Sequence[UUID], form: WhatIfForm) -> Iterable[Verdict]:
    limits, tree, stuck = form.chosen_limits, form.tree or None, form.chosen_rules
    if (behaviour := form.behaviour) is not None:
        return replay_behaviour(
            behaviour,
            keys,
            writes=registry.tool_writes,
            limits=limits,
            stuck=stuck,
            max_seconds=MAX_BEHAVIOUR_SECONDS,
        )
    found = load_recordings(keys, tree=tree)
    return (replay(recording, limits=limits, tree=tree, stuck=stuck) for recording in found)


def _build_changed_run(verdict: Verdict) -> ChangedRun:
    after = "?" if verdict.turn is None else str(verdict.turn)
    return ChangedRun(
        verdict.id,
        KINDS[verdict.kind][0],
        _old_reason_label(verdict.old_reason),
        _new_reason_label(verdict.reason),
        f"{verdict.old_turn} → {after}",
        verdict.tokens_saved,
        verdict.was_cut,
    )


def _old_reason_label(code: str) -> str:
    return reason_label(code) if code else "Not ended"


def _new_reason_label(code: str) -> str:
    return reason_label(code) if code else "Not known"
