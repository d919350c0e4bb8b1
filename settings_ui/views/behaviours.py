"""Behaviours: the list, the editor with its drawing, and trying one on a run of the past."""

from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.behaviour_service import (
    BEHAVIOURS,
    MAX_TEXT_LENGTH,
    ListedBehaviour,
    change_behaviour,
    check_behaviour,
    copy_text,
    create_behaviour,
    delete_behaviour,
    get_behaviour,
    list_behaviours_for,
)
from agents.behaviour_trials import list_runs_to_try, try_on_run
from agents.core.behaviours import Behaviour, InvalidBehaviour
from agents.core.behaviours.outline import build_outline
from agents.core.behaviours.trace import build_trace
from agents.runtime import find_file_problems
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from settings_ui.views.text_editor import TextEditor, find_text

STARTER = "shipped:plan-then-do"
GROUPS = {
    "own": "Yours",
    "site": "For everybody on this site",
    "file": "The operator's files",
    "package": "From installed packages",
    "shipped": "Shipped with Oracle",
}


class BehaviourEditor(TextEditor[ListedBehaviour]):
    kind = BEHAVIOURS
    template = "settings/behaviour.html"
    check_template = "settings/fragments/_behaviour_check.html"
    trial_template = "settings/fragments/_behaviour_trial.html"
    max_length = MAX_TEXT_LENGTH

    def get(self, user: User, text_id: str) -> ListedBehaviour:
        return get_behaviour(user, text_id)

    def start(self, request: HtmxRequest) -> str:
        """Begin with the copy of another one."""
        copied = find_text(request, self, request.GET.get("copy", STARTER))
        taken = {each.name for each in list_behaviours_for(get_user(request))}
        return copy_text(copied, taken)

    def create(self, user: User, text: str, chosen: str) -> str:
        row = create_behaviour(user, text, level=chosen)
        return f"{row.name} is stored: choose it as a mode in the composer."

    def change(self, user: User, listed: ListedBehaviour, text: str, version: int) -> str:
        row = change_behaviour(user, listed, text, version)
        return f"{row.name} is saved. It applies from the next question on."

    def delete(self, user: User, listed: ListedBehaviour) -> str:
        delete_behaviour(user, listed)
        return f"{listed.name} is deleted. Runs keep the text that they began with."

    def read(self, request: HtmxRequest, text: str) -> dict[str, Any]:
        return _draw(_check(request, text))

    def attempt(self, request: HtmxRequest, text: str) -> dict[str, Any]:
        tried = _check(request, text)
        trial = try_on_run(get_user(request), tried, request.POST.get("run", ""))
        return {"trial": trial, "trace": trial.trace, "run": trial.run, "may_read": True}

    def build_context(
        self, request: HtmxRequest, listed: ListedBehaviour | None, text: str
    ) -> dict[str, Any]:
        runs = list_runs_to_try(get_user(request))
        shown = listed.behaviour if listed is not None and listed.text == text else None
        return {
            "runs": runs,
            "can_try": bool(runs),
            "chosen_run": request.POST.get("run", ""),
            **(_draw(shown) if shown else self.inspect(request, text)),
        }


EDITOR = BehaviourEditor()


@never_cache
@sign_in_required()
@require_GET
def page(request: HtmxRequest) -> HttpResponse:
    user = get_user(request)
    listed = list_behaviours_for(user)
    problems = find_file_problems() if BEHAVIOURS.may_write_site(user) else []
    groups = {words: [e for e in listed if e.level == level] for level, words in GROUPS.items()}
    context = {
        "section": "behaviours",
        "groups": [(words, found) for words, found in groups.items() if found],
        "file_problems": [each for each in problems if each.path.startswith("behaviours")],
    }
    return render(request, "settings/behaviours.html", context)


def _check(request: HtmxRequest, text: str) -> Behaviour:
    """Read a text; what is only shown may have the name that it has."""
    try:
        return check_behaviour(get_user(request), text, request.POST.get("for", "own"))
    except InvalidBehaviour:
        listed = request.POST.get(BEHAVIOURS.noun, "")
        known = find_text(request, EDITOR, listed) if listed else None
        if known is not None and known.behaviour is not None and known.text == text:
            return known.behaviour
        raise


def _draw(behaviour: Behaviour) -> dict[str, Any]:
    return {"drawn": build_trace(build_outline(behaviour), [])}
