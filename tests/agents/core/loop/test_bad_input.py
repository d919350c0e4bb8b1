"""Bad input, through the real loop: a clear error in the right place, and nothing lost."""

import json
import re
from typing import Any

import pytest

from agents.core.chunks import Decision
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig, ConfigError
from agents.core.decisions.protocol import TREES, decision_tree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.registry import NotRegistered, RegistrationError
from agents.core.state import AgentState
from agents.core.tokens import MAX_RESULT_BYTES
from agents.llm import OpenAIChatModel
from agents.tools.definition import define
from agents.tools.executor import ToolExecutor
from tests.agents.core.loop.test_limits import assert_sound, looking, pages
from tests.support.endpoint import refusing_base_url
from tests.support.runs import drive, plain_http, served
from tests.support.script import Call, Fault, Script, call, calls, say
from tests.support.wire import RAW_DETAIL


async def at_once(seconds: float) -> None:
    """Stands in for the wait between two tries."""


async def huge() -> str:
    """Return ten megabytes."""
    return "Zeile ü " * 1_250_000


async def odd() -> object:
    """Return something that is not JSON."""
    return {1, 2, object()}


async def add(a: int, b: int = 0) -> int:
    """Add two whole numbers."""
    return a + b


def executor() -> ToolExecutor:
    return ToolExecutor([define(huge), define(odd), define(add)])


async def result_of(wanted: Call) -> str:
    """What a model is told about a call it made."""
    async with served(Script([calls(wanted), say("I see.")])) as bench:
        ran = await drive(bench.model(), executor())
    (result,) = ran.record.results.values()
    told = bench.endpoint.requests[1].body["messages"][-1]
    assert told["content"] == result.tool_result
    assert ran.reason == "completed"
    assert_sound(ran)
    return result.tool_result


async def test_a_result_of_ten_megabytes_reaches_the_model_as_head_and_tail() -> None:
    told = await result_of(Call("huge", {}))
    assert len(told.encode()) <= MAX_RESULT_BYTES
    assert "characters cut" in told


async def test_a_result_that_is_not_json_is_a_failed_result() -> None:
    assert "not JSON" in await result_of(Call("odd", {}))


async def test_arguments_that_are_not_json_are_a_failed_result() -> None:
    assert "not valid JSON" in await result_of(Call("add", '{"a": 1'))


async def test_arguments_that_do_not_fit_name_the_field_and_the_schema() -> None:
    told = await result_of(Call("add", {"a": "many", "c": 1}))
    assert "a: " in told
    assert "c: " in told
    assert '"type": "integer"' in told


async def test_an_unknown_tool_is_a_failed_result_that_lists_the_known_ones() -> None:
    told = await result_of(Call("subtract", {}))
    assert "subtract" in told
    assert "huge, odd, add" in told


ADD = '{"name": "add", "arguments": {"a": 1, "b": 2}}'
UNREADABLE = {
    "hermes, unclosed": f"<tool_call>{ADD[:-1]}",
    "hermes, unclosed, then text": f"<tool_call>{ADD} It is three.",
    "hermes, malformed": f"<tool_call>{ADD[:-1]}</tool_call>",
    "invoke, unclosed": '<function_calls>\n<invoke name="add">\n<parameter name="a">1</par',
    "deepseek, unclosed": '<|tool_calls_begin|><|tool_call_begin|>add<|tool_sep|>{"a": 1',
    "function tags, malformed": "<function=add>a is one</function>",
    "inline, unclosed": 'add{"a": 1',
}


@pytest.mark.parametrize("written", UNREADABLE.values(), ids=UNREADABLE.keys())
async def test_a_call_in_the_text_that_cannot_be_read_fails_and_is_told(written: str) -> None:
    async with served(Script([say(f"Let me add. {written}"), say("Three.")])) as bench:
        ran = await drive(bench.model(), executor())
    (failed,) = ran.record.results.values()
    told = bench.endpoint.requests[1].body["messages"][-1]
    assert (failed.ok, failed.cause) == (False, "failed")
    assert told["content"] == failed.tool_result
    assert "could not be read" in failed.tool_result
    assert written[:20] in failed.tool_result
    (called,) = ran.record.calls.values()
    assert (called.name, called.arguments) == ("add", {})
    assert (ran.reason, ran.answer) == ("completed", "Let me add. \n\nThree.")
    assert_sound(ran)


async def test_unreadable_calls_in_the_text_count_as_errors() -> None:
    script = Script([say(f"<tool_call>{ADD[:-end]}") for end in (1, 2, 3)] + [say("Sorry.")])
    async with served(script) as bench:
        ran = await drive(bench.model(), executor())
    assert (ran.reason, ran.answer) == ("error_limit", "Sorry.")


INNER_CALLS = {
    "hermes, as servers send it that cut the stop token": '<tool_call>\n{"name": "add", '
    '"arguments": {"a": 1}}\n',
    "hermes, half an end": '<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_',
    "function_calls": (
        '<function_calls>\n<invoke name="add">\n<parameter name="a">1</parameter>\n</invoke>\n'
    ),
    "function_calls, half an end": '<function_calls><invoke name="add"><parameter name="a">'
    "1</parameter></invoke></function_ca",
    "deepseek": '<|tool_calls_begin|><|tool_call_begin|>add<|tool_sep|>{"a": 1}<|tool_call_end|>',
}


