"""How often a token may be used."""

import pytest
from pytest_django import Settings

from chat.api import throttling
from chat.api.throttling import Rate
from tests.chat.api.api_client import CONFIG, Caller, refusal

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
