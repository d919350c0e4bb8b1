"""Signing in a test client at the price of one row.

Django's `force_login` takes the way of a person who types: it makes the session twice, for the key
of the first may be known, rotates a token that is not there yet, and writes the time of the login.
"""

from typing import Any

from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.test import Client


def sign_in(client: Client, user: User, backend: str | None = None) -> None:
    """For `Client.force_login`."""
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = backend or settings.AUTHENTICATION_BACKENDS[0]
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    name = settings.SESSION_COOKIE_NAME
    client.cookies[name] = str(session.session_key)
    attributes: dict[str, Any] = {"path": "/", "secure": settings.SESSION_COOKIE_SECURE or None}
    client.cookies[name].update(attributes)
