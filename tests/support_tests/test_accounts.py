"""What is asked of a scripted endpoint is recorded, and what was not agreed fails the test."""

import asyncio
import contextlib

import pytest

from tests.support.script import Fault, Script, call, forever, say, when_tool_free

from .transports import Door, ask, question

TOOLS = [{"type": "function", "function": {"name": "look"}}]


async def test_requests_are_recorded_with_body_headers_and_time(door: Door) -> None:
    began = asyncio.get_running_loop().time()
    async with door(Script([call("look"), say("done")])) as visit:
        await ask(visit.client, tools=TOOLS)
        await ask(visit.client, tools=TOOLS, tool_choice="none")
    first, second = visit.player.requests
    assert first.body == question(tools=TOOLS)
    assert first.headers["content-type"] == "application/json"
    assert began <= first.at <= second.at
    assert (first.tool_free, second.tool_free) == (False, True)
    assert [record.end for record in visit.player.requests] == ["complete", "complete"]


async def test_a_step_function_answers_the_wrap_up_differently(door: Door) -> None:
    step = when_tool_free(say("final"), otherwise=call("look", page=1))
    async with door(forever(step)) as visit:
        assert "tool_calls" in (await ask(visit.client, tools=TOOLS)).deltas[0]
        assert (await ask(visit.client)).text == "final"


async def test_a_request_is_open_until_its_client_leaves(door: Door) -> None:
    async with door([say("one two", fault=Fault("hang", after=1))]) as visit:
        request = visit.client.stream("POST", "/chat/completions", json=question())
        async with request as response:
            await anext(response.aiter_raw())
            assert (visit.player.open, visit.player.aborted) == (1, 0)
        await visit.player.until(lambda: visit.player.aborted == 1)
    record = visit.player.requests[0]
    assert visit.player.open == 0
    assert record.aborted_at is not None
    assert record.aborted_at >= record.at


@pytest.mark.parametrize("fault", [Fault("hang_before_headers"), Fault("hang")])
async def test_a_cancelled_client_counts_as_aborted(door: Door, fault: Fault) -> None:
    async with door([fault]) as visit:
        asking = asyncio.create_task(ask(visit.client))
        await visit.player.until(lambda: visit.player.open == 1)
        asking.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await asking
        await visit.player.until(lambda: visit.player.aborted == 1)
        assert visit.player.open == 0


async def test_a_client_that_timed_out_counts_as_aborted(door: Door) -> None:
    async with door([Fault("hang_before_headers")]) as visit:
        assert (await ask(visit.client, 0.02)).error == "ReadTimeout"
        await visit.player.until(lambda: visit.player.aborted == 1)


async def test_a_client_that_leaves_at_done_has_aborted_nothing(door: Door) -> None:
    async with door([say("one")]) as visit:
        request = visit.client.stream("POST", "/chat/completions", json=question())
        async with request as response:
            async for line in response.aiter_lines():
                if line == "data: [DONE]":
                    break
    assert [record.end for record in visit.player.requests] == ["complete"]


async def test_an_answer_cut_by_its_script_is_not_an_abort(door: Door) -> None:
    async with door([Fault("half_close"), Fault("close_before_headers")]) as visit:
        await ask(visit.client)
        await ask(visit.client)
    assert [record.end for record in visit.player.requests] == ["cut", "cut"]


async def test_an_unexpected_request_is_answered_500_and_fails_the_test(door: Door) -> None:
    with pytest.raises(AssertionError, match=r"request 2 of 'scripted': last message .*'\?'"):
        async with door([say("one")]) as visit:
            seen = [await ask(visit.client) for _ in range(2)]
    assert [one.status for one in seen] == [200, 500]
    assert len(visit.player.unexpected) == 1


async def test_an_unused_step_fails_the_test(door: Door) -> None:
    with pytest.raises(AssertionError, match=r"1 unused steps of 'scripted', next: .*two"):
        async with door([say("one"), say("two")]) as visit:
            await ask(visit.client)


async def test_unused_steps_may_be_allowed(door: Door) -> None:
    async with door(Script([say("one")], unused_ok=True)) as visit:
        assert visit.player.requests == []


async def test_an_error_in_the_block_is_not_hidden_by_unused_steps(door: Door) -> None:
    with pytest.raises(KeyError):
        async with door([say("one")]):
            raise KeyError


async def test_a_step_function_that_raises_fails_the_test(door: Door) -> None:
    def step(body: object) -> None:
        raise ValueError("no such message")

    with pytest.raises(AssertionError, match="ValueError: no such message"):
        async with door([step]) as visit:  # type: ignore[list-item]  # it never gets to a reply
            assert (await ask(visit.client)).status == 500


@pytest.mark.parametrize("path", ["/completions", "/chat", "/models/x"])
async def test_another_path_is_unexpected(door: Door, path: str) -> None:
    with pytest.raises(AssertionError, match=f"GET /v1{path}"):
        async with door([]) as visit:
            assert (await visit.client.get(path)).status_code == 500


async def test_a_body_that_is_not_json_is_unexpected(door: Door) -> None:
    with pytest.raises(AssertionError, match="JSONDecodeError"):
        async with door([]) as visit:
            await visit.client.post("/chat/completions", content=b"{")


async def test_models_are_the_keys_of_the_scripts(door: Door) -> None:
    async with door({"a": Script(), "b": Script()}) as visit:
        listed = (await visit.client.get("/models")).json()
    assert [model["id"] for model in listed["data"]] == ["a", "b"]


async def test_scripts_are_chosen_by_model_or_by_key(door: Door) -> None:
    async with door({"a": Script([say("by model")]), "k": Script([say("by key")])}) as visit:
        visit.player.add("late", Script([say("added")]))
        assert (await ask(visit.client, model="a")).text == "by model"
        visit.client.headers["authorization"] = "Bearer k"
        assert (await ask(visit.client, model="other")).text == "by key"
        assert (await ask(visit.client, model="late")).text == "added"
    assert [record.key for record in visit.player.requests] == ["a", "k", "late"]


async def test_a_model_without_a_script_is_unexpected(door: Door) -> None:
    with pytest.raises(AssertionError, match="no script for model 'other'"):
        async with door({"a": Script()}) as visit:
            await ask(visit.client, model="other")


async def test_two_scripts_cannot_have_one_key(door: Door) -> None:
    async with door({"a": Script()}) as visit:
        with pytest.raises(ValueError, match="already"):
            visit.player.add("a", Script())


async def test_conversations_that_go_on_at_once_do_not_mix(door: Door) -> None:
    names = [f"m{number}" for number in range(20)]
    scripts = {name: Script([say(f"{name} one"), say(f"{name} two")]) for name in names}
    async with door(scripts) as visit:
        for nth in ("one", "two"):
            seen = await asyncio.gather(*[ask(visit.client, model=name) for name in names])
            assert [one.text for one in seen] == [f"{name} {nth}" for name in names]
    assert len(visit.player.requests) == 40
