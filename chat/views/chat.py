"""The chat page, and the pieces of it that are fetched one by one."""

from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.core.config import LIMITS
from agents.models import AgentRun, ModelSettings, UserAgentConfig
from agents.projects.queries import can_write, projects_for, runs_for
from agents.runtime import list_modes
from agents.settings_service import effective_config
from agents.vault.notes import notes_for
from agents.web.requests import get_user
from chat import close_codes
from chat.conversations import queries, tree
from chat.models import Conversation
from chat.rendering import fragments, quota, thread
from chat.services.ask import MAX_QUESTION_LENGTH
from chat.services.suggestions import suggest_questions
from chat.views.current_project import (
    MAX_LISTED,
    get_current_project,
    go_into_project,
    remember_project,
)
from chat.views.helpers import get_conversation_or_404

MAIN_LIMITS = {
    "max_iterations": "iterations",
    "token_budget": "tokens",
    "timeout_seconds": "seconds",
}
"""The limits that an empty page names, in words that follow a number."""


@never_cache
@login_required
@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Show the project that was worked in last: its newest conversation, or a new one."""
    project = get_current_project(request)
    return go_into_project(request, project) if project else redirect("projects")


@never_cache
@login_required
@require_GET
def new_conversation(request: HttpRequest) -> HttpResponse:
    """Show an empty page: the conversation begins with its first question."""
    user = get_user(request)
    project = get_current_project(request)
    if project is None:
        return redirect("projects")
    draft = Conversation(pk=uuid4(), user=user, project=project)
    return _render_page(request, draft, is_new=True)


@never_cache
@login_required
@require_GET
@quota.limit_rendering
def conversation(request: HttpRequest, conversation_id: UUID) -> HttpResponse:
    return _render_page(request, get_conversation_or_404(request, conversation_id), is_new=False)


def _render_page(request: HttpRequest, shown: Conversation, *, is_new: bool) -> HttpResponse:
    remember_project(request, shown.project)
    rows = [] if is_new else tree.get_path_segment(shown.head_id).exchanges
    active = _get_active_run(shown)
    last = active or (rows[-1].run if rows else None)
    answer = thread.get_rendered_answer(last) if last else None
    prompts = [] if rows else suggest_questions(shown.project_id)
    context = {
        "conversation": shown,
        "is_new": is_new,
        "thread": thread.render_thread(shown, rows, answer),
        "meters": answer.meters if answer else fragments.render_meters(None, None),
        "close_sentences": close_codes.SENTENCES,
        "controls": fragments.render("controls", running=active is not None),
        "max_question_length": MAX_QUESTION_LENGTH,
        "prompts": prompts,
        "can_bring_notes": not (rows or prompts) and _can_bring_notes(request, shown),
        "runs": _recent_runs(shown) if is_new else (),
        **_composer_context(get_user(request), last),
        **sidebar_context(get_user(request), shown.project_id, shown.pk),
        "project": shown.project,
        "projects": projects_for(get_user(request))[:MAX_LISTED],
    }
    return render(request, "chat/pages/chat.html", context)


def _can_bring_notes(request: HttpRequest, shown: Conversation) -> bool:
    """Return whether there are none yet, and whoever asks may bring some."""
    has_notes = notes_for(shown.project_id).exists()  # none of them perhaps worth a question
    return not has_notes and can_write(get_user(request), shown.project)


def _recent_runs(shown: Conversation) -> QuerySet[AgentRun]:
    return runs_for(shown.user).filter(project=shown.project_id)[:5]


def _composer_context(user: User, last: AgentRun | None) -> dict[str, Any]:
    """Return what can be chosen in the composer, and the limits in force.

    The model stays that of the last answer; each answer names the one that gave it.
    """
    row = UserAgentConfig.for_user(user)
    config = effective_config(user, row)
    limits = [(limit.label, getattr(config, name)) for name, limit in LIMITS.items()]
    main_limits = [(words, getattr(config, name)) for name, words in MAIN_LIMITS.items()]
    own = ModelSettings.for_user(user)
    models, none = own.models, "Embedded model" if own.is_embedded else "No model chosen"
    model = last.model if last and last.model in models else next(iter(models), none)
    modes = list_modes(user)
    mode = next((each for each in modes if each.name == row.tree), modes[0])
    chosen = {"modes": modes, "mode": mode, "models": models, "model": model}
    return {**chosen, "embedded": own.is_embedded, "limits": limits, "main_limits": main_limits}


def sidebar_context(user: User, project_id: UUID | None, current: UUID | None) -> dict[str, Any]:
    """Return the sidebar's context; `busy`: a run is in progress, so the list polls."""
    found = list(queries.list_recent(user, project_id=project_id))
    busy = any(talk.running for talk in found)  # type: ignore[attr-defined]  # an annotation
    today = timezone.localdate()
    days = {"today": today, "yesterday": today - timedelta(days=1)}
    listed = {"conversations": found, "listed_project": project_id, "current": current}
    return {**listed, "busy": busy, **days}


def _get_active_run(shown: Conversation) -> AgentRun | None:
    return AgentRun.objects.filter(conversation_key=shown.pk, outcome__isnull=True).first()
