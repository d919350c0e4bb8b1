"""The page of the models: whose endpoint, with which key, which models, and whether it works."""

from typing import Any

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from agents.llm.addresses import NotAllowed
from agents.llm.providers import PROVIDERS
from agents.models import ModelSettings
from agents.runtime.endpoints import (
    LONGEST_KEY,
    answering,
    key_is_for,
    model_name,
    needs_key,
    policy,
)
from settings_ui import fields, model_endpoint
from settings_ui.asked import is_piece, signed_in, user_of
from settings_ui.fields import Form
from settings_ui.model_fields import ASKING, ENDPOINT, MODELS, usual
from settings_ui.views import typed


@never_cache
@signed_in
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    """Without JavaScript, `?list` asks the endpoint for its models."""
    listed = model_endpoint.found(user_of(request)) if "list" in request.GET else {}
    return _page(request, **listed)


@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def setting(request: HttpRequest, name: str) -> HttpResponse:
    """One setting: as it is stored, or with what was typed."""
    if name not in MODELS:
        raise Http404(f"There is no setting {name}. Known: {', '.join(MODELS)}.")
    user = user_of(request)
    one = usual(ModelSettings.of(user))[name]
    if request.method == "GET":
        return _whole(request, Form(one, one.stored(user)))
    return _saved(request, fields.save(user, one, typed(request), request.POST.get("seen")))


@signed_in
@require_POST
def reset(request: HttpRequest, name: str) -> HttpResponse:
    if name not in MODELS:
        raise Http404(f"There is no setting {name}. Known: {', '.join(MODELS)}.")
    form = fields.reset(user_of(request), usual(ModelSettings.of(user_of(request)))[name])
    return _whole(request, form) if is_piece(request) else _saved(request, form)


@sensitive_post_parameters("value")
@never_cache
@signed_in
@require_http_methods(["GET", "POST"])
def key(request: HttpRequest) -> HttpResponse:
    """A key is taken or removed, never given back."""
    if request.method == "GET":
        return redirect("settings-models")
    user = user_of(request)
    secret = "" if "remove" in request.POST else typed(request).strip()
    problem = model_endpoint.key_problem(user, secret, removes="remove" in request.POST)
    if not problem:
        model_endpoint.store_key(user, secret)
    said: dict[str, Any] = {"key_error": problem, "key_saved": not problem}
    if is_piece(request):
        context = {**_context(request), **said, "is_answer": True}
        return render(request, "settings/models_key.html", context, status=422 if problem else 200)
    if problem:
        return _page(request, status=422, **said)
    messages.success(request, "Your key is saved." if secret else "Your key is removed.")
    return redirect("settings-models")


@never_cache
@signed_in
@require_GET
def listing(request: HttpRequest) -> HttpResponse:
    """The models that the endpoint offers, to choose from."""
    if not is_piece(request):
        return redirect("settings-models")
    found = model_endpoint.found(user_of(request), again="again" in request.GET)
    context = {**_context(request), **found, "is_piece": True}
    return render(request, "settings/models_list.html", context)


@never_cache
@signed_in
@require_POST
def test(request: HttpRequest) -> HttpResponse:
    """A real request for one token, and what became of it."""
    said, status = model_endpoint.tested(user_of(request))
    if is_piece(request):  # a sentence is the answer, whatever it says
        return render(request, "settings/models_test.html", {"test": said})
    return _page(request, test=said, status=status)


# -- answers --------------------------------------------------------------------------------------


def _context(request: HttpRequest) -> dict[str, Any]:
    """What the page and its pieces show of somebody's endpoint. Never a key."""
    chosen = ModelSettings.of(user_of(request))
    preset = PROVIDERS.get(chosen.provider)
    problem = ""
    try:
        answering(chosen)
    except NotAllowed as refused:
        problem = str(refused)
    has_key = bool(model_endpoint.key_of(chosen))
    return {
        "section": "models",
        "chosen": chosen,
        "model": model_name("", chosen),
        "provider": preset,
        "problem": problem,
        "embedded": chosen.is_embedded,
        "site_endpoint": bool(settings.ORACLE_LLM_BASE_URL),
        "may_choose": policy().own != "no",
        "has_url": preset is not None and preset.is_local,
        "has_key": has_key,
        "key_is_for": "" if has_key else key_is_for(chosen),
        "needs_key": needs_key(chosen),
        "longest_key": LONGEST_KEY,
        "may_list": not problem and not chosen.is_embedded and (has_key or not needs_key(chosen)),
        "context": model_endpoint.context_size(chosen),
    }


def _page(
    request: HttpRequest, but: Form | None = None, status: int = 200, **more: Any
) -> HttpResponse:
    user = user_of(request)
    known = usual(ModelSettings.of(user))
    made = {form.name: form for form in fields.forms(user, known, but)}
    context = {
        **_context(request),
        "endpoint_forms": [made[name] for name in ENDPOINT],
        "asking_forms": [made[name] for name in ASKING],
        **more,
    }
    context["asks_now"] = context["may_list"] and not {"listing", "list_problem"} & set(more)
    return render(request, "settings/models.html", context, status=but.status if but else status)


def _saved(request: HttpRequest, form: Form) -> HttpResponse:
    if not is_piece(request):
        if form.status != 200:
            return _page(request, form)
        messages.success(request, f"{form.setting.label}: {form.in_words} is saved.")
        return redirect("settings-models")
    context = {**_context(request), "form": form, "is_answer": True, **_rest(request, form)}
    return render(request, "settings/models_state.html", context, status=form.status)


def _whole(request: HttpRequest, form: Form) -> HttpResponse:
    """The form anew, with the value that is stored."""
    if not is_piece(request):
        return redirect("settings-models")
    context = {**_context(request), "form": form, "is_answer": True, **_rest(request, form)}
    return render(request, "settings/models_whole.html", context, status=form.status)


def _rest(request: HttpRequest, form: Form) -> dict[str, Any]:
    """The other forms that look otherwise after a change of the endpoint."""
    if not form.saved or form.name not in ENDPOINT:
        return {}
    user = user_of(request)
    known = usual(ModelSettings.of(user))
    others = {"provider": ("base_url", "oracle_model"), "base_url": ()}[form.name]
    return {
        "moved": True,
        "others": [Form(known[name], known[name].stored(user)) for name in others],
    }