@pytest.mark.parametrize("written", INNER_CALLS.values(), ids=INNER_CALLS.keys())
async def test_a_complete_call_runs_and_its_unclosed_wrapper_is_not_shown(written: str) -> None:
    async with served(Script([say(f"So: {written}", pieces=30), say("One.")])) as bench:
        ran = await drive(bench.model(), executor())
    (result,) = ran.record.results.values()
    assert (result.ok, result.tool_result) == (True, "1")
    assert (ran.reason, ran.answer) == ("completed", "So: \n\nOne.")


async def test_an_answer_cut_at_its_greatest_length_within_a_call_is_truncated() -> None:
    reply = say(f"Let me add. <tool_call>{ADD[:-5]}", finish="length")
    async with served(Script([reply])) as bench:
        ran = await drive(bench.model(), executor())
    assert (ran.reason, ran.answer) == ("output_truncated", "Let me add. ")
    assert not ran.record.results


async def test_an_empty_stream_with_status_200_is_an_error_a_person_understands() -> None:
    async with served(Script(then=Fault("empty_stream"))) as bench:
        ran = await drive(bench.model(sleep=at_once), executor())
    assert ran.reason == "provider_error"
    assert len(bench.endpoint.requests) == 3
    assert ran.record.error is not None
    assert "without writing anything. Try again" in ran.record.error.error


async def test_an_endpoint_that_is_not_there_is_named_without_credentials() -> None:
    async with plain_http() as http:
        with refusing_base_url() as url:
            address = url.replace("://", "://ada:secret@")
            model = OpenAIChatModel(
                http, address, "m", api_key="sk-hidden", clock=LoopClock(), sleep=at_once
            )
            ran = await drive(model, executor())
    assert (ran.outcome, ran.reason) == ("failed", "provider_error")
    assert ran.record.error is not None
    assert "127.0.0.1" in ran.record.error.error
    everything = repr(ran.chunks)
    assert "sk-hidden" not in everything
    assert "secret" not in everything


@pytest.mark.parametrize("status", ["status_400", "status_402", "status_403", "status_404"])
async def test_what_was_produced_before_the_endpoint_failed_is_kept(status: Any) -> None:
    first = call("add", a=1)
    async with served(Script([first, Fault(status)])) as bench:
        ran = await drive(bench.model(sleep=at_once), executor())
    assert ran.reason == "provider_error"
    assert [r.tool_result for r in ran.record.results.values()] == ["1"]
    assert RAW_DETAIL not in repr(ran.chunks)
    assert_sound(ran)


# -- configuration and trees ----------------------------------------------------------------------


def test_a_configuration_out_of_bounds_is_refused_with_bounds_and_the_value_in_force() -> None:
    with pytest.raises(ConfigError) as refused:
        AgentConfig.build(
            {"max_iterations": 51, "token_budget": ""}, AgentConfig(max_iterations=12)
        )
    assert refused.value.problems == {
        "max_iterations": "Must be a whole number from 1 to 50. Still using 12.",
        "token_budget": "Must be a whole number from 1,000 to 200,000. Still using 50,000.",
    }


def test_an_unknown_tree_is_refused_with_the_known_names() -> None:
    with pytest.raises(NotRegistered, match=r"'nonsense'.*default.*quick"):
        TREES.get("nonsense")


def test_a_tree_cannot_be_registered_when_the_site_is_running() -> None:
    with pytest.raises(RegistrationError, match="too late"):
        decision_tree("late")(DefaultDecisionTree)


class Raising(DefaultDecisionTree):
    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        if state.turn == 2:
            raise RuntimeError("a bug in somebody's tree")
        return super().should_continue(state)


async def test_a_tree_that_raises_is_replaced_and_the_run_goes_on() -> None:
    config = AgentConfig(max_iterations=4)
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config=config, tree=Raising(config))
    assert ran.reason == "max_iterations"
    assert len(bench.endpoint.requests) == 4
    (notice,) = ran.notices("notification", "tree")
    assert "Raising.should_continue" in notice.system_message
    assert "a bug in somebody's tree" not in repr(ran.chunks)
    trees = [d.tree for d in ran.chunks if isinstance(d, Decision)]
    assert (trees[0], trees[-1]) == ("Raising", "default")
    assert_sound(ran)


# -- what is sent ---------------------------------------------------------------------------------

PLACEHOLDER = re.compile(r"\{\{|\}\}|\{[a-z_]*\}|\$\{|%\(|%[sd]|<[A-Z_]+>|TODO|FIXME|lorem", re.I)


async def test_no_placeholder_survives_in_what_is_sent_to_the_model() -> None:
    async with served(Script(then=pages())) as bench:
        await drive(bench.model(), looking(), config={"max_iterations": 5, "token_budget": 4_000})
    assert len(bench.endpoint.requests) > 1
    for request in bench.endpoint.requests:
        for message in request.body["messages"]:
            found = PLACEHOLDER.findall(message.get("content") or "")
            assert not found, f"{found} in {message['content']!r}"


async def test_the_system_prompt_is_short_and_sent_once_unchanged() -> None:
    async with served(Script(then=pages())) as bench:
        await drive(bench.model(), looking(), config={"max_iterations": 4})
    prompts = [json.dumps(request.body["messages"][0]) for request in bench.endpoint.requests]
    assert len(set(prompts)) == 1
    assert len(prompts[0]) < 1_500
