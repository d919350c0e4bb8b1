"""Ways to make links and to turn the clock of a server process. For tests only."""

import json
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpRequest, JsonResponse
from django.utils import timezone
from django.views.decorators.csrf import csrf_exempt

from chat.accounts.links import LinkTokens, build_sign_in_link

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
