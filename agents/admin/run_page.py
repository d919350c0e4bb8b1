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

from agents.admin import cancelling, events, facts, transcript, what_if
from agents.admin.access import CANCEL, CONTENT, Unreadable, run_or_404, viewer
from agents.admin.damage import unless_damaged
from agents.admin.event_list import event_page
from agents.admin.seals import entries_of, seal
from agents.admin.story import Story
from agents.admin.timeline import timeline
from agents.admin.trace import trace
from agents.models import AgentRun, RunEvent

TEMPLATES = "admin/agents/agentrun/run"
STOP_POLLING = 286
"""htmx puts this answer into the page and asks no more."""
MOST_HINTS, HINT_CHARS = 100, 2_000
MOST_CONTINUATIONS = 20


def urls(admin_site: AdminSite) -> list[URLPattern]:
    """Below the list of runs; the page itself is the admin's own `change`."""

    def staff(view: Any, **more: Any) -> Any:
        def ask(request: HttpRequest, **kwargs: Any) -> HttpResponse:
            answer: HttpResponse = view(admin_site, request, **kwargs)
            return answer

        return admin_site.admin_view(unless_damaged(ask))

    name = "agents_agentrun_{}".format
    return [
        path("replay/", staff(what_if.what_if), name=name("replay")),
        path("<uuid:object_id>/live/", _live(admin_site), name=name("live")),
        path("<uuid:object_id>/cancel/", staff(cancelling.cancel), name=name("cancel")),
        path("<uuid:object_id>/transcript/", staff(transcript.transcript), name=name("transcript")),
    ]


def run_page(model_admin: "ModelAdmin[Any]", request: HttpRequest, object_id: str) -> HttpResponse:
    """The whole page. The ModelAdmin's `change_view` answers with it."""
    user = viewer(request)
    if request.method not in ("GET", "HEAD"):
        return HttpResponseNotAllowed(["GET", "HEAD"])
    site = model_admin.admin_site.each_context(request)
    try:
        run = run_or_404(object_id)
    except Unreadable:
        return TemplateResponse(request, f"{TEMPLATES}/unreadable.html", {**site, "key": object_id})
    context = {**site, **described(run, request, user)}
    return TemplateResponse(request, f"{TEMPLATES}/page.html", context)


def _live(admin_site: AdminSite) -> Any:
    """The parts that change. Not behind the admin's own door: that would answer with a form to
    sign in, which would be put in the place of the run."""

    @never_cache
    @require_safe
    def live(request: HttpRequest, object_id: UUID) -> HttpResponse:
        try:
            if not admin_site.has_permission(request):
                raise PermissionDenied
            user = viewer(request)
        except PermissionDenied:
            return HttpResponse(status=403, headers={"HX-Refresh": "true"})
        try:
            run = run_or_404(object_id)
        except Unreadable:
            return HttpResponse(status=STOP_POLLING, headers={"HX-Refresh": "true"})
        status = STOP_POLLING if run.outcome is not None else 200
        context = {**described(run, request, user), "is_fragment": True}
        return TemplateResponse(request, f"{TEMPLATES}/live.html", context, status=status)

    return live


def described(run: AgentRun, request: HttpRequest, user: User) -> dict[str, Any]:
    """Everything that the page shows, in a fixed number of queries."""
    began = run.started_at.timestamp()
    ended = run.ended_at.timestamp() if run.ended_at else None
    record = events.read(run.pk, run.last_seq, is_over=run.outcome is not None)
    story = Story.of(record.structure, began, ended)
    entries = entries_of(run.pk)
    asked = request.GET
    return {
        "title": f"Run {run.pk}",
        "run": run,
        "is_live": run.outcome is None,
        "why": facts.why(run, story, record),
        "badges": facts.badges(run),
        "seconds": facts.seconds(run),
        "limits": facts.limits(run, story),
        "usage": facts.usage(story),
        "timeline": timeline(story, began, ended or timezone.now().timestamp()),
        "trace": trace(story, began),
        "hints": _hints(run, story, may_read=user.has_perm(CONTENT)),
        "record": record,
        "events": event_page(run.pk, record, run.last_seq, asked.get("page", ""), began),
        "seal": seal(run, entries, asked="check" in asked),
        "entries": entries,
        "continuations": _continuations(run),
        "chat": _chat(run, user),
        "may_read": user.has_perm(CONTENT),
        "may_cancel": user.has_perm(CANCEL),
    }


def _hints(run: AgentRun, story: Story, *, may_read: bool) -> list[dict[str, Any]]:
    """What the model was told; its words for those who may read what was said."""
    shown = story.hints[:MOST_HINTS]
    words: dict[int, str] = {}
    if may_read:
        rows = RunEvent.objects.filter(run=run.pk, kind="hint", seq__in=[h.seq for h in shown])
        words = dict(rows.annotate(head=Left("content", HINT_CHARS)).values_list("seq", "head"))
    return [{"hint": hint, "text": words.get(hint.seq, "")} for hint in shown]


def _continuations(run: AgentRun) -> list[UUID]:
    rows = AgentRun.objects.filter(continued_from=run.pk).order_by("started_at")
    return list(rows.values_list("pk", flat=True)[:MOST_CONTINUATIONS])


def _chat(run: AgentRun, user: User) -> str:
    """Where the conversation is, for its owner."""
    if run.conversation_key is None or run.user_id != user.pk:
        return ""
    return reverse("conversation", args=[run.conversation_key])
