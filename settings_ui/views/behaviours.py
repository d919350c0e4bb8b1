"""Behaviours: the list, the editor with its drawing, and trying one on a run of the past."""

from collections.abc import Mapping
from typing import Any

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.behaviour_service import (
    MAX_TEXT_LENGTH,
    BehaviourConflict,
    BehaviourError,
    BehaviourLocked,
    BehaviourNotFound,
    ListedBehaviour,
    can_write_site_behaviours,
    change_behaviour,
    check_behaviour,
    copy_text,
    create_behaviour,
    delete_behaviour,
    get_behaviour,
    list_behaviours_for,
)
from agents.behaviour_trials import TrialRefused, list_runs_to_try, try_on_run
from agents.core.behaviours import Behaviour, InvalidBehaviour
from agents.core.behaviours.outline import build_outline
from agents.core.behaviours.trace import build_trace
from agents.runtime import find_file_problems
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from agents.web.throttling import Throttled

GONE = "This behaviour is not there any more. Your text is not lost: save it as a new one."
STARTER = "shipped:plan-then-do"
GROUPS = {
    "own": "Yours",
    "site": "Of this site",
    "file": "Files of the operator's",
    "package": "Of installed packages",
    "shipped": "Come with Oracle",
}


@never_cache
@sign_in_required()
@require_GET
def page(request: HtmxRequest) -> HttpResponse:
    user = get_user(request)
    listed = list_behaviours_for(user)
    problems = find_file_problems() if can_write_site_behaviours(user) else []
    groups = {words: [e for e in listed if e.level == level] for level, words in GROUPS.items()}
    context = {
        "section": "behaviours",
        "groups": [(words, found) for words, found in groups.items() if found],
        "file_problems": [each for each in problems if each.path.startswith("behaviours")],
    }
    return render(request, "settings/behaviours.html", context)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def new(request: HtmxRequest) -> HttpResponse:
    """Start from the copy of another one; store what came of it."""
    user = get_user(request)
    if request.method == "GET":
        copied = _find(request, request.GET.get("copy", STARTER))
        taken = {each.name for each in list_behaviours_for(user)}
        return _render_editor(request, None, copy_text(copied, taken))
    text, level = request.POST.get("text", ""), request.POST.get("for", "own")
    try:
        row = create_behaviour(user, text, level=level)
    except InvalidBehaviour as error:
        return _render_editor(request, None, text, 422, problems=error.problems)
    except BehaviourError as refused:
        return _render_editor(request, None, text, _get_status(refused), refusal=str(refused))
    messages.success(request, f"{row.name} is stored: choose it as a mode in the composer.")
    return redirect("behaviours")


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def behaviour(request: HtmxRequest, behaviour_id: str) -> HttpResponse:
    """Show one; take another text for it, if it is still the version that they saw."""
    if request.method == "GET":
        listed = _find(request, behaviour_id)
        return _render_editor(request, listed, listed.text)
    text = request.POST.get("text", "")
    try:
        listed = get_behaviour(get_user(request), behaviour_id)
        row = change_behaviour(get_user(request), listed, text, _read_version(request))
    except BehaviourNotFound:  # another tab has deleted it
        return _render_editor(request, None, text, 409, refusal=GONE)
    except InvalidBehaviour as error:
        return _render_editor(request, listed, text, 422, problems=error.problems)
    except BehaviourConflict as conflict:
        fresh = _find(request, behaviour_id)
        return _render_editor(request, fresh, text, 409, conflict=conflict.row)
    except BehaviourError as refused:
        return _render_editor(request, listed, text, _get_status(refused), refusal=str(refused))
    messages.success(request, f"{row.name} is saved. It holds from the next question on.")
    return redirect("behaviours")


