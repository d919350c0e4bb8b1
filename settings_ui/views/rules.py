"""Rules: the list by hook with its switches, the editor, and trying one on runs of the past."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.core.control.problems import PlacedProblem
from agents.core.control.toml import InvalidToml
from agents.core.rules.reader import MAX_RULE_LENGTH
from agents.models import ControlMode
from agents.own_rule_trials import TRIAL_DAYS, try_on_own_runs
from agents.projects.errors import ProjectError, ProjectForbidden, ProjectNotFound
from agents.projects.queries import managed_projects_for
from agents.rule_errors import (
    RuleConflict,
    RuleError,
    RuleLocked,
    RuleNotFound,
)
from agents.rule_listing import ListedRule, can_write_site_rules, get_rule
from agents.rule_service import (
    change_rule,
    check_rule,
    create_rule,
    delete_rule,
    switch_rule,
)
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from agents.web.throttling import Throttled
from settings_ui.services.rule_list import RuleRow, build_rule_list

GONE = "This rule is not there any more. Your text is not lost: save it as a new rule."
STARTER = """\
[rule]
id = "stop-after-five"
name = "Five searches are enough"
trigger = "on_turn_end"

[condition]
expression = 'history.calls.vault_search >= 5'

[[action]]
type = "stop"
message = "It has searched five times."
"""


@never_cache
@sign_in_required()
@require_GET
def page(request: HtmxRequest) -> HttpResponse:
    user = get_user(request)
    context = {"section": "rules", "modes": ControlMode.choices, **build_rule_list(user)}
    return render(request, "settings/rules.html", context)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def new(request: HtmxRequest) -> HttpResponse:
    if request.method == "GET":
        return _render_editor(request, None, STARTER)
    text = request.POST.get("text", "")
    level, _, project = request.POST.get("for", "own").partition(":")
    try:
        row = create_rule(get_user(request), text, level=level, project_id=project or None)
    except InvalidToml as error:
        return _render_editor(request, None, text, 422, problems=error.problems)
    except (RuleError, ProjectError) as refused:
        return _render_editor(request, None, text, _get_status(refused), refusal=str(refused))
    messages.success(request, f"{row.name} is stored, and {row.mode}. It holds from the next run.")
    return redirect("rules")


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def rule(request: HtmxRequest, rule_id: str) -> HttpResponse:
    """Show one rule; take another text for it, if it is still the version that they saw."""
    if request.method == "GET":
        listed = _find_rule(request, rule_id)
        return _render_editor(request, listed, listed.text)
    text = request.POST.get("text", "")
    try:
        listed = get_rule(get_user(request), rule_id)
        row = change_rule(get_user(request), listed, text, _read_version(request))
    except RuleNotFound:  # another tab has deleted it
        return _render_editor(request, None, text, 409, refusal=GONE)
    except InvalidToml as error:
        return _render_editor(request, listed, text, 422, problems=error.problems)
    except RuleConflict as conflict:
        fresh = _find_rule(request, rule_id)
        return _render_editor(request, fresh, text, 409, conflict=conflict.row)
    except RuleError as refused:
        return _render_editor(request, listed, text, _get_status(refused), refusal=str(refused))
    messages.success(request, f"{row.name} is saved. It holds from the next run on.")
    return redirect("rules")


@sign_in_required()
@require_POST
def delete(request: HtmxRequest, rule_id: str) -> HttpResponse:
    listed = _find_rule(request, rule_id)
    try:
        delete_rule(get_user(request), listed)
    except RuleError as refused:
        return _render_editor(
            request, listed, listed.text, _get_status(refused), refusal=str(refused)
        )
    messages.success(request, f"{listed.name} is deleted.")
    return redirect("rules")


@never_cache
@sign_in_required()
@require_POST
def switch(request: HtmxRequest, rule_id: str) -> HttpResponse:
    listed, mode = _find_rule(request, rule_id), request.POST.get("mode", "")
    refusal: RuleError | None = None
    try:
        listed = switch_rule(get_user(request), listed, mode)
    except RuleError as error:
        refusal = error
    if request.htmx:
        context = {"row": RuleRow(listed), "listed": listed, "refusal": refusal}
        status = 422 if refusal else 200  # which is shown
        return render(request, "settings/fragments/_rule_switched.html", context, status=status)
    if refusal:
        status = _get_status(refusal)
        return _render_editor(request, listed, listed.text, status, refusal=refusal)
    messages.success(request, f"{listed.title}: {listed.mode}, from the next run on.")
    return redirect("rules")


@never_cache
@sign_in_required()
@require_POST
def check(request: HtmxRequest) -> HttpResponse:
    """Say what is wrong with a text, while it is typed. Without JavaScript, saving says it."""
    problems = _find_problems(request.POST.get("text", ""))
    return render(request, "settings/fragments/_rule_check.html", {"problems": problems})


@never_cache
@sign_in_required()
@require_POST
def attempt(request: HtmxRequest) -> HttpResponse:
    """Try a text on one's own runs. Nothing is stored."""
    text, rule_id = request.POST.get("text", ""), request.POST.get("rule", "")
    context, status = _build_trial(get_user(request), text, request.POST.get("days", ""))
    if request.htmx:
        return render(request, "settings/fragments/_rule_trial.html", context, status=status)
    listed = _find_rule(request, rule_id) if rule_id else None
    return _render_editor(request, listed, text, status, **context)


# -- what they share ------------------------------------------------------------------------------


def _build_trial(user: User, text: str, days: str) -> tuple[dict[str, Any], int]:
    try:
        tried = check_rule(text)
        report = try_on_own_runs(user, tried, int(days) if days in ("7", "30") else 7)
    except InvalidToml as error:
        return {"problems": error.problems}, 422
    except Throttled as refused:
        return {"trial_refusal": str(refused)}, 422
    return {"trial": report, "report": report.report, "tried": tried}, 200


def _find_rule(request: HtmxRequest, rule_id: str) -> ListedRule:
    try:
        return get_rule(get_user(request), rule_id)
    except RuleNotFound as error:
        raise Http404(str(error)) from None


def _get_status(refused: RuleError | ProjectError) -> int:
    match refused:
        case RuleLocked() | ProjectForbidden():
            return 403
        case RuleNotFound() | ProjectNotFound():
            return 404
        case _:
            return 422


def _find_problems(text: str) -> Sequence[PlacedProblem]:
    try:
        check_rule(text)
    except InvalidToml as error:
        return error.problems
    return ()


def _read_version(request: HtmxRequest) -> int:
    """Return the version that a form was made of; one that says none has seen none."""
    given = request.POST.get("version", "")
    return int(given) if given.isascii() and given.isdecimal() and len(given) < 10 else 0


def _render_editor(
    request: HtmxRequest, listed: ListedRule | None, text: str, status: int = 200, **more: Any
) -> HttpResponse:
    user = get_user(request)
    context: Mapping[str, Any] = {
        "section": "rules",
        "listed": listed,
        "text": text,
        "can_edit": listed is None or listed.can_edit,
        "max_length": MAX_RULE_LENGTH,
        "projects": managed_projects_for(user).filter(archived_at__isnull=True).order_by("name"),
        "may_write_site": can_write_site_rules(user),
        "chosen_for": request.POST.get("for", "own"),
        "days": TRIAL_DAYS,
        "chosen_days": request.POST.get("days", "7"),
        "is_checked": request.method == "POST",
        **more,
    }
    return render(request, "settings/rule.html", context, status=status)
