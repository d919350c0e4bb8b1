"""Who changed which setting, when, from what, to what."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.models import SettingChange
from agents.web.requests import get_user, sign_in_required
from settings_ui.forms.agent import AGENT_FIELDS, APPEARANCE_FIELDS
from settings_ui.forms.base import NumberSetting
from settings_ui.forms.models import MODEL_FIELDS

PAGE_SIZE = 50
FIELDS = {**AGENT_FIELDS, **APPEARANCE_FIELDS, **MODEL_FIELDS}
TOKEN_CHANGE = "api_token"  # noqa: S105  # what the log calls it, not one
OTHER_LABELS = {
    TOKEN_CHANGE: "API token",
    "sealed_key": "API key",
    "keeps_reminders": "Reminders",
}


@dataclass(frozen=True)
class ChangeRow:
    """A change, in words."""

    change: SettingChange

    @property
    def label(self) -> str:
        name = self.change.name
        if name in FIELDS:
            return FIELDS[name].label
        return OTHER_LABELS.get(name) or name.replace("_", " ").capitalize()

    @property
    def by(self) -> str:
        """Whoever did it may have been removed since."""
        if self.change.by is None:
            return "a deleted user"
        return "you" if self.change.by_id == self.change.user_id else self.change.by.username

    @property
    def old(self) -> str:
        return self._display(self.change.old)

    @property
    def new(self) -> str:
        return self._display(self.change.new)

    def _display(self, value: str) -> str:
        setting = FIELDS.get(self.change.name)
        if isinstance(setting, NumberSetting):
            number = setting.parse(value)
            return value if number is None else setting.display(number)
        return (setting.display(value) if setting else value) or "nothing"


@never_cache
@sign_in_required()
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    found = SettingChange.objects.filter(user=get_user(request)).select_related("by")
    shown = Paginator(found, PAGE_SIZE).get_page(request.GET.get("page"))
    context = {"section": "setting-changes", "page": shown, "lines": [ChangeRow(c) for c in shown]}
    return render(request, "settings/changes.html", context)
