"""What the page of the models does with keys, and what it asks of an endpoint."""

import hashlib
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.cache import cache

from agents.core.config import ConfigError
from agents.endpoints.model_settings import KEY, has_key, update_model_settings
from agents.endpoints.probe import list_endpoint_models, probe
from agents.endpoints.selection import model_name, select_endpoint
from agents.llm import EndpointError, EndpointNotAllowed, ModelList, get_known_window
from agents.models import ModelSettings
from agents.web.throttling import Throttled, check_rate

CACHE_SECONDS = 5 * 60
"""How long a list of models is good for."""


def save_key(user: User, secret: str, *, remove: bool) -> str:
    """Store a key, or remove it; say why not, if so."""
    if not (secret or remove):
        return "Enter the key, or leave this field as it is."
    try:
        update_model_settings(user, {KEY: "" if remove else secret})
    except ConfigError as refused:
        return refused.problems[KEY]
    return ""


# -- what the endpoint says -----------------------------------------------------------------------


def test_endpoint(user: User) -> tuple[dict[str, Any], int]:
    """Return what to say about a try, and the status of the answer."""
    chosen = ModelSettings.for_user(user)
    try:
        check_rate(user, "test")
        tried = async_to_sync(probe)(chosen)
    except Throttled as refused:
        return {"problem": str(refused), "bold": "Not tried."}, 429
    except EndpointError as error:
        hinted = _suggest_cause(chosen, error)
        return {"problem": f"{error} {hinted}".strip(), "bold": "It does not work."}, 200
    if tried is None:
        return {"said": "The embedded model needs no endpoint: it always answers."}, 200
    took = f"{tried.seconds:.1f}" if tried.seconds >= 0.1 else "less than 0.1"
    return {"said": f"{tried.model} at {tried.host} answered in {took} seconds."}, 200


def _suggest_cause(chosen: ModelSettings, error: EndpointError) -> str:
    """Return what else may be the reason, by what is known here."""
    if error.code == "auth" and chosen.provider and not has_key(chosen):
        return "You have not entered a key for it."
    return ""


def model_list_context(user: User, *, again: bool = False) -> dict[str, Any]:
    """Return the list of models, asked for or remembered; or why there is none."""
    chosen = ModelSettings.for_user(user)
    remembered = _cache_key(chosen)
    known: ModelList | None = cache.get(remembered)
    if known is None or again:
        try:
            check_rate(user, "list")
            known = async_to_sync(list_endpoint_models)(chosen)
        except (EndpointError, Throttled) as error:
            return {"list_problem": str(error)}
        cache.set(remembered, known, CACHE_SECONDS)
    return {"listing": known, "context": _find_context_size(chosen, known)}


def _cache_key(chosen: ModelSettings) -> str:
    """Return the cache key of one endpoint and API key; it tells neither."""
    try:
        place = select_endpoint(chosen)
    except EndpointNotAllowed:
        place = None
    told = f"{chosen.user_id} {place.base_url} {place.api_key}" if place else "none"
    return "models:" + hashlib.sha256(told.encode()).hexdigest()


def get_context_size(chosen: ModelSettings) -> int | None:
    """Return the context of the chosen model, as far as it is known without asking."""
    return _find_context_size(chosen, cache.get(_cache_key(chosen)))


def _find_context_size(chosen: ModelSettings, known: ModelList | None) -> int | None:
    name = model_name("", chosen)
    listed = {one.name: one.window for one in known.models} if known else {}
    return listed.get(name) or (get_known_window(name) if name else None)
