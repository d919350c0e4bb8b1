"""A person's key for an endpoint, encrypted and bound to the endpoint's origin."""

from agents.endpoints.encryption import decrypt, encrypt
from agents.llm import PROVIDERS, EndpointOrigin, parse_base_url
from agents.models import ModelSettings, ProviderSettings

KeyHolder = ModelSettings | ProviderSettings
"""A row with a sealed key."""

# -- keys -----------------------------------------------------------------------------------------


def encrypt_key(place: EndpointOrigin, key: str) -> str:
    """Return a key and what it is for, fit to be stored. Neither has a space in it."""
    return encrypt(f"{place.origin} {key}") if key else ""


def decrypt_key(chosen: KeyHolder, base_url: str) -> str:
    """Return the person's key for an endpoint; empty if they have none for this one."""
    origin, key = _decrypt_stored(chosen)
    return key if key and origin == parse_base_url(base_url).origin else ""


def key_origin(chosen: KeyHolder) -> str:
    """Return the origin that the stored key was entered for; empty if none can be read."""
    return _decrypt_stored(chosen)[0]


def _decrypt_stored(chosen: KeyHolder) -> tuple[str, str]:
    origin, _, key = decrypt(chosen.sealed_key).partition(" ")
    return origin, key


def needs_key(chosen: ModelSettings) -> bool:
    """Return whether the chosen provider answers nobody without a key."""
    preset = PROVIDERS.get(chosen.provider)
    return preset is not None and preset.needs_key
