"""How often a token may be used."""

import pytest
from pytest_django import Settings

from chat.api import limits
from chat.api.limits import Rate
from tests.chat.api.calling import CONFIG, Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


async def test_every_answer_tells_how_many_are_left(ada: Caller) -> None:
    first, second = await ada("GET", CONFIG), await ada("GET", CONFIG)
    most = limits.PER_MINUTE[Rate.READ]
    assert first.headers["ratelimit-limit"] == str(most)
    left = [int(each.headers["ratelimit-remaining"]) for each in (first, second)]
    assert left == [most - 1, most - 2]
    assert int(second.headers["ratelimit-reset"]) == 1
    wrong = await ada("PATCH", CONFIG, json={"max_iterations": 0})
    assert wrong.headers["ratelimit-remaining"] == str(limits.PER_MINUTE[Rate.CHANGE] - 1)


def test_asking_is_stricter_than_reading() -> None:
    assert limits.PER_MINUTE[Rate.ASK] < limits.PER_MINUTE[Rate.CHANGE]
    assert limits.PER_MINUTE[Rate.CHANGE] < limits.PER_MINUTE[Rate.READ]


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
    limits.forget()
    monkeypatch.setattr(limits, "MOST_KEPT", 10)
    for token in range(10):
        limits._bucket(token, Rate.READ, 5)
    limits.take(99, Rate.ASK)
    limits._bucket(100, Rate.READ, 5)
    assert set(limits._buckets) == {(99, Rate.ASK), (100, Rate.READ)}
    limits.forget()
