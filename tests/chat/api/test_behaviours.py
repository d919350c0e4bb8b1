"""Modes and behaviours over the API."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import AgentRun, StoredBehaviour
from chat.api.behaviour_schemas import EXAMPLE
from tests.chat.api.api_client import Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


async def create(ada: Caller, **more: Any) -> dict[str, Any]:
    made = await ada("POST", "behaviours", json={"text": EXAMPLE, **more})
    assert made.status_code == 201, made.content
    return dict(made.json())


async def test_a_behaviour_is_stored_listed_changed_and_deleted(ada: Caller) -> None:
    made = await create(ada)
    assert (made["name"], made["level"], made["version"]) == ("outline-first", "own", 1)
    listed = (await ada("GET", "behaviours")).json()["behaviours"]
    assert made in listed
    assert "shipped:plan-then-do" in [each["id"] for each in listed]
    here = f"behaviours/{made['id']}"
    text = EXAMPLE.replace("an outline", "a short outline")
    changed = (await ada("PUT", here, json={"text": text, "version": 1})).json()
    assert (changed["text"], changed["version"]) == (text, 2)
    told = refusal(await ada("PUT", here, json={"text": EXAMPLE, "version": 1}), 409)
    assert told[0]["ctx"] == {"version": 2, "text": text}
    assert (await ada("GET", here)).json() == changed
    assert (await ada("DELETE", here)).status_code == 204
    refusal(await ada("GET", here), 404)


async def test_a_stored_one_is_a_mode_of_its_writer_and_a_question_can_have_it(ada: Caller) -> None:
    await create(ada)
    modes = {each["name"]: each for each in (await ada("GET", "modes")).json()["modes"]}
    assert list(modes)[:2] == ["default", "quick"]
    assert modes["default"]["is_default"]
    assert modes["outline-first"]["description"] == "Writes an outline, then the answer."
    assert modes["outline-first"]["level"] == "own"
    asked = await ada("POST", "oracle", json={"question": "Is it so?", "tree": "outline-first"})
    assert (asked.json()["tree"], asked.json()["behaviour"]) == ("default", "outline-first")
    run = await AgentRun.objects.aget(pk=asked.json()["id"])
    assert run.mode == "outline-first"


async def test_an_unknown_mode_is_refused_with_those_there_are(ada: Caller) -> None:
    (problem,) = refusal(
        await ada("POST", "oracle", json={"question": "Is it so?", "tree": "nonsense"}), 422
    )
    assert problem["loc"] == ["body", "tree"]
    assert "Known: default, quick" in problem["msg"]


async def test_what_is_wrong_with_a_text_has_its_place_and_a_good_one_is_drawn(ada: Caller) -> None:
    wrong = EXAMPLE.replace("repeater", "repeeter")
    found = (await ada("POST", "behaviours/check", json={"text": wrong})).json()
    assert (found["problems"][0]["line"], found["problems"][0]["column"]) == (5, 5)
    assert "did you mean 'repeater'?" in found["problems"][0]["message"]
    drawn = (await ada("POST", "behaviours/check", json={"text": EXAMPLE})).json()
    assert drawn["problems"] == []
    assert drawn["drawing"][0].startswith("outline-first: ")
    told = refusal(await ada("POST", "behaviours", json={"text": wrong}), 409)
    assert told[0]["loc"] == ["body", "text", 5, 5]
    assert told[0]["type"] == "not_a_behaviour"
    assert not await sync_to_async(StoredBehaviour.objects.exists)()


async def test_what_somebody_cannot_do_is_said(ada: Caller) -> None:
    refusal(await ada("POST", "behaviours", json={"text": EXAMPLE, "level": "site"}), 403)
    told = refusal(await ada("DELETE", "behaviours/shipped:ask-first"), 403)
    assert "copied, not changed" in told[0]["msg"]
    await create(ada)
    told = refusal(await ada("POST", "behaviours", json={"text": EXAMPLE}), 409)
    assert "another name" in told[0]["msg"]
