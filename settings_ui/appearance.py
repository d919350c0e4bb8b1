"""How pages look to a user."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from settings_ui import fields
from settings_ui.asked import is_piece, signed_in, user_of
from settings_ui.fields import APPEARANCE, Form
from settings_ui.views import typed


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def page(request: HttpRequest) -> HttpResponse:
    """The theme, which static/settings.js puts on the page at once."""
    user, theme = user_of(request), APPEARANCE["theme"]
    if request.method == "GET":
        return _shown(request, Form(theme, theme.stored(user)))
    form = fields.save(user, theme, typed(request), request.POST.get("seen"))
    if not is_piece(request):
        return redirect("appearance") if form.saved else _shown(request, form)
    return render(request, "settings/said.html", {"form": form}, status=form.status)


def _shown(request: HttpRequest, form: Form) -> HttpResponse:
    context = {"section": "appearance", "form": form}
    return render(request, "settings/appearance.html", context, status=form.status)
