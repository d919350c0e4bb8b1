"""Conversations over the API."""

import asyncio
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from agents.models import AgentRun
from chat.export import json_document, markdown_document
from chat.models import Conversation
from chat.services import ask
from tests.chat.api.api_client import Caller, refusal
from tests.chat.factories import started
from tests.chat.page_client import Valve
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@sync_to_async
def talks(caller: Caller, number: int) -> list[str]:
    """Conversations, newest first."""
    made = [
        started(ask.start_conversation(caller.user, caller.chat.project.pk, f"Question {n}?"))
        for n in range(number)
    ]
    return [str(each.conversation_id) for each in reversed(made)]


@sync_to_async
def long_talk(caller: Caller, number: int) -> list[str]:
    """The exchanges of one conversation, oldest first."""
    first = started(ask.start_conversation(caller.user, caller.chat.project.pk, "Question 0?"))
    rows = [first]
    for n in range(1, number):
        key = first.conversation_id
        asked = ask.ask(caller.user, f"Question {n}?", conversation_id=key)
        rows.append(started(asked))
    return [str(row.pk) for row in rows]


async def test_the_list_comes_page_by_page_without_gap_or_repetition(ada: Caller) -> None:
    expected = await talks(ada, 7)
    seen: list[str] = []
    before: dict[str, str] = {}
    while True:
        page = (await ada("GET", "conversations", params={"limit": 3, **before})).json()
        seen += [each["id"] for each in page["conversations"]]
        if page["next"] is None:
            break
        before = {"before": page["next"]}
    assert seen == expected
    assert {each["running"] for each in page["conversations"]} == {False}


async def test_there_may_be_none(ada: Caller) -> None:
    assert (await ada("GET", "conversations")).json() == {"conversations": [], "next": None}


async def test_a_path_comes_stretch_by_stretch(ada: Caller) -> None:
    expected = await long_talk(ada, 7)
    key = (await ada("GET", "conversations")).json()["conversations"][0]["id"]
    seen: list[str] = []
    upto: dict[str, str] = {}
    while True:
        part = (await ada("GET", f"conversations/{key}", params={"limit": 3, **upto})).json()
        seen = [each["id"] for each in part["exchanges"]] + seen
        if part["earlier"] is None:
            break
        upto = {"upto": part["earlier"]}
    assert seen == expected
    assert part["exchanges"][0]["run"]["answer"] == "It is so."
    other = (await talks(ada, 1))[0]
    refusal(await ada("GET", f"conversations/{other}", params={"upto": expected[0]}), 404)
    refusal(await ada("GET", f"conversations/{key}", params={"upto": str(uuid4())}), 404)


async def test_a_title_is_changed_and_an_empty_one_is_made_again(ada: Caller) -> None:
    (key,) = await talks(ada, 1)
    got = await ada("PATCH", f"conversations/{key}", json={"title": " A  <b>new</b> name "})
    assert got.json()["title"] == "A <b>new</b> name"
    got = await ada("PATCH", f"conversations/{key}", json={"title": ""})
    assert got.json()["title"] == "Question 0?"
    for wrong in ({}, {"title": None}, {"title": 5}, {"title": "x" * 201}, {"title": "x", "id": 1}):
        refusal(await ada("PATCH", f"conversations/{key}", json=wrong), 422)


async def test_what_is_deleted_is_gone_until_it_is_restored(ada: Caller) -> None:
    (key,) = await talks(ada, 1)
    assert (await ada("DELETE", f"conversations/{key}")).status_code == 204
    refusal(await ada("GET", f"conversations/{key}"), 404)
    refusal(await ada("DELETE", f"conversations/{key}"), 404)
    assert (await ada("GET", "conversations")).json()["conversations"] == []
    assert (await ada("POST", f"conversations/{key}/restore")).json()["id"] == key
    assert (await ada("GET", f"conversations/{key}")).status_code == 200
    refusal(await ada("POST", f"conversations/{uuid4()}/restore"), 404)


async def test_deleting_stops_what_is_going_on(ada: Caller) -> None:
    ada.chat.model.steps.append(Valve("never").items())
    asked = asyncio.create_task(ada("POST", "oracle", json={"question": "Long?"}))
    async with asyncio.timeout(PATIENCE):
        while (run := await AgentRun.objects.afirst()) is None:  # noqa: ASYNC110  # it says nothing by itself
            await asyncio.sleep(0.01)
    listed = (await ada("GET", "conversations")).json()["conversations"]
    assert [each["running"] for each in listed] == [True]
    await ada("DELETE", f"conversations/{run.conversation_key}")
    assert (await asked).json()["outcome"] == "cancelled"


async def test_an_export_is_that_of_the_pages(ada: Caller) -> None:
    await long_talk(ada, 3)
    made = await Conversation.objects.select_related("project").aget()
    for form, document in (
        ("json", json_document(made, whole_tree=True)),
        ("md", markdown_document(made)),
    ):
        expected = await sync_to_async("".join)(document)
        got = await ada("GET", f"conversations/{made.pk}/export", params={"format": form})
        assert got.text == expected
    refusal(await ada("GET", f"conversations/{made.pk}/export", params={"format": "pdf"}), 422)
