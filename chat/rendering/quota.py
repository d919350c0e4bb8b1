"""What somebody's pages cost to render, and when it is too much at once.

Counted as `chat.markdown.budget` counts, for what was not kept from before: an ordinary page costs
a few thousand, and the second time nothing. Each process counts for itself.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from threading import Lock
from typing import Any

from django.http import HttpRequest, HttpResponse

from agents.web.requests import get_user
from agents.web.throttling import TokenBucket

BURST, PER_SECOND = 5_000_000, 200_000
"""Some seconds of CPU at once, and a fifth of a core from then on: twenty full pages of rich
answers that were not opened since the server started, then nearly one a second."""
MAX_USERS = 1_000
TOO_MANY_PAGES_MESSAGE = (
    "You have opened many long pages at once. Wait a few seconds, then reload this one."
)

_costs: ContextVar[list[int] | None] = ContextVar("bill", default=None)
_buckets: OrderedDict[int, TokenBucket] = OrderedDict()
_lock = Lock()


def add_cost(units: int) -> None:
    """Put what was rendered on the bill of the request that it was rendered for."""
    if (bill := _costs.get()) is not None:
        bill.append(units)


def limit_rendering(view: Callable[..., HttpResponse]) -> Callable[..., HttpResponse]:
    """Limit a view that renders what people and models wrote: 429 for who had too much."""

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        user_id = get_user(request).pk
        if (wait := get_wait_seconds(user_id)) > 0:
            headers = {"Retry-After": str(int(wait) + 1)}
            return HttpResponse(
                TOO_MANY_PAGES_MESSAGE, status=429, content_type="text/plain", headers=headers
            )
        with charge_user(user_id):
            return view(request, *args, **kwargs)

    return answer


@contextmanager
def charge_user(user_id: int) -> Iterator[None]:
    """Charge somebody with what is rendered in the block."""
    bill: list[int] = []
    token = _costs.set(bill)
    try:
        yield
    finally:
        _costs.reset(token)
        with _lock:
            _get_bucket(user_id).spend(sum(bill))


def get_wait_seconds(user_id: int) -> float:
    """Return how long somebody has to wait until more is rendered for them."""
    with _lock:
        return _get_bucket(user_id).wait_seconds


def _get_bucket(user_id: int) -> TokenBucket:
    bucket = _buckets.pop(user_id, None) or TokenBucket(BURST, PER_SECOND)
    _buckets[user_id] = bucket
    while len(_buckets) > MAX_USERS:
        _buckets.popitem(last=False)
    return bucket
