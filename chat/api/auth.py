"""Who asks: a bearer token, and nothing else. Cookies are not looked at, so there is no CSRF."""

import re
from contextlib import suppress

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest

from agents.models import ApiToken
from agents.models.tokens import Scope
from chat.api.errors import Refused, refused
from chat.api.here import work

BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]{1,200})", re.IGNORECASE)
REALM = 'Bearer realm="oracle"'
PLACE = ("header", "authorization")


async def token_of(request: HttpRequest, scopes: tuple[Scope, ...]) -> ApiToken:
    """The token of a request that may do what needs one of these scopes."""
    _refuse_plain_http(request)
    given = request.headers.get("Authorization", "")
    if not given:
        raise _unknown("Send a token: `Authorization: Bearer oracle_...`.", "missing", REALM)
    match = BEARER.fullmatch(given.strip())
    token = await work(lambda: _find(match[1])) if match else None
    if token is None:
        raise _invalid()
    if not any(map(token.allows, scopes)):
        raise _not_allowed(scopes)
    return token


async def still_valid(token: ApiToken) -> None:
    """For what took a while: refuses a token that was revoked meanwhile."""
    if not await work(lambda: is_valid(token)):
        raise _invalid()


def is_valid(token: ApiToken) -> bool:
    """Whether a token that was good a while ago still is."""
    return ApiToken.objects.filter(pk=token.pk, revoked_at=None, user__is_active=True).exists()


def _find(text: str) -> ApiToken | None:
    token = ApiToken.find(text)
    if token is not None:
        with suppress(DatabaseError):  # when it was last used is not worth a refusal
            token.used()
    return token


def _refuse_plain_http(request: HttpRequest) -> None:
    request.get_host()
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise refused(
            403, (), "Use HTTPS. A token that was sent without it should be revoked.", "https"
        )


def _invalid() -> Refused:
    return _unknown(
        "This token is not valid: unknown, or revoked. Make one in the settings.",
        "invalid_token",
        f'{REALM}, error="invalid_token"',
    )


def _unknown(msg: str, kind: str, challenge: str) -> Refused:
    return refused(401, PLACE, msg, kind, headers={"WWW-Authenticate": challenge})


def _not_allowed(scopes: tuple[Scope, ...]) -> Refused:
    wanted = " ".join(scopes)
    return refused(
        403,
        PLACE,
        f"This token may not do that: it needs the scope {' or '.join(scopes)}.",
        "insufficient_scope",
        headers={"WWW-Authenticate": f'{REALM}, error="insufficient_scope", scope="{wanted}"'},
    )
