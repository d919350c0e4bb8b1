"""Asking over the API, with a scripted model."""

import asyncio
import json
from contextlib import aclosing
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async

from agents.core.chunks import Content, Source, SourceRef, to_dict
from agents.core.messages import ToolCall, ToolOutcome
from agents.core.ports import ToolContext
from agents.models import AgentRun, Project
from agents.runtime.admission import MAX_ACTIVE_RUNS
from chat.models import Conversation
from tests.agents.models.factories import dead_process, silent_process
from tests.chat.api.api_client import Caller, refusal
from tests.chat.page_client import Valve
from tests.support.script import call, say
from tests.support.timing import PATIENCE
from tests.support.tools import FakeTools, with_context

pytestmark = pytest.mark.django_db(transaction=True)


def parsed(text: str) -> list[dict[str, Any]]:
    """The data of every event; ids and types are checked on the way."""
    chunks = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if line)
        if "data" in fields:
            chunk = json.loads(fields["data"])
            assert fields["id"] == str(chunk["seq"])
            assert fields["event"] == chunk["type"]
            chunks.append(chunk)
    return chunks


async def stored(caller: Caller, run_id: str) -> list[dict[str, Any]]:
    return [to_dict(chunk) async for chunk in caller.chat.runtime.follow(UUID(run_id))]


async def test_a_whole_answer_comes_at_its_end(ada: Caller) -> None:
    response = await ada("POST", "oracle", json={"question": "What is it?"})
    run = response.json()
    assert response.headers["cache-control"] == "no-store"
    assert (run["answer"], run["outcome"], run["reason"]) == ("It is so.", "completed", "completed")
    assert run == (await ada("GET", f"oracle/runs/{run['id']}")).json()
    made = await Conversation.objects.aget(pk=run["conversation_id"])
    assert (made.user_id, made.title) == (ada.user.pk, "What is it?")


async def test_a_stream_is_every_chunk_as_it_is_stored(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("Found\n\nit: \u2028 \r\n 🙂.")])
    response = await ada("POST", "oracle/stream", json={"question": "What is it?"})
    assert response.headers["content-type"] == "text/event-stream"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    chunks = parsed(response.text)
    assert chunks == await stored(ada, response.headers["oracle-run"])
    assert [chunk["seq"] for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert chunks[-1]["type"] == "done"
    assert "🙂" in "".join(c["content"] for c in chunks if c["type"] == "content")


async def test_every_block_of_a_stream_is_an_event_with_data_or_a_comment(ada: Caller) -> None:
    run = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    blocks = (await ada("GET", f"oracle/runs/{run['id']}/stream")).text.split("\n\n")[:-1]
    assert blocks.pop(0).startswith(":")
    assert blocks[0].startswith("retry: 1000\nid: 1\n")
    assert all("\ndata: " in block for block in blocks)
    assert sum("retry:" in block for block in blocks) == 1


async def test_notices_of_a_whole_answer_carry_their_numbers(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("Cut.")])
    asked = {"question": "What is it?", "overrides": {"max_iterations": 2}}
    run = (await ada("POST", "oracle", json=asked)).json()
    chunks = [c for c in await stored(ada, run["id"]) if c["type"] == "system"]
    assert [each["metadata"] for each in run["notices"]] == [c["metadata"] for c in chunks]
    reached = run["notices"][-1]
    assert reached["system_type"] == "limit_reached"
    assert reached["metadata"]["limit_type"] == "iterations"
    assert (reached["metadata"]["current_value"], reached["metadata"]["limit_value"]) == (2, 2)
    assert (reached["role"], reached["content"]) == ("system", reached["system_message"])
    assert reached["timestamp"] == reached["at"]
    assert datetime.fromisoformat(reached["timestamp"]).utcoffset() == timedelta(0)


