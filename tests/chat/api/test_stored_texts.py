"""What the addresses of rules and of behaviours promise alike."""

from collections.abc import Iterator

import pytest
from asgiref.sync import sync_to_async
from django.core.cache import cache

from agents.web.throttling import MAX_PER_MINUTE, WINDOW_SECONDS, check_rate
from chat.api.behaviour_schemas import EXAMPLE as BEHAVIOUR
from chat.api.rule_schemas import EXAMPLE as RULE
from tests.chat.api.api_client import Caller, refusal

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.parametrize(("kind", "text"), [("rules", RULE), ("behaviours", BEHAVIOUR)]),
]


@pytest.fixture(autouse=True)
def counts_of_its_own() -> Iterator[None]:
    """People of other tests have the same keys."""
    cache.clear()
    yield
    cache.clear()


@sync_to_async
def use_up(ada: Caller, what: str) -> None:
    """As if all but one of a minute had been made, on a page or here."""
    for _ in range(MAX_PER_MINUTE[what] - 1):
        check_rate(ada.user, what)


async def test_checks_have_a_rate_that_pages_share(ada: Caller, kind: str, text: str) -> None:
    await use_up(ada, "check")
    allowed = await ada("POST", f"{kind}/check", json={"text": text})
    assert (allowed.status_code, allowed.json()["problems"]) == (200, [])
    refused = await ada("POST", f"{kind}/check", json={"text": text})
    (told,) = refusal(refused, 429)
    assert told["type"] == "rate_limit"
    assert "Wait a little." in told["msg"]
    assert refused.headers["Retry-After"] == str(WINDOW_SECONDS)


async def test_trials_have_a_rate_that_pages_share(ada: Caller, kind: str, text: str) -> None:
    run = (await ada("POST", "oracle", json={"question": "Is it so?"})).json()["id"]
    await use_up(ada, "try")
    body = {"text": text, **({"run": run} if kind == "behaviours" else {})}
    assert (await ada("POST", f"{kind}/try", json=body)).status_code == 200
    refused = await ada("POST", f"{kind}/try", json=body)
    assert refusal(refused, 429)[0]["type"] == "rate_limit"
    assert refused.headers["Retry-After"] == str(WINDOW_SECONDS)


async def test_ten_megabytes_are_refused(ada: Caller, kind: str, text: str) -> None:
    body = {"text": text + "#" * 10_000_000, "version": 1}
    for method, path in (("POST", ""), ("POST", "/check"), ("POST", "/try"), ("PUT", "/1")):
        refusal(await ada(method, f"{kind}{path}", json=body), 413)
