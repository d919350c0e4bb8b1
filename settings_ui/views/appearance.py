"""How pages look to a user."""

from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from agents.web.requests import HtmxRequest, get_user, sign_in_required
from settings_ui.forms import base
from settings_ui.forms.agent import APPEARANCE_FIELDS
from settings_ui.forms.base import SettingForm
from settings_ui.views.agent import URLS, submitted_value


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def page(request: HtmxRequest) -> HttpResponse:
    """Show the theme, which static/js/settings.js puts on the page at once."""
    user, theme = get_user(request), APPEARANCE_FIELDS["theme"]
    if request.method == "GET":
        return _render_page(request, SettingForm(theme, theme.current_value(user)))
    form = base.save(user, theme, submitted_value(request), request.POST.get("seen"))
    if not request.htmx:
        return redirect("appearance") if form.saved else _render_page(request, form)
    return render(
        request, "settings/fragments/_status.html", {**URLS, "form": form}, status=form.status
    )


def _render_page(request: HtmxRequest, form: SettingForm) -> HttpResponse:
    context = {**URLS, "section": "appearance", "form": form}
    return render(request, "settings/appearance.html", context, status=form.status)
