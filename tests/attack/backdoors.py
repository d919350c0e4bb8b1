"""Ways to make links, turn the clock and read pages in a server process. For tests only."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from agents.llm import build_policy
from agents.models import ModelSettings
from agents.tools.blocking import THREADS
from agents.tools.definition import ToolFailed, ToolRefused
from agents.tools.page_process import read_in_process
from agents.tools.web_hosts import WebHosts
from agents.tools.web_pages import WebPages
from chat.accounts.links import LinkTokens, build_sign_in_link
from tests.attack import resolver
from tests.support.web_server import HOST

_true_now: Callable[[], datetime] = timezone.now
_true_link_now = LinkTokens._now
_ahead = timedelta()


def _now() -> datetime:
    return _true_now() + _ahead


def _link_now(self: LinkTokens) -> datetime:
    return _true_link_now(self) + _ahead


@csrf_exempt
def clock(request: HttpRequest) -> JsonResponse:
    """{ahead}: from now on the clock of this process is so many seconds ahead of the true one."""
    global _ahead
    asked: dict[str, Any] = json.loads(request.body)
    _ahead = timedelta(seconds=asked["ahead"])
    timezone.now = _now
    LinkTokens._now = _link_now  # type: ignore[method-assign, assignment]
    return JsonResponse({"now": timezone.now().isoformat()})


@csrf_exempt
def link(request: HttpRequest) -> JsonResponse:
    """{name}: a link that signs somebody in."""
    user = User.objects.get(username=json.loads(request.body)["name"])
    return JsonResponse({"link": build_sign_in_link(user, "")})


@csrf_exempt
async def fetch(request: HttpRequest) -> JsonResponse:
    """{port, path, seconds}: whether a page of a server on loopback is read, as a tool reads it."""
    asked: dict[str, Any] = json.loads(request.body)
    origin = f"{HOST}:{asked['port']}"
    pages = WebPages(
        WebHosts.parse(HOST), build_policy("yes", (origin,)), _resolve_to_loopback, asked["seconds"]
    )
    try:
        page = await pages.fetch(f"http://{origin}{asked['path']}")
        await THREADS.run(partial(read_in_process, page))
    except (ToolFailed, ToolRefused) as error:
        return JsonResponse({"read": False, "why": str(error)})
    return JsonResponse({"read": True})


@csrf_exempt
def endpoint(request: HttpRequest) -> JsonResponse:
    """{name, base_url}: somebody's own endpoint, as saved earlier."""
    asked: dict[str, Any] = json.loads(request.body)
    rows = ModelSettings.objects.filter(user__username=asked["name"])
    rows.update(provider="own", base_url=asked["base_url"])
    return JsonResponse({})


@csrf_exempt
def names(request: HttpRequest) -> JsonResponse:
    """How many slow names were looked up so far."""
    return JsonResponse({"slow": len(resolver.slow_hosts)})


async def _resolve_to_loopback(host: str, port: int) -> list[str]:
    return ["127.0.0.1"]
