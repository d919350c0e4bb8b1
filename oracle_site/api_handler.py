"""Requests of programs go straight to their views.

Pages pass a chain of middleware that is synchronous (static files, sessions, CSRF, messages): each
request takes a thread, and an async view keeps it for as long as it waits. The API knows neither
sessions nor cookies, and its requests may wait for minutes: they take no thread at all.
"""

from typing import Any

from django.core.handlers.asgi import ASGIHandler
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.middleware.security import SecurityMiddleware
from django.urls import resolve

from oracle_site.middleware import add_security_headers

PREFIX = "/api/"


class ApiHandler(ASGIHandler):
    """Django's handler, without the chain and without a thread for each request."""

    def load_middleware(self, is_async: bool = False) -> None:
        self._security = SecurityMiddleware(lambda request: None)  # type: ignore[arg-type]  # only its headers

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        await self.handle(scope, receive, send)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        found = resolve(request.path_info)
        response = await found.func(request, *found.args, **found.kwargs)
        if isinstance(response, HttpResponse) and response.content:
            response.headers.setdefault("Content-Length", str(len(response.content)))
        return add_security_headers(self._security.process_response(request, response))


class PathDispatcher:
    """The API by its prefix, everything else to the pages."""

    def __init__(self, api: Any, pages: Any) -> None:
        self._api, self._pages = api, pages

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        app = self._api if scope["path"].startswith(PREFIX) else self._pages
        await app(scope, receive, send)
