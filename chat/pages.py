"""The chat page, and the pieces of it that are fetched one by one."""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.core.config import LIMITS
from agents.core.decision import TREES
from agents.models import AgentRun, Membership, ModelSettings, Project, UserAgentConfig
from agents.runtime.world import notes_of
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.ranking import Document
from chat import conversations, fragments, threads, tree
from chat.asked import conversation_of, user_of
from chat.asking import LONGEST_QUESTION
from chat.calls import call_of
from chat.errors import ChatError
from chat.markdown import render as markdown
from chat.models import Conversation

PROMPTS = (
    "What is this project about, and who leads it?",
    "Which decisions were taken, and why?",
    "What could delay the next release?",
)
MAIN_LIMITS = {"max_iterations": "turns", "token_budget": "tokens", "timeout_seconds": "seconds"}
"""The limits that an empty page names, in words that follow a number."""


@never_cache
@login_required
@require_GET
def start(request: HttpRequest) -> HttpResponse:
    """The newest conversation, or a new one."""
    newest = conversations.of(user_of(request)).order_by("-updated_at", "id").first()
    return redirect("conversation", newest.pk) if newest else redirect("new")


@never_cache
@login_required
@require_GET
def new(request: HttpRequest) -> HttpResponse:
    """An empty page: the conversation begins with its first question."""
    user = user_of(request)
    project = Project.objects.filter(members=user).first()
    if project is None:
        return render(request, "chat/no_project.html", status=403)
    draft = Conversation(pk=uuid4(), user=user, project=project)
    return _page(request, draft, is_new=True)


@never_cache
@login_required
@require_GET
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    return _page(request, conversation_of(request, conversation_id), is_new=False)


def _page(request: HttpRequest, shown: Conversation, *, is_new: bool) -> HttpResponse:
    rows = [] if is_new else tree.stretch(shown.head_id).exchanges
    active = _active(shown)
    last = active or (rows[-1].run if rows else None)
    answer = threads.read(last) if last else None
    context = {
        "conversation": shown,
        "is_new": is_new,
        "thread": threads.thread(shown, rows, answer),
        "meters": fragments.meters(answer, last),
        "controls": fragments.render("controls", running=active is not None),
        "most": LONGEST_QUESTION,
        "prompts": PROMPTS,
        "runs": AgentRun.objects.filter(user=user_of(request).pk)[:5] if is_new else (),
        **_choices(user_of(request), last),
        **_sidebar(user_of(request), shown.pk),
    }
    return render(request, "chat/page.html", context)


def _choices(user: User, last: AgentRun | None) -> dict[str, Any]:
    """What can be chosen in the composer, and the limits in force.

    The model stays that of the last answer; each answer names the one that gave it.
    """
    row = UserAgentConfig.of(user)
    limits = [(limit.label, getattr(row, name)) for name, limit in LIMITS.items()]
    main_limits = [(words, getattr(row, name)) for name, words in MAIN_LIMITS.items()]
    own = ModelSettings.of(user)
    models, none = own.models, "Embedded model" if own.is_embedded else "No model chosen"
    model = last.model if last and last.model in models else next(iter(models), none)
    chosen = {"trees": TREES.names(), "tree": row.tree, "models": models, "model": model}
    return {**chosen, "embedded": own.is_embedded, "limits": limits, "main_limits": main_limits}


def _sidebar(user: User, current: UUID | None) -> dict[str, Any]:
    """`busy`: something is going on in one of them, so the list looks again by itself."""
    found = list(conversations.newest(user))
    busy = any(talk.running for talk in found)  # type: ignore[attr-defined]  # an annotation
    today = timezone.localdate()
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    return {"conversations": found, "current": current, "busy": busy, **days}


def _active(shown: Conversation) -> AgentRun | None:
    return AgentRun.objects.filter(conversation_key=shown.pk, outcome__isnull=True).first()


# -- pieces ---------------------------------------------------------------------------------------


def _piece(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Whoever was signed out gets nothing, rather than a page to sign in inside of their page."""
    asked = login_required(view)

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if request.headers.get("HX-Request") and not request.user.is_authenticated:
            return HttpResponse(status=204)
        return asked(request, *args, **kwargs)

    return answer


@never_cache
@_piece
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """The sidebar's list."""
    current = request.GET.get("current", "")
    user = user_of(request)
    return render(request, "chat/list.html", {**_sidebar(user, None), "current": current})


@never_cache
@_piece
@require_GET
def earlier(request: HttpRequest, conversation_id: UUID, exchange_id: UUID) -> HttpResponse:
    """The exchanges before the ones that a page has."""
    shown = conversation_of(request, conversation_id)
    try:
        last = conversations.get_exchange(user_of(request), exchange_id)
    except ChatError as error:
        raise Http404(str(error)) from None
    if last.conversation_id != shown.pk:
        raise Http404("That exchange is not in this conversation.")
    rows = tree.stretch(last.pk).exchanges
    context = {
        "conversation": shown,
        "earlier": rows[0].parent_id if rows else None,
        "exchanges": threads.exchanges(rows),
    }
    return render(request, "chat/earlier.html", context)


@never_cache
@_piece
@require_GET
def call(request: HttpRequest, run_id: UUID, number: int) -> HttpResponse:
    """What a tool call got and gave."""
    user = user_of(request).pk
    run = AgentRun.objects.filter(pk=run_id, user=user, project__members=user).first()
    found = call_of(run.pk, number) if run is not None else None
    if found is None:
        raise Http404("There is no such call of yours.")
    whole = "all" in request.GET
    template = "chat/call.html" if request.headers.get("HX-Request") else "chat/call_page.html"
    return render(request, template, {"call": found, "run": run, "number": number, "whole": whole})


@never_cache
@login_required
@require_GET
def note(request: HttpRequest, project_id: UUID, path: str) -> HttpResponse:
    """A note of a project, as it is now."""
    place = Membership.objects.filter(project=project_id, user=user_of(request).pk)
    membership = place.select_related("project").first()
    if membership is None:
        raise Http404("There is no such project of yours.")
    try:
        text = notes_of(membership.project).read(path)
    except (ToolFailed, ToolRefused):
        raise Http404("There is no such note.") from None
    document = Document(path, text)
    context = {
        "path": path,
        "project": membership.project,
        "blocks": markdown("\n".join(document.lines[document.front :])),
        "lines": list(enumerate(document.lines, start=1)),
    }
    return render(request, "chat/note.html", context)
