"""The agent's limits, which save themselves. Without JavaScript every form has a button."""

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.models import UserAgentConfig
from agents.settings_service import update_settings
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from settings_ui.forms import base
from settings_ui.forms.agent import AGENT_FIELDS
from settings_ui.forms.base import SettingField, SettingForm
from settings_ui.limits_summary import describe_limits, get_recent_runs
from settings_ui.setting_effects import config_in_mode, describe_effects

URLS = {"page_url": "settings", "field_url": "setting", "reset_url": "reset-setting"}
"""Names of URLs for the templates of a field."""


@never_cache
@sign_in_required()
@require_GET
def agent(request: HtmxRequest) -> HttpResponse:
    return _render_page(request)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def limit(request: HtmxRequest, name: str) -> HttpResponse:
    """Show one setting: as it is stored, or with what was typed."""
    setting, user = _get_field(name), get_user(request)
    if request.method == "GET":
        shown = SettingForm(setting.bind(user), setting.current_value(user))
        return _render_form(request, shown)
    form = base.save(user, setting, submitted_value(request), request.POST.get("seen"))
    if not request.htmx:
        return _redirect_after_save(request, form)
    return render(
        request, "settings/partials/_saved.html", _state_context(request, form), status=form.status
    )


@sign_in_required()
@require_POST
def reset(request: HtmxRequest, name: str) -> HttpResponse:
    form = base.reset(get_user(request), _get_field(name))
    return _render_form(request, form) if request.htmx else _redirect_after_save(request, form)


@sign_in_required()
@require_POST
def reset_all(request: HtmxRequest) -> HttpResponse:
    defaults = {name: setting.default for name, setting in AGENT_FIELDS.items()}
    update_settings(UserAgentConfig, get_user(request), defaults)
    messages.success(request, "Everything here is back to its default.")
    return redirect("settings")


def submitted_value(request: HtmxRequest) -> str:
    """Return what a form sent; if it came twice, nobody knows which one was meant."""
    values = request.POST.getlist("value")
    return values[0] if len(values) == 1 else ""


def _get_field(name: str) -> SettingField:
    if name not in AGENT_FIELDS:
        raise Http404(f"There is no setting {name}. Known: {', '.join(AGENT_FIELDS)}.")
    return AGENT_FIELDS[name]


def _render_form(request: HtmxRequest, form: SettingForm) -> HttpResponse:
    """Render the form again, with the value that is stored."""
    if not request.htmx:
        return redirect("settings")
    return render(
        request,
        "settings/partials/_field_and_rest.html",
        _state_context(request, form),
        status=form.status,
    )


def _state_context(request: HtmxRequest, form: SettingForm) -> dict[str, object]:
    """Return what an answer shows: the form, and what all limits mean together now."""
    user = get_user(request)
    row = form.row if isinstance(form.row, UserAgentConfig) else UserAgentConfig.for_user(user)
    found = describe_effects(user, row, changed=form.name)
    form.effect = next((meaning for meaning in found if meaning.name == form.name), None)
    return {
        **URLS,
        "form": form,
        "preview": describe_limits(config_in_mode(user, row)),
        "meanings": found,
    }


def _redirect_after_save(request: HtmxRequest, form: SettingForm) -> HttpResponse:
    """Redirect without JavaScript: to the page, where the form says what went wrong."""
    if form.status != 200:
        return _render_page(request, form)
    messages.success(request, f"{form.setting.label}: {form.display_value} is saved.")
    return redirect("settings")


def _render_page(request: HtmxRequest, replacement: SettingForm | None = None) -> HttpResponse:
    user = get_user(request)
    row = UserAgentConfig.for_user(user)
    told = {meaning.name: meaning for meaning in describe_effects(user, row)}
    forms = base.build_forms(user, AGENT_FIELDS, replacement)
    for form in forms:
        form.effect = told.get(form.name)
    context = {
        **URLS,
        "section": "settings",
        "forms": forms,
        "preview": describe_limits(config_in_mode(user, row)),
        "history": get_recent_runs(user),
    }
    return render(
        request, "settings/agent.html", context, status=replacement.status if replacement else 200
    )
