"""Limit how many pages of one person are rendered at a time, so that heavy use delays only them.

Each page takes a thread, and all threads take turns; sixteen of one person would be sixteen turns
before the next one of somebody else. Those who wait here take no thread.

Who somebody is, only the page finds out: it leaves that in the scope, and the next request of the
same session is theirs. Until then it is one of its address, as that of anybody who has not signed
in: whoever makes up sessions gets no lanes by it.
"""

import re
from collections.abc import Awaitable, Callable, Hashable
from typing import Any

from django.conf import settings
from django.http import HttpRequest
from django.http.cookie import parse_cookie
from django.http.response import HttpResponseBase

from agents.web.throttling import KnownPeople, Lanes

MAX_CONCURRENT = 2
FREE_PREFIXES: tuple[str, ...] = ("/static/", "/healthz", "/readyz")
"""What costs next to nothing."""
LONG_REQUESTS = re.compile(
    r"/settings/models/"  # waits for other servers
    r"|/library/[^/]+/(code/)?upload/(piece/)?$"
    r"|/library/[^/]+/(code/checkouts/\d+/remove|download)/$"
    r"|.*/export\.\w+$"
    r"|/admin/agents/agentrun/replay/$|.*/try/$"
)
"""Requests that may take seconds or minutes have a lane of their own beside that of the pages: two
imports of code in the lane of the pages would keep their person from every page meanwhile."""
FILES = re.compile(r"/library/[^/]+/files/")
"""Files last as long as their reader takes, and have a lane of their own: large ones that are read
slowly delay no page, and pictures do not wait behind imports."""
USER_KEY = "oracle.user"
"""Where a page leaves in the scope who asked for it."""

Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class UserConcurrencyLimiter:
    """In front of the pages: a lane for each person who asks for something at the moment."""

    def __init__(self, app: Any, max_concurrent: int = MAX_CONCURRENT) -> None:
        self._app, self._lanes = app, Lanes(max_concurrent)
        self._people = KnownPeople()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["path"].startswith(FREE_PREFIXES):
            await self._app(scope, receive, send)
            return
        session = _session_key(scope)
        async with self._lanes.enter(self._find_lane(scope, session)):
            await self._app(scope, receive, send)
        if session and USER_KEY in scope:
            self._people.remember(session, scope[USER_KEY])

    def _find_lane(self, scope: Message, session: str) -> Hashable:
        who = self._people.find(session, _address(scope))
        path = scope["path"]
        return who, bool(LONG_REQUESTS.match(path)), bool(FILES.match(path))


def name_user_middleware(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    """Leave in the scope who has signed in, or that nobody has, if the page has looked."""

    def answer(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        user = getattr(request, "_cached_user", None)  # `request.user` would look
        scope: Message | None = getattr(request, "scope", None)
        if scope is not None and user is not None:
            scope[USER_KEY] = user.pk  # None, if they have not
        return response

    return answer


def _address(scope: Message) -> str:
    host, *_ = scope.get("client") or [""]
    return str(host)


def _session_key(scope: Message) -> str:
    """Return whose request it says it is, read as Django reads it; nothing if it does not say."""
    cookies = b"; ".join(value for name, value in scope["headers"] if name == b"cookie")
    return parse_cookie(cookies.decode("latin-1")).get(settings.SESSION_COOKIE_NAME, "")