async def test_active_asks_in_the_newest_conversation_of_the_project(ada: Caller) -> None:
    ada.chat.model.steps.extend([say("One."), say("Two."), say("Three.")])

    async def post(question: str, **more: Any) -> Any:
        response = await ada("POST", "oracle", json={"question": question, **more})
        return response.json()

    first = await post("First?", context_id="active")
    second = await post("Second?")
    third = await post("Third?", context_id="active")
    assert first["conversation_id"] != second["conversation_id"] == third["conversation_id"]
    sent = [m["content"] for m in ada.chat.model.requests[2].messages[1:]]
    assert sent == ["Second?", "Two.", "Third?"]
    both = {"context_id": "active", "conversation_id": first["conversation_id"]}
    refused = await ada("POST", "oracle", json={"question": "Fourth?", **both})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (
        422,
        ["body", "context_id"],
    )
    other = await ada("POST", "oracle", json={"question": "Fourth?", "context_id": "newest"})
    (problem,) = refusal(other, 422)
    assert problem["loc"] == ["body", "context_id"]
    assert problem["msg"] == "Give the id of an exchange or its run, or `active`."


async def test_from_every_place_the_rest_comes_and_nothing_twice(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("One two three four.")])
    run = (await ada("POST", "oracle", json={"question": "What is it?"})).json()
    whole = await stored(ada, run["id"])
    there = f"oracle/runs/{run['id']}/stream"
    for last in range(len(whole)):
        by_header = await ada("GET", there, headers={"Last-Event-ID": str(last)})
        by_query = await ada("GET", there, params={"last_event_id": last})
        assert parsed(by_header.text) == parsed(by_query.text) == whole[last:]
    end = await ada("GET", there, headers={"Last-Event-ID": str(len(whole))})
    assert (end.status_code, end.content) == (204, b"")


async def test_what_a_subagent_did_not_finish_is_in_no_later_stream(ada: Caller) -> None:
    """Whoever followed it may have seen it; nobody else does."""
    half, gate = "half-a-summary", asyncio.Event()

    async def delegate(call: ToolCall, context: ToolContext) -> ToolOutcome:
        context.emit(Content(content=half))
        context.emit(Source(source=SourceRef(f"{half}.md", "vault", snippet=half)))
        await gate.wait()
        return ToolOutcome(ok=False, content="The librarian has no answer.")

    ada.chat.world.fakes = FakeTools({"delegate_librarian": with_context(delegate)})
    ada.chat.model.steps.extend([call("delegate_librarian", task="Read"), say("No summary.")])
    ready = await ada.chat.begin()
    async with aclosing(ada.chat.runtime.follow(ready.pk)) as chunks:
        async for chunk in chunks:
            if isinstance(chunk, Source):
                break
    gate.set()
    await stored(ada, str(ready.pk))  # to its end
    there = f"oracle/runs/{ready.pk}/stream"
    whole = parsed((await ada("GET", there)).text)
    assert [chunk["seq"] for chunk in whole] == list(range(1, len(whole) + 1))
    assert half not in str(whole)
    of_subagent = [chunk for chunk in whole if "parent" in chunk]
    assert [chunk["type"] for chunk in of_subagent] == ["content", "source"]
    for last in range(len(whole)):
        response = await ada("GET", there, headers={"Last-Event-ID": str(last)})
        assert parsed(response.text) == whole[last:]
    run = await ada("GET", f"oracle/runs/{ready.pk}")
    assert (run.json()["answer"], run.json()["sources"]) == ("No summary.", [])
    exported = await ada("GET", f"conversations/{run.json()['conversation_id']}")
    assert half not in run.text + exported.text


LONG = "A line of the log.\n" * 300
SHORT = "All is well [log.md:1]."


async def test_what_the_model_got_instead_of_a_result_is_told_beside_it(ada: Caller) -> None:
    """In the stream, where the result also stands before its summary, and in both exports."""

    async def look(call: ToolCall, context: ToolContext) -> ToolOutcome:
        context.keep(ToolOutcome(ok=True, content=LONG, unfinished=True))
        return ToolOutcome(ok=True, content=LONG, given=SHORT)

    ada.chat.world.fakes = FakeTools({"look": with_context(look)})
    ada.chat.model.steps.extend([call("look"), say("It is well.")])
    response = await ada("POST", "oracle/stream", json={"question": "Is all well?"})
    chunks = parsed(response.text)
    assert [chunk["seq"] for chunk in chunks] == list(range(1, len(chunks) + 1))
    told = [(c["type"], c["tool_result"], c.get("given")) for c in chunks if "tool_result" in c]
    assert told == [("kept_result", LONG, None), ("tool_result", LONG, SHORT)]
    export = f"conversations/{response.headers['oracle-conversation']}/export"
    (exchange,) = (await ada("GET", export)).json()["exchanges"]
    (called,) = exchange["tool_calls"]
    assert (called["result"], called["given"]) == (LONG, SHORT)
    document = (await ada("GET", export, params={"format": "md"})).text
    assert document.count(LONG.strip()) == 1
    assert f"The model got this summary:\n\n```text\n{SHORT}\n```" in document


