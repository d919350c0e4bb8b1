"""The limits, read and changed by programs."""

import asyncio
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db.models.expressions import RawSQL

from agents.core.config import LIMITS, AgentConfig
from agents.models import AgentRun, SettingChange, UserAgentConfig
from agents.settings_service import update_limits
from chat.api import throttling
from tests.chat.api.api_client import CONFIG, Caller, refusal
from tests.chat.factories import member
from tests.chat.page_client import Valve
from tests.settings_ui.input_cases import guesses, nonsense, numbers
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def recorded(caller: Caller) -> list[tuple[str, str, str]]:
    own = SettingChange.objects.filter(user=caller.user, by=caller.user)
    return list(own.order_by("id").values_list("name", "old", "new"))


async def test_the_defaults_are_there_before_anything_was_set(ada: Caller) -> None:
    got = await ada("GET", CONFIG)
    assert got.json() == {"version": 1, **AgentConfig().model_dump()}
    assert got.headers["etag"] == '"1"'


async def test_a_fraction_that_was_put_into_the_database_is_no_server_error(ada: Caller) -> None:
    await ada("GET", CONFIG)
    await sync_to_async(UserAgentConfig.objects.update)(max_iterations=RawSQL("10.5", ()))
    got = await ada("GET", CONFIG)
    assert got.status_code == 200
    assert got.json() == {"version": 1, **AgentConfig().model_dump()}


async def test_some_are_changed_and_the_others_stay(ada: Caller) -> None:
    got = await ada("PATCH", CONFIG, json={"max_iterations": 20, "timeout_seconds": 60})
    changed = {"max_iterations": 20, "timeout_seconds": 60}
    assert got.json() == {"version": 2, **AgentConfig().model_dump(), **changed}
    assert got.headers["etag"] == '"2"'
    assert (await ada("GET", CONFIG)).json() == got.json()
    assert sorted(await recorded(ada)) == [
        ("max_iterations", "15", "20"),
        ("timeout_seconds", "120", "60"),
    ]


def camel(name: str) -> str:
    first, *others = name.split("_")
    return first + "".join(word.title() for word in others)


async def test_camel_case_names_are_taken_wherever_limits_are_given(ada: Caller) -> None:
    highest = {name: limit.maximum for name, limit in LIMITS.items()}
    body = {camel(name): value for name, value in highest.items()}
    assert (await ada("PUT", CONFIG, json=body)).json() == {"version": 2, **highest}
    got = await ada("PATCH", CONFIG, json={"maxIterations": 7, "token_budget": 4_000})
    assert (got.json()["max_iterations"], got.json()["token_budget"]) == (7, 4_000)
    got = await ada("POST", f"{CONFIG}/reset", json={"fields": ["maxIterations"]})
    assert (got.json()["max_iterations"], got.json()["token_budget"]) == (15, 4_000)
    got = await ada("PATCH", "settings/models", json={"maxParallelTools": 4})
    assert got.json()["max_parallel_tools"] == 4
    ada.chat.model.steps.append(say("done"))
    asked = {"question": "How many?", "overrides": {"maxIterations": 3}}
    assert (await ada("POST", "oracle", json=asked)).json()["config"]["max_iterations"] == 3


@pytest.mark.parametrize("name", ["maxiterations", "", 5, None, {}, ["maxIterations"], True])
async def test_what_is_no_limit_cannot_be_reset(ada: Caller, name: Any) -> None:
    (problem,) = refusal(await ada("POST", f"{CONFIG}/reset", json={"fields": [name]}), 422)
    assert problem["loc"] == ["body", "fields", 0]


async def test_a_limit_in_both_spellings_is_refused(ada: Caller) -> None:
    before = await ada.stored()
    both = {"max_iterations": 5, "maxIterations": 5}
    for method, path, body, loc in (
        ("PATCH", CONFIG, both, ["body", "maxIterations"]),
        ("PUT", CONFIG, AgentConfig().model_dump() | both, ["body", "maxIterations"]),
        ("PATCH", "settings/models", both, ["body", "maxIterations"]),
        (
            "POST",
            "oracle",
            {"question": "How many?", "overrides": both},
            ["body", "overrides", "maxIterations"],
        ),
    ):
        (problem,) = refusal(await ada(method, path, json=body), 422)
        assert problem["loc"] == loc
        assert problem["msg"] == "This is max_iterations again. Give one of the two."
    assert await ada.stored() == before


async def test_all_are_replaced_and_all_must_be_there(ada: Caller) -> None:
    highest = {name: limit.maximum for name, limit in LIMITS.items()}
    assert (await ada("PUT", CONFIG, json=highest)).json() == {"version": 2, **highest}
    for name in LIMITS:
        less = {other: value for other, value in highest.items() if other != name}
        (problem,) = refusal(await ada("PUT", CONFIG, json=less), 422)
        assert problem["loc"] == ["body", name]
        assert "PATCH" in problem["msg"]


async def test_the_same_again_changes_nothing(ada: Caller) -> None:
    got = await ada("PATCH", CONFIG, json={"max_iterations": 15})
    assert got.json()["version"] == 1
    assert (await ada("PATCH", CONFIG, json={})).json()["version"] == 1
    assert await recorded(ada) == []


