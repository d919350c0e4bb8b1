"""Rules: the list by hook with its switches, the editor, and trying one on runs of the past."""

import re
from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.core.rules.reader import MAX_RULE_LENGTH
from agents.models import ControlMode
from agents.own_rule_trials import TRIAL_DAYS, try_on_own_runs
from agents.projects.queries import managed_projects_for
from agents.rule_listing import RULES, ListedRule, get_rule
from agents.rule_service import change_rule, check_rule, create_rule, delete_rule, switch_rule
from agents.stored_texts import TextError
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from settings_ui.services.rule_list import RuleRow, build_rule_list
from settings_ui.views.text_editor import TextEditor, find_text, render_refusal

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
_RULE_ID = re.compile(r"""^(\s*id\s*=\s*["'])""", re.MULTILINE)


class RuleEditor(TextEditor[ListedRule]):
    kind = RULES
    template = "settings/rule.html"
    check_template = "settings/fragments/_rule_check.html"
    trial_template = "settings/fragments/_rule_trial.html"
    max_length = MAX_RULE_LENGTH

    def get(self, user: User, text_id: str) -> ListedRule:
        return get_rule(user, text_id)

    def start(self, request: HtmxRequest) -> str:
        """Begin with an example, or with the copy of another rule under an id of its own."""
        if "copy" not in request.GET:
            return STARTER
        copied = find_text(request, self, request.GET["copy"])
        return _RULE_ID.sub(r"\1my-", copied.text, count=1)

    def create(self, user: User, text: str, chosen: str) -> str:
        level, _, project = chosen.partition(":")
        row = create_rule(user, text, level=level, project_id=project or None)
        return f"{row.name} is stored, and {row.mode}. It applies from the next run on."

    def change(self, user: User, listed: ListedRule, text: str, version: int) -> str:
        row = change_rule(user, listed, text, version)
        return f"{row.name} is saved. It applies from the next run on."

    def delete(self, user: User, listed: ListedRule) -> str:
        delete_rule(user, listed)
        return f"{listed.name} is deleted."

    def read(self, request: HtmxRequest, text: str) -> dict[str, Any]:
        check_rule(text)
        return {}

    def attempt(self, request: HtmxRequest, text: str) -> dict[str, Any]:
        tried, days = check_rule(text), request.POST.get("days", "")
        trial = try_on_own_runs(get_user(request), tried, int(days) if days in ("7", "30") else 7)
        return {"trial": trial, "report": trial.report, "tried": tried}

    def build_context(
        self, request: HtmxRequest, listed: ListedRule | None, text: str
    ) -> dict[str, Any]:
        managed = managed_projects_for(get_user(request)).filter(archived_at__isnull=True)
        return {
            "projects": managed.order_by("name"),
            "days": TRIAL_DAYS,
            "chosen_days": request.POST.get("days", "7"),
            "is_checked": request.method == "POST",
        }


EDITOR = RuleEditor()


@never_cache
@sign_in_required()
@require_GET
def page(request: HtmxRequest) -> HttpResponse:
    user = get_user(request)
    context = {"section": "rules", "modes": ControlMode.choices, **build_rule_list(user)}
    return render(request, "settings/rules.html", context)


@never_cache
@sign_in_required()
@require_POST
def switch(request: HtmxRequest, rule_id: str) -> HttpResponse:
    listed, mode = find_text(request, EDITOR, rule_id), request.POST.get("mode", "")
    refusal: TextError | None = None
    try:
        listed = switch_rule(get_user(request), listed, mode)
    except TextError as error:
        refusal = error
    if request.htmx:
        context = {"row": RuleRow(listed), "listed": listed, "refusal": refusal}
        status = 422 if refusal else 200  # which is shown
        return render(request, "settings/fragments/_rule_switched.html", context, status=status)
    if refusal:
        return render_refusal(request, EDITOR, listed, listed.text, refusal)
    messages.success(request, f"{listed.title}: {listed.mode}, from the next run on.")
    return redirect("rules")
