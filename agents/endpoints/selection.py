"""Whose endpoint answers a person: the site's, their own, or none but the embedded model.

A key is kept together with the place that it was entered for, and is sent nowhere else. So it
cannot be read by pointing the settings somewhere else, and the site's key never leaves the site's
endpoint.
"""

from dataclasses import dataclass, field

import httpx
from django.conf import settings

from agents.core.clock import LoopClock
from agents.endpoints.keys import decrypt_key
from agents.llm import (
    EndpointNotAllowed,
    EndpointPolicy,
    OpenAIChatModel,
    build_policy,
    resolve_base_url,
)
from agents.models import ModelSettings

MAX_KEY_LENGTH = 500
NO_MODEL_CHOSEN = "No model is chosen for your endpoint. Choose one in the settings, under Models."


@dataclass(frozen=True, slots=True)
class ModelEndpoint:
    """An endpoint that answers somebody's questions."""

    base_url: str
    api_key: str = field(repr=False)
    is_own: bool
    """Whether it is the person's, not the site's: then where it leads has to be checked."""


def get_policy() -> EndpointPolicy:
    """Return what the administrator allows."""
    return build_policy(settings.ORACLE_OWN_ENDPOINTS, tuple(settings.ORACLE_INSIDE_ENDPOINTS))


def select_endpoint(chosen: ModelSettings) -> ModelEndpoint | None:
    """Return the endpoint of somebody's runs, None for the embedded one; or EndpointNotAllowed."""
    if chosen.provider:
        base_url = own_base_url(chosen)
        get_policy().check(base_url)
        return ModelEndpoint(base_url, decrypt_key(chosen, base_url), is_own=True)
    if not settings.ORACLE_LLM_BASE_URL:
        return None
    return ModelEndpoint(settings.ORACLE_LLM_BASE_URL, settings.ORACLE_LLM_API_KEY, is_own=False)


def own_base_url(chosen: ModelSettings) -> str:
    """Return where the chosen provider is; EndpointNotAllowed if that is not said."""
    base_url = resolve_base_url(chosen.provider, chosen.base_url)
    if not base_url:
        raise EndpointNotAllowed("The address of your own endpoint is missing. Enter its base URL.")
    return base_url


def model_name(name: str, chosen: ModelSettings) -> str:
    """Return the model to ask for. The site's default means nothing at another endpoint."""
    name = name or chosen.oracle_model
    if name or chosen.provider:
        return name
    return str(settings.ORACLE_LLM_MODEL)


def build_model(
    http: httpx.AsyncClient, endpoint: ModelEndpoint, name: str, chosen: ModelSettings
) -> OpenAIChatModel:
    """Return a model at an endpoint, asked as somebody's settings say."""
    return OpenAIChatModel(
        http,
        endpoint.base_url,
        name,
        api_key=endpoint.api_key,
        thinking=chosen.thinking_enabled,
        effort=chosen.reasoning_effort,
        clock=LoopClock(),
    )
