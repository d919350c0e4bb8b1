"""Whose endpoint answers a person: the site's, their own, or none but the embedded model.

A key is kept together with the place that it was entered for, and is sent nowhere else. So it
cannot be read by pointing the settings somewhere else, and the site's key never leaves the site's
endpoint.
"""

from dataclasses import dataclass, field

from django.conf import settings

from agents.llm.addresses import NotAllowed, Place, Policy, place_of
from agents.llm.providers import PROVIDERS, base_url_of, policy_of
from agents.models import ModelSettings
from agents.models.secrets import opened, sealed

LONGEST_KEY = 500


@dataclass(frozen=True, slots=True)
class Answering:
    """An endpoint that answers somebody's questions."""

    base_url: str
    api_key: str = field(repr=False)
    is_own: bool
    """Whether it is the person's, not the site's: then where it leads has to be checked."""


def policy() -> Policy:
    """What the administrator allows."""
    return policy_of(settings.ORACLE_OWN_ENDPOINTS, tuple(settings.ORACLE_INSIDE_ENDPOINTS))


def answering(chosen: ModelSettings) -> Answering | None:
    """The endpoint of somebody's runs; None: the embedded model. NotAllowed says why not."""
    if chosen.provider:
        base_url = own_base_url(chosen)
        policy().check(base_url)
        return Answering(base_url, key_for(chosen, base_url), is_own=True)
    if not settings.ORACLE_LLM_BASE_URL:
        return None
    return Answering(settings.ORACLE_LLM_BASE_URL, settings.ORACLE_LLM_API_KEY, is_own=False)


def own_base_url(chosen: ModelSettings) -> str:
    """Where the chosen provider is; NotAllowed if that is not said."""
    base_url = base_url_of(chosen.provider, chosen.base_url)
    if not base_url:
        raise NotAllowed("The address of your own endpoint is missing. Enter its base URL.")
    return base_url


def model_name(name: str, chosen: ModelSettings) -> str:
    """The model to ask for. The site's default means nothing at another endpoint."""
    name = name or chosen.oracle_model
    if name or chosen.provider:
        return name
    return str(settings.ORACLE_LLM_MODEL)


# -- keys -----------------------------------------------------------------------------------------


def sealed_for(place: Place, key: str) -> str:
    """A key and what it is for, fit to be stored. Neither has a space in it."""
    return sealed(f"{place.origin} {key}") if key else ""


def key_for(chosen: ModelSettings, base_url: str) -> str:
    """The person's key for an endpoint; empty if they have none for this one."""
    origin, key = _opened(chosen)
    return key if key and origin == place_of(base_url).origin else ""


def key_is_for(chosen: ModelSettings) -> str:
    """The origin that the stored key was entered for; empty if there is none that can be read."""
    return _opened(chosen)[0]


def _opened(chosen: ModelSettings) -> tuple[str, str]:
    origin, _, key = opened(chosen.sealed_key).partition(" ")
    return origin, key


def needs_key(chosen: ModelSettings) -> bool:
    """Whether the chosen provider answers nobody without a key."""
    preset = PROVIDERS.get(chosen.provider)
    return preset is not None and preset.needs_key
