"""One's own runs: the list, the way from one of them to its answer, what rules did in it, and its
way through its behaviour."""

from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET
from django_htmx.http import HTMX_STOP_POLLING

from agents.approvals import list_approvals
from agents.behaviour_log import load_trace, parse_turn
from agents.core.reasons import get_reason
from agents.models import AgentRun
from agents.projects.queries import runs_for
from agents.rule_log import load_rule_log
from agents.web.requests import HtmxRequest, get_user
from chat.markdown import RenderBudget
from chat.markdown import render as markdown
from chat.models import Exchange
from chat.rendering import quota

PAGE_SIZE = 25


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, in words."""

    run: AgentRun

    @property
    def outcome(self) -> str:
        return self.run.outcome or "running"

    @property
    def label(self) -> str:
        """The reason may be that of a package which is no longer installed."""
        if self.run.outcome is None:
            return "Running"
        return get_reason(self.run.reason).label

    @property
    def tokens(self) -> int:
        return self.run.tokens_in + self.run.tokens_out

    @property
    def duration(self) -> str:
        ended = self.run.ended_at
        return _format_duration(ended - self.run.started_at) if ended else ""


def _format_duration(time: timedelta) -> str:
    seconds = max(time.total_seconds(), 0.0)
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s"


@never_cache  # what is private does not stay behind when somebody signs out
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    own = runs_for(get_user(request)).defer("answer", "explanation", "config")
    page = Paginator(own, PAGE_SIZE).get_page(request.GET.get("page"))
    lines = [RunRow(run) for run in page]
    return render(request, "chat/pages/runs.html", {"page": page, "lines": lines})


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def run(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Go to a run's answer: in its conversation, or by itself if it is in none that is kept."""
    found = runs_for(get_user(request)).filter(pk=run_id).first()
    if found is None:
        raise Http404("You have no such run.")
    place = Exchange.all_objects.select_related("conversation").filter(run=found).first()
    if place is not None and place.conversation.deleted_at is None:
        return redirect("exchange-redirect", place.conversation_id, place.pk)
    deleted = place.conversation if place is not None else None
    said = "" if deleted else f"{found.answer}\n\n{found.explanation}"
    budget = RenderBudget()
    context = {"line": RunRow(found), "blocks": markdown(said, budget=budget), "deleted": deleted}
    quota.add_cost(budget.spent)
    return render(request, "chat/pages/run.html", context)


@never_cache
@login_required
@require_GET
def run_rules(request: HttpRequest, run_id: UUID) -> HttpResponse:
    """Show which rules fired in a run, why others did not, and who said what to whom."""
    found = runs_for(get_user(request)).filter(pk=run_id).first()
    if found is None:
        raise Http404("You have no such run.")
    context = {"line": RunRow(found), "rules": load_rule_log(found.pk), "may_read": True}
    return render(request, "chat/pages/run_rules.html", context)


@never_cache
@login_required
@require_GET
def run_behaviour(request: HtmxRequest, run_id: UUID) -> HttpResponse:
    """Draw the behaviour of a run with its way; while the run goes on, that is asked for again."""
    found = runs_for(get_user(request)).filter(pk=run_id).first()
    if found is None:
        raise Http404("You have no such run.")
    chosen = parse_turn(request.GET.get("turn", ""))
    context = {
        "run": found,
        "line": RunRow(found),
        "trace": load_trace(found, chosen),
        "approvals": list_approvals(found),
        "turn": chosen,
        "way_url": reverse("run-behaviour", args=[run_id]),
        "is_live": found.outcome is None,
        "may_read": True,
    }
    if not request.htmx:
        return render(request, "chat/pages/run_behaviour.html", context)
    status = 200 if found.outcome is None else HTMX_STOP_POLLING
    return render(request, "chat/partials/_run_path.html", context, status=status)
