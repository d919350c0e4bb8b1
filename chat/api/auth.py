"""Who asks: a bearer token, and nothing else. Cookies are not looked at, so there is no CSRF."""

import re
from contextlib import suppress

from django.conf import settings
from django.db import Error as DatabaseError
from django.http import HttpRequest

from agents.models import ApiToken
from agents.models.api_tokens import Scope, token_digest
from agents.web.throttling import KnownPeople
from chat.api.errors import ApiError, api_error
from chat.api.runtime import asking_person, run_db

BEARER = re.compile(r"bearer +([A-Za-z0-9._~+/=-]{1,200})", re.IGNORECASE)
REALM = 'Bearer realm="oracle"'
LOCATION = ("header", "authorization")

_people = KnownPeople()


async def authenticate(request: HttpRequest, scopes: tuple[Scope, ...]) -> ApiToken:
    """Return the token of a request that may do what needs one of these scopes."""
    _refuse_plain_http(request)
    given = request.headers.get("Authorization", "")
    if not given:
        raise _unauthorized_error(
            "Send a token: `Authorization: Bearer oracle_...`.", "missing", REALM
        )
    match = BEARER.fullmatch(given.strip())
    token = await _look_up(match[1], request.META.get("REMOTE_ADDR", "")) if match else None
    if token is None:
        raise _invalid_token_error()
    if not any(map(token.allows, scopes)):
        raise _missing_scope_error(scopes)
    return token


async def _look_up(text: str, address: str) -> ApiToken | None:
    """Find a token in the threads of its person; one that is not known yet, in those of its
    address: whoever makes up tokens gets no threads by it."""
    digest = token_digest(text)
    asking_person.set(_people.find(digest, address))
    token = await run_db(lambda: _find_token(text))
    _people.remember(digest, token.user_id if token is not None else None)
    if token is not None:
        asking_person.set(token.user_id)
    return token


def require_scope(token: ApiToken, scope: Scope) -> None:
    """Refuse a token for what only some requests to an address need."""
    if not token.allows(scope):
        raise _missing_scope_error((scope,))


async def recheck_token(token: ApiToken) -> None:
    """Refuse a token that was revoked meanwhile, for what took a while."""
    if not await run_db(lambda: is_token_valid(token)):
        raise _invalid_token_error()


def is_token_valid(token: ApiToken) -> bool:
    """Return whether a token that was good a while ago still is."""
    return ApiToken.objects.filter(pk=token.pk, revoked_at=None, user__is_active=True).exists()


def _find_token(text: str) -> ApiToken | None:
    token = ApiToken.authenticate(text)
    if token is not None:
        with suppress(DatabaseError):  # when it was last used is not worth a refusal
            token.touch()
    return token


def _refuse_plain_http(request: HttpRequest) -> None:
    request.get_host()
    if settings.SECURE_SSL_REDIRECT and not request.is_secure():
        raise api_error(
            403, (), "Use HTTPS. A token that was sent without it should be revoked.", "https"
        )


def _invalid_token_error() -> ApiError:
    return _unauthorized_error(
        "This token is not valid: unknown, or revoked. Create one in the settings.",
        "invalid_token",
        f'{REALM}, error="invalid_token"',
    )


def _unauthorized_error(msg: str, kind: str, challenge: str) -> ApiError:
    return api_error(401, LOCATION, msg, kind, headers={"WWW-Authenticate": challenge})


def _missing_scope_error(scopes: tuple[Scope, ...]) -> ApiError:
    wanted = " ".join(scopes)
    return api_error(
        403,
        LOCATION,
        f"This token may not do that: it needs the scope {' or '.join(scopes)}.",
        "insufficient_scope",
        headers={"WWW-Authenticate": f'{REALM}, error="insufficient_scope", scope="{wanted}"'},
    )