async def test_a_result_that_nobody_summarised_has_no_summary(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("Found.")])
    response = await ada("POST", "oracle/stream", json={"question": "What is it?"})
    assert not any(c["type"] == "kept_result" or "given" in c for c in parsed(response.text))
    export = f"conversations/{response.headers['oracle-conversation']}/export"
    (exchange,) = (await ada("GET", export)).json()["exchanges"]
    assert "given" not in exchange["tool_calls"][0]
    assert "summary" not in (await ada("GET", export, params={"format": "md"})).text


async def test_the_next_question_follows_or_branches(ada: Caller) -> None:
    first = (await ada("POST", "oracle", json={"question": "One?"})).json()
    key = first["conversation_id"]
    second = await ada("POST", "oracle", json={"question": "Two?", "conversation_id": key})
    third = await ada("POST", "oracle", json={"question": "Three?", "context_id": first["id"]})
    assert {first["conversation_id"]} == {r.json()["conversation_id"] for r in (second, third)}
    path = (await ada("GET", f"conversations/{key}")).json()["exchanges"]
    assert [each["run"]["question"] for each in path] == ["One?", "Three?"]
    for wrong in ({"project": str(uuid4())}, {"conversation_id": str(uuid4())}):
        body = {"question": "x", "context_id": first["id"], **wrong}
        refusal(await ada("POST", "oracle", json=body), 404)


async def test_how_to_answer_can_be_said(ada: Caller) -> None:
    asked = {"question": "One?", "tree": "quick", "overrides": {"max_iterations": 2}}
    run = (await ada("POST", "oracle", json=asked)).json()
    assert (run["tree"], run["config"]["max_iterations"]) == ("quick", 2)


async def test_the_project_can_be_said_and_is_the_first_otherwise(ada: Caller) -> None:
    second = await Project.objects.acreate(name="zzz")
    await second.memberships.acreate(user=ada.user)
    listed = (await ada("GET", "projects")).json()["projects"]
    assert [each["id"] for each in listed] == [str(ada.chat.project.pk), str(second.pk)]
    for asked, expected in (({}, ada.chat.project), ({"project": str(second.pk)}, second)):
        run = (await ada("POST", "oracle", json={"question": "x", **asked})).json()
        assert run["project_id"] == str(expected.pk)


async def test_the_same_message_twice_is_one_run(ada: Caller) -> None:
    asked = {"question": "Once?", "client_message_id": "message 1"}
    answers = await asyncio.gather(*(ada("POST", "oracle", json=asked) for _ in range(5)))
    assert len({each.json()["id"] for each in answers}) == 1
    again = await ada("POST", "oracle/stream", json=asked)
    assert again.headers["oracle-run"] == answers[0].json()["id"]
    assert await AgentRun.objects.acount() == await Conversation.objects.acount() == 1


async def test_a_second_question_in_a_conversation_waits_for_the_first(ada: Caller) -> None:
    valve = Valve("slow")
    ada.chat.model.steps.append(valve.items())
    first = asyncio.create_task(ada("POST", "oracle", json={"question": "One?"}))
    run = await until_started()
    body = {"question": "Two?", "conversation_id": str(run.conversation_key)}
    (problem,) = refusal(await ada("POST", "oracle", json=body), 409)
    assert "already in progress" in problem["msg"]
    valve.open()
    assert (await first).json()["answer"] == "slow"


async def until_started(number: int = 1) -> AgentRun:
    async with asyncio.timeout(PATIENCE):
        while await AgentRun.objects.filter(outcome=None).acount() < number:  # noqa: ASYNC110  # it says nothing by itself
            await asyncio.sleep(0.01)
    found = await AgentRun.objects.filter(outcome=None).afirst()
    assert found is not None
    return found