@sign_in_required()
@require_POST
def delete(request: HtmxRequest, behaviour_id: str) -> HttpResponse:
    listed = _find(request, behaviour_id)
    try:
        delete_behaviour(get_user(request), listed)
    except BehaviourError as refused:
        status = _get_status(refused)
        return _render_editor(request, listed, listed.text, status, refusal=str(refused))
    messages.success(request, f"{listed.name} is deleted. Runs keep the text that they began with.")
    return redirect("behaviours")


@never_cache
@sign_in_required()
@require_POST
def check(request: HtmxRequest) -> HttpResponse:
    """Say what is wrong with a text while it is typed, or draw it. Without JavaScript, saving
    says it."""
    context = _read_text(request, request.POST.get("text", ""))
    return render(request, "settings/fragments/_behaviour_check.html", context)


@never_cache
@sign_in_required()
@require_POST
def attempt(request: HtmxRequest) -> HttpResponse:
    """Try a text on a run of one's own. Nothing is stored, and no model is asked."""
    text, name = request.POST.get("text", ""), request.POST.get("behaviour", "")
    context, status = _build_trial(request, text)
    if request.htmx:
        return render(request, "settings/fragments/_behaviour_trial.html", context, status=status)
    listed = _find(request, name) if name else None
    return _render_editor(request, listed, text, status, **context)


# -- what they share ------------------------------------------------------------------------------


def _build_trial(request: HtmxRequest, text: str) -> tuple[dict[str, Any], int]:
    user = get_user(request)
    try:
        tried = _check(request, text.replace("\r\n", "\n"))
        trial = try_on_run(user, tried, request.POST.get("run", ""))
    except InvalidBehaviour as error:
        return {"problems": error.problems}, 422
    except (TrialRefused, Throttled) as refused:
        return {"trial_refusal": str(refused)}, 422
    return {"trial": trial, "trace": trial.trace, "run": trial.run, "may_read": True}, 200


def _check(request: HtmxRequest, text: str) -> Behaviour:
    """Read a text; what is only shown may have the name that it has."""
    try:
        return check_behaviour(get_user(request), text, request.POST.get("for", "own"))
    except InvalidBehaviour:
        listed = request.POST.get("behaviour", "")
        known = _find(request, listed) if listed else None
        if known is not None and known.behaviour is not None and known.text == text:
            return known.behaviour
        raise


def _read_text(request: HtmxRequest, text: str) -> dict[str, Any]:
    try:
        found = _check(request, text.replace("\r\n", "\n"))
    except InvalidBehaviour as error:
        return {"problems": error.problems}
    return {"drawn": build_trace(build_outline(found), [])}


def _find(request: HtmxRequest, behaviour_id: str) -> ListedBehaviour:
    try:
        return get_behaviour(get_user(request), behaviour_id)
    except BehaviourNotFound as error:
        raise Http404(str(error)) from None


def _get_status(refused: BehaviourError) -> int:
    match refused:
        case BehaviourLocked():
            return 403
        case BehaviourNotFound():
            return 404
        case _:
            return 422


def _read_version(request: HtmxRequest) -> int:
    """Return the version that a form was made of; one that says none has seen none."""
    given = request.POST.get("version", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0


def _render_editor(
    request: HtmxRequest, listed: ListedBehaviour | None, text: str, status: int = 200, **more: Any
) -> HttpResponse:
    user = get_user(request)
    shown = listed.behaviour if listed is not None and listed.text == text else None
    drawing = {"drawn": build_trace(build_outline(shown), [])} if shown else {}
    context: Mapping[str, Any] = {
        "section": "behaviours",
        "listed": listed,
        "text": text,
        "can_edit": listed is None or listed.can_edit,
        "max_length": MAX_TEXT_LENGTH,
        "may_write_site": can_write_site_behaviours(user),
        "chosen_for": request.POST.get("for", "own"),
        "runs": list_runs_to_try(user),
        "chosen_run": request.POST.get("run", ""),
        **(drawing or _read_text(request, text)),
        **more,
    }
    return render(request, "settings/behaviour.html", context, status=status)
