"""How often a token may be used."""

import asyncio
import threading
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from pytest_django import Settings

from agents.ledger.db_executor import THREADS_PER_PERSON
from agents.models import ApiToken
from agents.models.api_tokens import token_digest
from chat.api import auth, notifications, throttling
from chat.api.throttling import Rate
from tests.chat.api.api_client import CONFIG, Caller, refusal
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


async def test_every_answer_tells_how_many_are_left(ada: Caller) -> None:
    first, second = await ada("GET", CONFIG), await ada("GET", CONFIG)
    most = throttling.PER_MINUTE[Rate.READ]
    assert first.headers["ratelimit-limit"] == str(most)
    left = [int(each.headers["ratelimit-remaining"]) for each in (first, second)]
    assert left == [most - 1, most - 2]
    assert int(second.headers["ratelimit-reset"]) == 1
    wrong = await ada("PATCH", CONFIG, json={"max_iterations": 0})
    assert wrong.headers["ratelimit-remaining"] == str(throttling.PER_MINUTE[Rate.CHANGE] - 1)


def test_asking_is_stricter_than_reading() -> None:
    assert throttling.PER_MINUTE[Rate.ASK] < throttling.PER_MINUTE[Rate.CHANGE]
    assert throttling.PER_MINUTE[Rate.CHANGE] < throttling.PER_MINUTE[Rate.READ]


async def test_too_many_are_told_to_wait_and_others_are_not(
    ada: Caller, settings: Settings
) -> None:
    settings.API_PER_MINUTE = {"ask": 2}
    for _ in range(2):
        assert (await ada("POST", "oracle", json={"question": "x"})).status_code == 200
    before = await ada.stored()
    response = await ada("POST", "oracle", json={"question": "x"})
    (problem,) = refusal(response, 429)
    assert "Wait" in problem["msg"]
    assert 0 < int(response.headers["retry-after"]) <= 30
    assert response.headers["ratelimit-remaining"] == "0"
    assert await ada.stored() == before
    assert (await ada("GET", CONFIG)).status_code == 200
    other = await ada.as_scopes("ask")
    assert (await other("POST", "oracle", json={"question": "x"})).status_code == 200


def test_what_is_full_again_is_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    throttling.reset()
    monkeypatch.setattr(throttling, "MAX_BUCKETS", 10)
    for token in range(10):
        throttling._get_bucket(token, Rate.READ, 5)
    throttling.check_rate_limit(99, Rate.ASK)
    throttling._get_bucket(100, Rate.READ, 5)
    assert set(throttling._buckets) == {(99, Rate.ASK), (100, Rate.READ)}
    throttling.reset()


async def test_what_one_person_asks_for_leaves_threads_to_the_others(
    ada: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All tokens of a person share what they have; a stranger's request is answered beside them."""
    goes_on, begun = threading.Event(), list[int]()

    def search_for_long(user: User) -> list[Any]:
        begun.append(user.pk)
        if user == ada.user:
            goes_on.wait(PATIENCE)
        return []

    monkeypatch.setattr(notifications, "list_subscribers", search_for_long)
    eve = await ada.as_user(await User.objects.acreate(username="eve"))
    callers = [ada, await ada.as_scopes("settings")] * 5
    theirs = [asyncio.ensure_future(caller("GET", "notifications")) for caller in callers]
    try:
        async with asyncio.timeout(PATIENCE):
            assert (await eve("GET", "notifications")).status_code == 200
        assert begun.count(ada.user.pk) <= THREADS_PER_PERSON
    finally:
        goes_on.set()
    assert {answer.status_code for answer in await asyncio.gather(*theirs)} == {200}


@pytest.mark.parametrize("is_made_up", [True, False])
async def test_looking_for_tokens_leaves_threads_to_the_others(
    ada: Caller, monkeypatch: pytest.MonkeyPatch, is_made_up: bool
) -> None:
    """Of an address that floods, or a person who does; also if no token of theirs is any good."""
    goes_on, begun = threading.Event(), list[str]()
    eve = await ada.as_user(await User.objects.acreate(username="eve"))
    for caller in (ada, eve):
        assert (await caller("GET", CONFIG)).status_code == 200
    find = auth._find_token

    def find_for_long(text: str) -> ApiToken | None:
        if text != eve.token:
            begun.append(text)
            goes_on.wait(PATIENCE)
        return find(text)

    monkeypatch.setattr(auth, "_find_token", find_for_long)
    callers = [replace(ada, token=f"oracle_{n}") if is_made_up else ada for n in range(10)]
    theirs = [asyncio.ensure_future(caller("GET", CONFIG)) for caller in callers]
    try:
        async with asyncio.timeout(PATIENCE):
            assert (await eve("GET", CONFIG)).status_code == 200
        assert len(begun) <= THREADS_PER_PERSON
    finally:
        goes_on.set()
    answers = {answer.status_code for answer in await asyncio.gather(*theirs)}
    assert answers == ({401} if is_made_up else {200})


async def test_whoever_goes_on_with_a_revoked_token_takes_no_threads_of_its_person(
    ada: Caller,
) -> None:
    leaked = await ada.as_scopes("settings")
    digest = token_digest(leaked.token)
    await leaked("GET", CONFIG)
    assert auth._people.find(digest, "elsewhere") == ada.user.pk
    await sync_to_async(leaked.row.revoke)()
    refusal(await leaked("GET", CONFIG), 401)
    assert auth._people.find(digest, "elsewhere") == "elsewhere"