@pytest.mark.parametrize("how", ["body", "header"])
async def test_a_stale_version_is_a_conflict_that_tells_what_is_in_force(
    ada: Caller, how: str
) -> None:
    await sync_to_async(update_limits)(ada.user, {"max_iterations": 30})
    before = await ada.stored()
    mine: dict[str, Any] = {"max_iterations": 10}
    for method, path, body in (
        ("PATCH", CONFIG, mine),
        ("PUT", CONFIG, {**AgentConfig().model_dump(), **mine}),
        ("POST", f"{CONFIG}/reset", {}),
    ):
        stale = body | ({"version": 1} if how == "body" else {})
        headers = {} if how == "body" else {"If-Match": '"1"'}
        response = await ada(method, path, json=stale, headers=headers)
        (problem,) = refusal(response, 409)
        assert problem["ctx"] == {"version": 2, **AgentConfig(max_iterations=30).model_dump()}
        assert response.headers["etag"] == '"2"'
    assert await ada.stored() == before


@pytest.mark.parametrize("tags", ['"1"', "*", '"7", "1"', ' "1" '])
async def test_a_version_that_was_seen_is_good(ada: Caller, tags: str) -> None:
    headers = {"If-Match": tags}
    got = await ada("PATCH", CONFIG, json={"max_iterations": 9}, headers=headers)
    assert (got.status_code, got.json()["version"]) == (200, 2)


@pytest.mark.parametrize("tags", ['"2"', 'W/"1"', "1", "x", '"1', '""', "\xff"])
async def test_a_version_that_was_not_seen_is_none(ada: Caller, tags: str) -> None:
    headers = {"If-Match": tags.encode("latin-1")}
    refusal(await ada("PATCH", CONFIG, json={"max_iterations": 9}, headers=headers), 409)
    assert (await ada("GET", CONFIG)).json()["max_iterations"] == 15


@pytest.mark.parametrize("version", [0, -1, 2**40, "1", 1.5, True, [1]])
async def test_a_version_is_a_number(ada: Caller, version: Any) -> None:
    body = {"max_iterations": 9, "version": version}
    refusal(await ada("PATCH", CONFIG, json=body), 422)


async def test_fifteen_is_fifteen_however_it_is_written(ada: Caller) -> None:
    got = await ada.raw("PATCH", CONFIG, b'{"max_iterations": 2.0e1, "version": 1.0}')
    assert (got.json()["max_iterations"], got.json()["version"]) == (20, 2)


async def test_of_many_that_saw_the_same_version_one_changes_it(ada: Caller) -> None:
    await ada("GET", CONFIG)
    answers = await asyncio.gather(
        *(ada("PATCH", CONFIG, json={"max_iterations": n, "version": 1}) for n in range(20, 30))
    )
    assert sorted(each.status_code for each in answers) == [200] + [409] * 9
    assert len(await recorded(ada)) == 1


async def test_some_or_all_go_back_to_their_defaults(ada: Caller) -> None:
    lowest = {name: limit.minimum for name, limit in LIMITS.items()}
    await ada("PUT", CONFIG, json=lowest)
    some = await ada("POST", f"{CONFIG}/reset", json={"fields": ["token_budget"]})
    assert some.json() == {"version": 3, **lowest, "token_budget": 50_000}
    everything = await ada("POST", f"{CONFIG}/reset")  # without a body
    assert everything.json() == {"version": 4, **AgentConfig().model_dump()}
    for fields in (["colour"], "token_budget", [1], [None]):
        refusal(await ada("POST", f"{CONFIG}/reset", json={"fields": fields}), 422)


async def test_the_next_run_takes_what_was_changed(ada: Caller) -> None:
    first = (await ada("POST", "oracle", json={"question": "One?"})).json()
    await ada("PATCH", CONFIG, json={"max_iterations": 7})
    second = (await ada("POST", "oracle", json={"question": "Two?"})).json()
    assert first["config"]["max_iterations"] == 15
    assert second["config"]["max_iterations"] == 7
    kept = await AgentRun.objects.aget(pk=first["id"])
    assert kept.config["max_iterations"] == 15


async def test_a_run_in_progress_keeps_the_limits_that_it_began_with(ada: Caller) -> None:
    valve = Valve("done")
    ada.chat.model.steps.extend([call("look"), valve.items(), say("too late")])
    run = await ada.chat.begin()
    await ada("PATCH", CONFIG, json={"max_iterations": 1})
    valve.open()
    await ada.chat.ended(run)
    ended = (await ada("GET", f"oracle/runs/{run.pk}")).json()
    assert (ended["outcome"], ended["turns"]) == ("completed", 2)
    assert ended["config"]["max_iterations"] == 15


async def test_one_persons_limits_are_not_anothers(ada: Caller) -> None:
    eve, _ = await sync_to_async(member)("eve")
    other = await ada.as_user(eve)
    await other("PATCH", CONFIG, json={"max_iterations": 3})
    assert (await ada("GET", CONFIG)).json()["max_iterations"] == 15
    rows = UserAgentConfig.objects.order_by("max_iterations").values_list("user", "max_iterations")
    assert [row async for row in rows] == [(eve.pk, 3), (ada.user.pk, 15)]


async def test_the_one_table_of_good_and_bad_input_holds_here_too(ada: Caller) -> None:
    """Numbers as numbers; everything else as the text that it is, and as JSON where it is some."""
    for case in numbers():
        throttling.reset()
        got = await ada("PATCH", CONFIG, json={case.limit.name: case.value})
        assert got.status_code == (200 if case.ok else 422), str(case)
    before = await ada.stored()
    for case in [*nonsense(), *guesses()]:
        throttling.reset()  # so many requests are not allowed in a minute
        (problem,) = refusal(await ada("PATCH", CONFIG, json={case.limit.name: case.typed}), 422)
        assert problem["loc"] == ["body", case.limit.name]
        assert f"from {case.limit.minimum:,} to {case.limit.maximum:,}" in problem["msg"]
    assert await ada.stored() == before
