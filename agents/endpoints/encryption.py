"""Secrets at rest: encrypted with a key that is derived from the site's secret, not stored."""

import base64
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

VISIBLE_CHARS = 4
"""Characters of a secret that may be shown again."""


def encrypt(secret: str) -> str:
    """Fit to be stored; empty stays empty."""
    return _build_fernet(settings.SECRET_KEY).encrypt(secret.encode()).decode() if secret else ""


def decrypt(stored: str) -> str:
    """Return what was sealed; empty if the site's secret has changed since, as if never set."""
    try:
        return (
            _build_fernet(settings.SECRET_KEY).decrypt(stored.encode()).decode() if stored else ""
        )
    except InvalidToken:
        return ""


def mask(secret: str) -> str:
    """Return how a person recognises a secret; a short one is not worth the risk."""
    return (
        f"…{secret[-VISIBLE_CHARS:]}" if len(secret) >= 4 * VISIBLE_CHARS else "…" if secret else ""
    )


@lru_cache(maxsize=4)
def _build_fernet(secret_key: str) -> Fernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"oracle secrets at rest")
    return Fernet(base64.urlsafe_b64encode(derived.derive(secret_key.encode())))
