"""What the page of the models does with keys, and what it asks of an endpoint."""

import hashlib
from typing import Any

from asgiref.sync import async_to_sync
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import transaction

from agents.llm.addresses import NotAllowed, place_of
from agents.llm.errors import EndpointError
from agents.llm.listing import Listing, known_window
from agents.models import ModelSettings
from agents.models.changes import change
from agents.models.secrets import hint
from agents.runtime.endpoints import (
    LONGEST_KEY,
    answering,
    key_for,
    model_name,
    own_base_url,
    policy,
    sealed_for,
)
from agents.runtime.trying import models_of, try_out
from settings_ui.often import TooOften, count

KEPT_SECONDS = 5 * 60
"""How long a list of models is good for."""


# -- keys -----------------------------------------------------------------------------------------


def key_problem(user: User, secret: str, *, removes: bool) -> str:
    """Why a key cannot be stored; it is not repeated, also not in part."""
    if removes:
        return ""
    chosen = ModelSettings.of(user)
    if not secret:
        return "Enter the key, or leave this field as it is."
    if not chosen.provider:
        return "Choose a provider first: a key is kept for one endpoint, and sent to no other."
    if len(secret) > LONGEST_KEY or not (secret.isascii() and secret.isprintable()):
        return f"A key has at most {LONGEST_KEY} characters, all ASCII. Copy it once more."
    if " " in secret:
        return "A key has no spaces. Copy it once more."
    try:
        policy().check(own_base_url(chosen))
    except NotAllowed as refused:
        return str(refused)
    return ""


def store_key(user: User, secret: str) -> None:
    chosen = ModelSettings.of(user)
    new = hint(secret)
    kept = sealed_for(place_of(own_base_url(chosen)), secret) if secret else ""
    with transaction.atomic():
        shown = {"sealed_key": (chosen.key_hint, new)}
        change(ModelSettings, user, {"sealed_key": kept}, shown=shown)
        ModelSettings.objects.filter(user=user).update(key_hint=new)


# -- what the endpoint says -----------------------------------------------------------------------


def tested(user: User) -> tuple[dict[str, Any], int]:
    """What to say about a try, and the status of the answer."""
    chosen = ModelSettings.of(user)
    try:
        count(user, "test")
        tried = async_to_sync(try_out)(chosen)
    except TooOften as refused:
        return {"problem": str(refused), "bold": "Not tried."}, 429
    except EndpointError as error:
        hinted = _hint(chosen, error)
        return {"problem": f"{error} {hinted}".strip(), "bold": "It does not work."}, 200
    if tried is None:
        return {"said": "The embedded model needs no endpoint: it always answers."}, 200
    took = f"{tried.seconds:.1f}" if tried.seconds >= 0.1 else "less than 0.1"
    return {"said": f"{tried.model} at {tried.place} answered in {took} seconds."}, 200


def _hint(chosen: ModelSettings, error: EndpointError) -> str:
    """What else may be the reason, by what is known here."""
    if error.code == "auth" and chosen.provider and not key_of(chosen):
        return "You have not entered a key for it."
    return ""


def found(user: User, *, again: bool = False) -> dict[str, Any]:
    """The list of models, asked for or remembered; or why there is none."""
    chosen = ModelSettings.of(user)
    remembered = _remembered_as(chosen)
    known: Listing | None = cache.get(remembered)
    if known is None or again:
        try:
            count(user, "list")
            known = async_to_sync(models_of)(chosen)
        except (EndpointError, TooOften) as error:
            return {"list_problem": str(error)}
        cache.set(remembered, known, KEPT_SECONDS)
    return {"listing": known, "context": _context_size(chosen, known)}


def _remembered_as(chosen: ModelSettings) -> str:
    """A list belongs to one endpoint and key; the name of it tells neither."""
    try:
        place = answering(chosen)
    except NotAllowed:
        place = None
    told = f"{chosen.user_id} {place.base_url} {place.api_key}" if place else "none"
    return "models:" + hashlib.sha256(told.encode()).hexdigest()


def context_size(chosen: ModelSettings) -> int | None:
    """The context of the chosen model, as far as it is known without asking."""
    return _context_size(chosen, cache.get(_remembered_as(chosen)))


def _context_size(chosen: ModelSettings, known: Listing | None) -> int | None:
    name = model_name("", chosen)
    listed = {one.name: one.window for one in known.models} if known else {}
    return listed.get(name) or (known_window(name) if name else None)


def key_of(chosen: ModelSettings) -> str:
    """The key that goes to somebody's own endpoint; empty if there is none for it."""
    try:
        return key_for(chosen, own_base_url(chosen)) if chosen.provider else ""
    except NotAllowed:
        return ""
