"""The page of one run: why it stopped, what it used, what happened when, and what was decided.

It shows metadata only; what was said has a page of its own. Whatever is stored, it never fails: a
damaged run is shown as damaged. While a run goes on, its parts are replaced every two seconds.
"""

from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.db.models.functions import Left
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from django_htmx.http import HTMX_STOP_POLLING, HttpResponseClientRefresh

from agents.admin.error_pages import staff_view
from agents.admin.permissions import CANCEL_PERMISSION, CONTENT_PERMISSION, require_permissions
from agents.admin.run import cancel, event_rows, summary, transcript
from agents.admin.run.behaviour import load_run_trace
from agents.admin.run.decisions import build_trace
from agents.admin.run.event_table import build_event_page
from agents.admin.run.history import RunHistory
from agents.admin.run.integrity import get_integrity_status, list_audit_entries
from agents.admin.run.lookup import UnreadableRun, run_or_404
from agents.admin.run.timeline import build_timeline
from agents.approvals import list_approvals
from agents.behaviour_log import parse_turn
from agents.ledger import query_events
from agents.models import AgentRun
from agents.rule_log import load_rule_log
from agents.web.limit_levels import AMBER_PERCENT, RED_PERCENT

TEMPLATE_FOLDER = "admin/agents/run"
MAX_HINTS, HINT_CHARS = 100, 2_000
MAX_CONTINUATIONS = 20


def build_urls(admin_site: AdminSite) -> list[URLPattern]:
    """Return URLs below the list of runs; the page itself is the admin's own `change`."""
    name = "agents_agentrun_{}".format
    return [
        path("<uuid:object_id>/live/", _build_live_view(admin_site), name=name("live")),
        path(
            "<uuid:object_id>/cancel/", staff_view(admin_site, cancel.cancel), name=name("cancel")
        ),
        path(
            "<uuid:object_id>/transcript/",
            staff_view(admin_site, transcript.transcript),
            name=name("transcript"),
        ),
    ]


def run_page(model_admin: "ModelAdmin[Any]", request: HttpRequest, object_id: str) -> HttpResponse:
    """Show the whole page. The ModelAdmin's `change_view` answers with it."""
    user = require_permissions(request)
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    site = model_admin.admin_site.each_context(request)
    try:
        run = run_or_404(object_id)
    except UnreadableRun:
        return TemplateResponse(
            request, f"{TEMPLATE_FOLDER}/unreadable.html", {**site, "key": object_id}
        )
    context = {**site, **page_context(run, request, user)}
    return TemplateResponse(request, f"{TEMPLATE_FOLDER}/page.html", context)


def _build_live_view(admin_site: AdminSite) -> Any:
    """Build the view of the parts that change. Not behind the admin's own door: that would answer
    with a form to sign in, which would be put in the place of the run."""

    @never_cache
    @require_safe
    def live(request: HttpRequest, object_id: UUID) -> HttpResponse:
        try:
            if not admin_site.has_permission(request):
                raise PermissionDenied
            user = require_permissions(request)
        except PermissionDenied:
            return _refresh(403)
        try:
            run = run_or_404(object_id)
        except UnreadableRun:
            return _refresh(HTMX_STOP_POLLING)
        status = HTMX_STOP_POLLING if run.outcome is not None else 200
        context = {**page_context(run, request, user), "is_fragment": True}
        return TemplateResponse(request, f"{TEMPLATE_FOLDER}/_live.html", context, status=status)

    return live


def _refresh(status: int) -> HttpResponse:
    """Let the browser load the whole page again: it knows what to show instead."""
    response = HttpResponseClientRefresh()
    response.status_code = status
    return response


def page_context(run: AgentRun, request: HttpRequest, user: User) -> dict[str, Any]:
    """Return everything that the page shows, in a fixed number of queries."""
    began = run.started_at.timestamp()
    ended = run.ended_at.timestamp() if run.ended_at else None
    record = event_rows.load_summary(run.pk, run.last_seq, is_over=run.outcome is not None)
    history = RunHistory.from_events(record.structure, began, ended)
    entries = list_audit_entries(run.pk)
    asked, may_read = request.GET, user.has_perm(CONTENT_PERMISSION)
    turn = parse_turn(asked.get("turn", ""))
    return {
        "title": f"Run {run.pk}",
        "run": run,
        "is_live": run.outcome is None,
        "why": summary.get_stop_reason(run, history, record),
        "badges": summary.build_badges(run),
        "seconds": summary.get_duration_seconds(run),
        "limits": summary.list_limit_usage(run, history),
        "amber": AMBER_PERCENT,
        "red": RED_PERCENT,
        "usage": summary.sum_usage_by_source(history),
        "timeline": build_timeline(history, began, ended or timezone.now().timestamp()),
        "decisions": build_trace(history, began),
        "trace": load_run_trace(run, record.structure, turn, may_read=may_read),
        "approvals": list_approvals(run),
        "turn": turn,
        "hints": _load_hints(run, history, may_read=may_read),
        "rules": load_rule_log(run.pk),
        "record": record,
        "events": build_event_page(run.pk, record, run.last_seq, asked.get("page", ""), began),
        "seal": get_integrity_status(run, entries, asked="check" in asked),
        "entries": entries,
        "continuations": _load_continuations(run),
        "chat": _get_chat_url(run, user),
        "may_read": may_read,
        "may_cancel": user.has_perm(CANCEL_PERMISSION),
    }


def _load_hints(run: AgentRun, history: RunHistory, *, may_read: bool) -> list[dict[str, Any]]:
    """Return what the model was told; its words for those who may read what was said."""
    shown = history.hints[:MAX_HINTS]
    words: dict[int, str] = {}
    if may_read:
        rows = query_events([run.pk]).filter(kind="hint", seq__in=[h.seq for h in shown])
        words = dict(rows.annotate(head=Left("content", HINT_CHARS)).values_list("seq", "head"))
    return [{"hint": hint, "text": words.get(hint.seq, "")} for hint in shown]


def _load_continuations(run: AgentRun) -> list[UUID]:
    rows = AgentRun.objects.filter(continued_from=run.pk).order_by("started_at")
    return list(rows.values_list("pk", flat=True)[:MAX_CONTINUATIONS])


def _get_chat_url(run: AgentRun, user: User) -> str:
    """Return where the conversation is, for its owner."""
    if run.conversation_key is None or run.user_id != user.pk:
        return ""
    return reverse("conversation", args=[run.conversation_key])
