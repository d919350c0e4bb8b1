"""The page of the models: whose endpoint, with which key, which models, and whether it works."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.endpoints.keys import key_origin, needs_key
from agents.endpoints.model_settings import has_key
from agents.endpoints.selection import MAX_KEY_LENGTH, get_policy, model_name, select_endpoint
from agents.llm import PROVIDERS, EndpointNotAllowed
from agents.models import ModelSettings
from agents.web.requests import HtmxRequest, get_user, sign_in_required
from settings_ui.forms import base
from settings_ui.forms.base import SettingForm
from settings_ui.forms.models import ENDPOINT_FIELDS, MODEL_FIELDS, REQUEST_FIELDS, fields_for
from settings_ui.services import model_endpoint
from settings_ui.views.agent import submitted_value

URLS = {
    "page_url": "settings-models",
    "field_url": "model-setting",
    "reset_url": "reset-model-setting",
}
"""Names of URLs for the templates of a field."""


@never_cache
@sign_in_required()
@require_GET
def page(request: HtmxRequest) -> HttpResponse:
    """Show the page. Without JavaScript, `?list` asks the endpoint for its models."""
    listed = model_endpoint.model_list_context(get_user(request)) if "list" in request.GET else {}
    return _render_page(request, **listed)


@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def setting(request: HtmxRequest, name: str) -> HttpResponse:
    """Show one setting: as it is stored, or with what was typed."""
    if name not in MODEL_FIELDS:
        raise Http404(f"There is no setting {name}. Known: {', '.join(MODEL_FIELDS)}.")
    user = get_user(request)
    one = fields_for(ModelSettings.for_user(user))[name]
    if request.method == "GET":
        return _render_form(request, SettingForm(one, one.current_value(user)))
    return _respond_saved(
        request, base.save(user, one, submitted_value(request), request.POST.get("seen"))
    )


@sign_in_required()
@require_POST
def reset(request: HtmxRequest, name: str) -> HttpResponse:
    if name not in MODEL_FIELDS:
        raise Http404(f"There is no setting {name}. Known: {', '.join(MODEL_FIELDS)}.")
    form = base.reset(
        get_user(request), fields_for(ModelSettings.for_user(get_user(request)))[name]
    )
    return _render_form(request, form) if request.htmx else _respond_saved(request, form)


@sensitive_post_parameters("value")
@never_cache
@sign_in_required()
@require_http_methods(["GET", "POST"])
def key(request: HtmxRequest) -> HttpResponse:
    """Take or remove a key, which is never given back."""
    if request.method == "GET":
        return redirect("settings-models")
    user = get_user(request)
    secret, removes = submitted_value(request).strip(), "remove" in request.POST
    problem = model_endpoint.save_key(user, secret, remove=removes)
    said: dict[str, Any] = {"key_error": problem, "key_saved": not problem}
    if request.htmx:
        context = {**_build_context(request), **said, "is_answer": True}
        return render(
            request, "settings/partials/_key.html", context, status=422 if problem else 200
        )
    if problem:
        return _render_page(request, status=422, **said)
    messages.success(request, "Your key was removed." if removes else "Your key was saved.")
    return redirect("settings-models")


@never_cache
@sign_in_required()
@require_GET
def model_list(request: HtmxRequest) -> HttpResponse:
    """Show the models that the endpoint offers, to choose from."""
    if not request.htmx:
        return redirect("settings-models")
    found = model_endpoint.model_list_context(get_user(request), again="again" in request.GET)
    context = {**_build_context(request), **found, "is_htmx": True}
    return render(request, "settings/partials/_model_list.html", context)


@never_cache
@sign_in_required()
@require_POST
def test(request: HtmxRequest) -> HttpResponse:
    """Send a real request for one token, and show what became of it."""
    said, status = model_endpoint.test_endpoint(get_user(request))
    if request.htmx:  # a sentence is the answer, whatever it says
        return render(request, "settings/partials/_test_result.html", {"test": said})
    return _render_page(request, test=said, status=status)


# -- answers --------------------------------------------------------------------------------------


def _build_context(request: HtmxRequest) -> dict[str, Any]:
    """Return what the page and its pieces show of somebody's endpoint. Never a key."""
    chosen = ModelSettings.for_user(get_user(request))
    preset = PROVIDERS.get(chosen.provider)
    problem = ""
    try:
        select_endpoint(chosen)
    except EndpointNotAllowed as refused:
        problem = str(refused)
    own_key = has_key(chosen)
    return {
        **URLS,
        "section": "models",
        "chosen": chosen,
        "model": model_name("", chosen),
        "provider": preset,
        "problem": problem,
        "embedded": chosen.is_embedded,
        "site_endpoint": bool(settings.ORACLE_LLM_BASE_URL),
        "may_choose": get_policy().own != "no",
        "has_url": preset is not None and preset.is_local,
        "has_key": own_key,
        "key_is_for": "" if own_key else key_origin(chosen),
        "needs_key": needs_key(chosen),
        "max_key_length": MAX_KEY_LENGTH,
        "may_list": not problem and not chosen.is_embedded and (own_key or not needs_key(chosen)),
        "context": model_endpoint.get_context_size(chosen),
    }


def _render_page(
    request: HtmxRequest, replacement: SettingForm | None = None, status: int = 200, **more: Any
) -> HttpResponse:
    user = get_user(request)
    known = fields_for(ModelSettings.for_user(user))
    made = {form.name: form for form in base.build_forms(user, known, replacement)}
    context = {
        **_build_context(request),
        "endpoint_forms": [made[name] for name in ENDPOINT_FIELDS],
        "asking_forms": [made[name] for name in REQUEST_FIELDS],
        **more,
    }
    context["asks_now"] = context["may_list"] and not {"listing", "list_problem"} & set(more)
    return render(
        request,
        "settings/models.html",
        context,
        status=replacement.status if replacement else status,
    )


def _respond_saved(request: HtmxRequest, form: SettingForm) -> HttpResponse:
    if not request.htmx:
        if form.status != 200:
            return _render_page(request, form)
        messages.success(request, f"{form.setting.label}: {form.display_value} is saved.")
        return redirect("settings-models")
    context = {
        **_build_context(request),
        "form": form,
        "is_answer": True,
        **_dependents_context(request, form),
    }
    return render(request, "settings/partials/_saved.html", context, status=form.status)


def _render_form(request: HtmxRequest, form: SettingForm) -> HttpResponse:
    """Render the form again, with the value that is stored."""
    if not request.htmx:
        return redirect("settings-models")
    context = {
        **_build_context(request),
        "form": form,
        "is_answer": True,
        **_dependents_context(request, form),
    }
    return render(request, "settings/partials/_field_and_rest.html", context, status=form.status)


def _dependents_context(request: HtmxRequest, form: SettingForm) -> dict[str, Any]:
    """Return the other forms that look otherwise after a change of the endpoint."""
    if not form.saved or form.name not in ENDPOINT_FIELDS:
        return {}
    user = get_user(request)
    known = fields_for(ModelSettings.for_user(user))
    others = {"provider": ("base_url", "oracle_model"), "base_url": ()}[form.name]
    return {
        "moved": True,
        "others": [SettingForm(known[name], known[name].current_value(user)) for name in others],
    }
