"""Who changed which setting, when, from what, to what."""

from dataclasses import dataclass

from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET

from agents.models import SettingChange
from settings_ui.asked import signed_in, user_of
from settings_ui.fields import AGENT, APPEARANCE, Number
from settings_ui.model_fields import MODELS

PAGE = 50
KNOWN = {**AGENT, **APPEARANCE, **MODELS}
TOKEN = "api_token"  # noqa: S105  # what the log calls it, not one
OTHERS = {TOKEN: "API token", "sealed_key": "API key"}


@dataclass(frozen=True)
class Line:
    """A change, in words."""

    change: SettingChange

    @property
    def label(self) -> str:
        name = self.change.name
        if name in KNOWN:
            return KNOWN[name].label
        return OTHERS.get(name) or name.replace("_", " ").capitalize()

    @property
    def by(self) -> str:
        """Whoever did it may have been removed since."""
        if self.change.by is None:
            return "somebody who was removed"
        return "you" if self.change.by_id == self.change.user_id else self.change.by.username

    @property
    def old(self) -> str:
        return self._words(self.change.old)

    @property
    def new(self) -> str:
        return self._words(self.change.new)

    def _words(self, value: str) -> str:
        setting = KNOWN.get(self.change.name)
        if isinstance(setting, Number):
            number = setting.read(value)
            return value if number is None else setting.words(number)
        return (setting.words(value) if setting else value) or "nothing"


@never_cache
@signed_in
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    found = SettingChange.objects.filter(user=user_of(request)).select_related("by")
    shown = Paginator(found, PAGE).get_page(request.GET.get("page"))
    context = {"section": "setting-changes", "page": shown, "lines": [Line(c) for c in shown]}
    return render(request, "settings/changes.html", context)