async def test_so_many_runs_at_once_and_no_more(ada: Caller) -> None:
    valves = [Valve("slow") for _ in range(MAX_ACTIVE_RUNS)]
    ada.chat.model.steps.extend(valve.items() for valve in valves)
    going = [
        asyncio.create_task(ada("POST", "oracle", json={"question": f"{n}?"}))
        for n in range(MAX_ACTIVE_RUNS)
    ]
    await until_started(MAX_ACTIVE_RUNS)
    response = await ada("POST", "oracle", json={"question": "One more?"})
    refusal(response, 429)
    assert response.headers["retry-after"]
    for valve in valves:
        valve.open()
    assert {each.json()["outcome"] for each in await asyncio.gather(*going)} == {"completed"}


async def test_a_run_that_is_going_is_told_as_far_as_it_came_and_can_be_stopped(
    ada: Caller,
) -> None:
    valve = Valve("Half of it, ", "never this")
    ada.chat.model.steps.append(valve.items())
    waiting = asyncio.create_task(ada("POST", "oracle", json={"question": "Long?"}))
    run = await until_started()
    valve.open(1)
    await ada.chat.stored(run, "Half of it")
    now = (await ada("GET", f"oracle/runs/{run.pk}")).json()
    assert (now["outcome"], now["reason"], now["answer"]) == (None, "", "Half of it, ")
    stopped = (await ada("POST", f"oracle/runs/{run.pk}/cancel")).json()
    assert (stopped["outcome"], stopped["reason"]) == ("cancelled", "user_cancelled")
    assert stopped["answer"] == "Half of it, "
    assert (await waiting).json() == stopped
    again = await ada("POST", f"oracle/runs/{run.pk}/cancel")
    assert again.json() == stopped


async def test_a_stop_says_when_the_process_of_the_run_does_not_respond(ada: Caller) -> None:
    valve = Valve("Half of it, ", "never this")
    ada.chat.model.steps.append(valve.items())
    waiting = asyncio.create_task(ada("POST", "oracle", json={"question": "Long?"}))
    run = await until_started()
    address = f"oracle/runs/{run.pk}"
    assert (await ada("GET", address)).json()["silence"] == ""
    owner = await sync_to_async(silent_process)()
    await AgentRun.objects.filter(pk=run.pk).aupdate(owner=owner, fence=2)
    silence = (
        "The server process of this run does not respond. If it does not come back, the run ends as"
    )
    now = (await ada("GET", address)).json()
    assert now["silence"] == f"{silence} interrupted."
    stopped = (await ada("POST", f"{address}/cancel")).json()
    assert stopped["silence"] == f"{silence} stopped."
    await AgentRun.objects.filter(pk=run.pk).aupdate(owner=await sync_to_async(dead_process)())
    ended = (await waiting).json()
    assert (ended["outcome"], ended["reason"]) == ("cancelled", "user_cancelled")
    assert ended["silence"] == ""


async def test_a_run_that_ended_early_is_continued_where_it_is(ada: Caller) -> None:
    ada.chat.model.steps.extend([call("look"), say("So far.")])
    early = {"question": "Long?", "overrides": {"max_iterations": 2}}
    first = (await ada("POST", "oracle", json=early)).json()
    assert first["outcome"] == "limited"
    assert first["explanation"]
    go_on = {"question": "Go on.", "continued_from": first["id"]}
    elsewhere = [{"conversation_id": str(uuid4())}, {"project": str(uuid4())},
                 {"context_id": str(uuid4())}]  # fmt: skip
    for wrong in elsewhere:
        refusal(await ada("POST", "oracle", json={**go_on, **wrong}), 404)
    second = (await ada("POST", "oracle", json=go_on)).json()
    assert second["continued_from"] == first["id"]
    assert second["conversation_id"] == first["conversation_id"]
    (problem,) = refusal(
        await ada("POST", "oracle", json={"question": "x", "continued_from": second["id"]}), 409
    )
    assert "complete" in problem["msg"]


async def test_a_server_that_stops_says_so(ada: Caller) -> None:
    await ada.chat.runtime.drain(0)
    for path in ("oracle", "oracle/stream"):
        response = await ada("POST", path, json={"question": "Now?"})
        (problem,) = refusal(response, 503)
        assert "stopping" in problem["msg"]
        assert response.headers["retry-after"]
    assert await sync_to_async(AgentRun.objects.count)() == 0
