"""The agent's limits, which save themselves. Without JavaScript every form has a button."""

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.models import UserAgentConfig
from agents.models.changes import change
from settings_ui import fields
from settings_ui.asked import is_piece, signed_in, user_of
from settings_ui.fields import AGENT, Form, Setting
from settings_ui.preview import history, preview


@never_cache
@signed_in
@require_GET
def agent(request: HttpRequest) -> HttpResponse:
    return _page(request)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def limit(request: HttpRequest, name: str) -> HttpResponse:
    """One setting: as it is stored, or with what was typed."""
    setting, user = _setting(name), user_of(request)
    if request.method == "GET":
        return _whole(request, Form(setting, setting.stored(user)))
    form = fields.save(user, setting, typed(request), request.POST.get("seen"))
    if not is_piece(request):
        return _redirected(request, form)
    return render(request, "settings/state.html", _about(request, form), status=form.status)


@signed_in
@require_POST
def reset(request: HttpRequest, name: str) -> HttpResponse:
    form = fields.reset(user_of(request), _setting(name))
    return _whole(request, form) if is_piece(request) else _redirected(request, form)


@signed_in
@require_POST
def reset_all(request: HttpRequest) -> HttpResponse:
    defaults = {name: setting.default for name, setting in AGENT.items()}
    change(UserAgentConfig, user_of(request), defaults)
    messages.success(request, "Everything here is back at its default.")
    return redirect("settings")


@never_cache
@signed_in
@require_GET
def data(request: HttpRequest) -> HttpResponse:
    return render(request, "settings/data.html", {"section": "data"})


def typed(request: HttpRequest) -> str:
    """What a form sent; if it came twice, nobody knows which one was meant."""
    values = request.POST.getlist("value")
    return values[0] if len(values) == 1 else ""


def _setting(name: str) -> Setting:
    if name not in AGENT:
        raise Http404(f"There is no setting {name}. Known: {', '.join(AGENT)}.")
    return AGENT[name]


def _whole(request: HttpRequest, form: Form) -> HttpResponse:
    """The form anew, with the value that is stored."""
    if not is_piece(request):
        return redirect("settings")
    return render(request, "settings/whole.html", _about(request, form), status=form.status)


def _about(request: HttpRequest, form: Form) -> dict[str, object]:
    """What an answer shows: the form, and what all limits mean together now."""
    row = form.row if isinstance(form.row, UserAgentConfig) else None
    config = (row or UserAgentConfig.of(user_of(request))).to_config()
    return {"form": form, "preview": preview(config)}


def _redirected(request: HttpRequest, form: Form) -> HttpResponse:
    """Without JavaScript: the page again, where the form says what went wrong."""
    if form.status != 200:
        return _page(request, form)
    messages.success(request, f"{form.setting.label}: {form.in_words} is saved.")
    return redirect("settings")


def _page(request: HttpRequest, but: Form | None = None) -> HttpResponse:
    user = user_of(request)
    context = {
        "section": "settings",
        "forms": fields.forms(user, AGENT, but),
        "preview": preview(UserAgentConfig.of(user).to_config()),
        "history": history(user),
    }
    return render(request, "settings/agent.html", context, status=but.status if but else 200)
