"""Rules over the API."""

from typing import Any

import pytest
from asgiref.sync import sync_to_async

from agents.models import StoredRule
from chat.api.rule_schemas import EXAMPLE
from tests.chat.api.api_client import Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


async def create(ada: Caller, **more: Any) -> dict[str, Any]:
    made = await ada("POST", "rules", json={"text": EXAMPLE, **more})
    assert made.status_code == 201, made.content
    return dict(made.json())


async def test_a_rule_is_stored_listed_changed_switched_and_deleted(ada: Caller) -> None:
    rule = await create(ada)
    assert (rule["name"], rule["level"], rule["mode"]) == ("stop-after-five", "own", "on")
    listed = (await ada("GET", "rules")).json()["rules"]
    assert rule in listed
    assert "shipped:slow-tool" in [each["id"] for each in listed]
    here = f"rules/{rule['id']}"
    text = EXAMPLE.replace(">= 5", ">= 6")
    changed = (await ada("PUT", here, json={"text": text, "version": 1.0})).json()
    assert (changed["text"], changed["version"]) == (text, 2)
    switched = (await ada("PATCH", here, json={"mode": "shadow"})).json()
    assert (switched["mode"], switched["version"]) == ("shadow", 3)
    shown = (await ada("GET", here)).json()
    assert shown["firings"] == {"days": 30, "count": 0, "shadow": 0, "runs": []}
    assert (await ada("DELETE", here)).status_code == 204
    refusal(await ada("GET", here), 404)


async def test_a_version_that_is_old_is_told_with_what_is_in_force(ada: Caller) -> None:
    rule = await create(ada)
    here = f"rules/{rule['id']}"
    text = EXAMPLE.replace(">= 5", ">= 6")
    await ada("PUT", here, json={"text": text, "version": 1})
    told = refusal(await ada("PUT", here, json={"text": EXAMPLE, "version": 1}), 409)
    assert told[0]["ctx"] == {"version": 2, "text": text}


async def test_what_is_wrong_with_a_text_has_its_place(ada: Caller) -> None:
    wrong = EXAMPLE.replace("on_turn_end", "on_turn_ende")
    found = (await ada("POST", "rules/check", json={"text": wrong})).json()["problems"]
    assert (found[0]["line"], found[0]["column"]) == (3, 11)
    assert "did you mean 'on_turn_end'?" in found[0]["message"]
    assert (await ada("POST", "rules/check", json={"text": EXAMPLE})).json() == {"problems": []}
    told = refusal(await ada("POST", "rules", json={"text": wrong}), 409)
    assert told[0]["loc"] == ["body", "text", 3, 11]
    assert told[0]["type"] == "not_a_rule"
    assert not await sync_to_async(StoredRule.objects.exists)()


async def test_a_rule_is_tried_on_ones_runs(ada: Caller) -> None:
    asked = await ada("POST", "oracle", json={"question": "Is it so?"})
    text = EXAMPLE.replace("history.calls.vault_search >= 5", "turn.answered")
    found = (await ada("POST", "rules/try", json={"text": text, "days": 7.0})).json()
    assert (found["runs"], found["fired"], found["stopped"]) == (1, 1, 0)
    (run,) = found["listed"]
    assert run["id"] == asked.json()["id"]
    assert run["firings"] == [{"turn": 1, "words": "stop: It has searched five times."}]
    found = (await ada("POST", "rules/try", json={"text": EXAMPLE})).json()
    assert found["why_not"] == {"history.calls.vault_search >= 5": 1}


async def test_what_somebody_cannot_do_is_said(ada: Caller) -> None:
    refusal(await ada("POST", "rules", json={"text": EXAMPLE, "level": "site"}), 403)
    refusal(await ada("POST", "rules", json={"text": EXAMPLE, "level": "project"}), 409)
    told = refusal(await ada("DELETE", "rules/shipped:slow-tool"), 403)
    assert "switched, not changed" in told[0]["msg"]
    off = (await ada("PATCH", "rules/shipped:slow-tool", json={"mode": "off"})).json()
    assert off["mode"] == "off"
    project = str(ada.chat.project.pk)
    rule = await create(ada, level="project", project=project)
    assert (rule["project_id"], rule["lock"]) == (project, "")
    refusal(await ada("POST", "rules", json={"text": "x" * 5_000}), 422)


async def test_rules_for_others_need_the_scope_of_managing(ada: Caller) -> None:
    project = {"level": "project", "project": str(ada.chat.project.pk)}
    rule = await create(ada, **project)
    less, here = await ada.as_scopes("settings"), f"rules/{rule['id']}"
    text = EXAMPLE.replace("stop-after-five", "other")
    for answer in (
        await less("POST", "rules", json={"text": text, **project}),
        await less("POST", "rules", json={"text": text, "level": "site"}),
        await less("PUT", here, json={"text": text, "version": 1}),
        await less("PATCH", here, json={"mode": "off"}),
        await less("DELETE", here),
    ):
        assert refusal(answer, 403)[0]["type"] == "insufficient_scope"
    assert (await less("GET", here)).json()["mode"] == "on"
    await create(less)


async def test_what_was_said_in_runs_is_told_to_those_who_may_read_it(ada: Caller) -> None:
    less = await ada.as_scopes("settings")
    told = refusal(await less("POST", "rules/try", json={"text": EXAMPLE}), 403)
    assert told[0]["type"] == "insufficient_scope"
    enough = await ada.as_scopes("read")
    assert (await enough("POST", "rules/try", json={"text": EXAMPLE})).status_code == 200
