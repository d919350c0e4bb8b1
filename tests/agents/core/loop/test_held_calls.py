"""Calls that wait for a person, in real runs in virtual time."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import Approval, OracleStreamChunk, ToolCalled, ToolResult
from agents.core.control.events import AgentEvent
from agents.core.control.observers import Observer
from agents.core.loop import Control
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.shipped import load_shipped_rules
from tests.agents.core.factories import done, ends, limits, own, play, results
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.tools import FakeTools, returns
from tests.support.virtual import run_virtual

MANY_WRITES = next(rule for rule in load_shipped_rules() if rule.id == "many-writes")
HOLD_LOOKS = read_rule("""[rule]
id = "mine"
trigger = "on_tool_call"
[condition]
expression = "event.payload.tool == 'look'"
[[action]]
type = "hold"
message = "May it look?"
""")


def go(
    steps: Sequence[ModelStep],
    *rules: Rule,
    tools: FakeTools | None = None,
    cancellation: Cancellation | None = None,
    observer: Observer | None = None,
    **control: Any,
) -> list[OracleStreamChunk]:
    async def start() -> list[OracleStreamChunk]:
        fakes = tools or FakeTools({"look": returns("found"), "write": returns("ok", writes=True)})
        with fakes:
            return await play(
                ScriptedModel(steps),
                fakes,
                config=limits(max_tool_calls_per_turn=20),
                control=Control(rules=rules, **control),
                cancellation=cancellation,
                observer=observer,
            )

    return run_virtual(start())


def statuses(chunks: Sequence[OracleStreamChunk], call_id: str) -> list[str]:
    found = own(chunks, ToolCalled)
    return [chunk.tool_call.status for chunk in found if chunk.tool_call.id == call_id]


def test_a_held_call_has_no_result_and_ends_the_run_without_a_last_answer() -> None:
    chunks = go([call("write", path="a")], asks={"write": "always"})
    (asked,) = own(chunks, Approval)
    (called,) = {chunk.tool_call.id for chunk in own(chunks, ToolCalled)}
    assert (asked.asker, asked.calls, asked.snapshot) == ("tool", (called,), {})
    assert asked.question == "May I run this call?"
    assert statuses(chunks, called) == ["pending", "held"]
    assert own(chunks, ToolResult) == []
    assert (done(chunks).outcome, done(chunks).termination_reason) == ("paused", "needs_approval")
    assert [turn.held for turn in ends(chunks)] == [1]
    assert done(chunks).explanation == ""


def test_the_other_calls_of_the_batch_run_at_once() -> None:
    both = calls(Call("write", {"path": "a"}), Call("look", {}), Call("write", {"path": "b"}))
    chunks = go([both], asks={"write": "always"})
    (asked,) = own(chunks, Approval)
    assert list(results(chunks).values()) == ["found"]
    assert len(asked.calls) == 2
    assert asked.question == "May I run these 2 calls?"


def test_somebody_who_agreed_before_is_not_asked_once_more() -> None:
    steps = [call("write"), say("So.")]
    assert done(go(steps, asks={"write": "once"}, has_consent=True)).outcome == "completed"
    assert done(go(steps[:1], asks={"write": "always"}, has_consent=True)).outcome == "paused"


def test_where_nobody_can_be_asked_the_call_is_refused_and_the_run_goes_on() -> None:
    chunks = go([call("write"), say("So.")], asks={"write": "always"}, can_ask=False)
    (result,) = own(chunks, ToolResult)
    assert result.cause == "refused"
    assert "needs a person's yes" in result.tool_result
    assert done(chunks).outcome == "completed"


def test_a_rule_holds_a_call_with_its_own_words() -> None:
    both = calls(Call("look", {"page": 1}), Call("look", {"page": 1}), Call("write", {}))
    chunks = go([both], HOLD_LOOKS)
    (asked,) = own(chunks, Approval)
    assert asked.asker == "rule"
    assert asked.question == "May it look?\nMay I run these 2 calls?"
    assert list(results(chunks).values()) == ["ok"]


@pytest.mark.parametrize("once", [False, True])
def test_the_same_call_however_often_waits_with_the_first_of_them(once: bool) -> None:
    """A rule fires twenty times at most, and such calls count once for the cap of a turn."""
    tools = FakeTools({"look": returns("found")})
    same = calls(*[Call("look", {"page": 1})] * 30)
    chunks = go([same], replace(HOLD_LOOKS, once=once), tools=tools)
    (asked,) = own(chunks, Approval)
    assert (len(asked.calls), tools.calls, results(chunks)) == (30, [], {})


def test_where_nobody_can_be_asked_the_same_call_is_refused_with_the_first() -> None:
    tools = FakeTools({"look": returns("found")})
    same = calls(*[Call("look", {"page": 1})] * 30)
    chunks = go([same, say("So.")], HOLD_LOOKS, tools=tools, can_ask=False)
    assert (len(results(chunks)), tools.calls) == (30, [])


def test_a_rule_in_shadow_holds_nothing() -> None:
    shadow = replace(HOLD_LOOKS, mode="shadow")
    assert done(go([call("look"), say("So.")], shadow)).outcome == "completed"


def test_the_shipped_rule_asks_after_ten_calls_that_change_something() -> None:
    writes = calls(*(Call("write", {"path": str(n)}) for n in range(12)))
    chunks = go([writes], replace(MANY_WRITES, mode="on"))
    (asked,) = own(chunks, Approval)
    assert len(asked.calls) == 2
    assert list(results(chunks).values()) == ["ok"] * 10


def test_a_run_that_is_stopped_asks_nobody() -> None:
    cancellation = Cancellation()

    def stop() -> str:
        cancellation.request()
        return "stopped"

    tools = FakeTools({"look": stop, "write": returns("ok", writes=True)})
    both = calls(Call("write", {}), Call("look", {}))
    chunks = go([both], tools=tools, cancellation=cancellation, asks={"write": "always"})
    assert done(chunks).outcome == "cancelled"
    assert own(chunks, Approval) == []
    assert "Not run: the run was stopped." in results(chunks).values()


def test_a_run_that_is_stopped_when_its_calls_were_held_asks_nobody_either() -> None:
    cancellation = Cancellation()

    def stop(event: AgentEvent) -> None:
        if event.name == "turn.end":
            cancellation.request()

    chunks = go([call("write")], asks={"write": "always"}, cancellation=cancellation, observer=stop)
    assert own(chunks, ToolCalled)[-1].tool_call.status == "held"
    assert done(chunks).termination_reason == "user_cancelled"
    assert own(chunks, Approval) == []
    assert list(results(chunks).values()) == ["Not run: the run was stopped."]


def test_a_held_call_goes_before_the_last_iteration() -> None:
    async def start() -> list[OracleStreamChunk]:
        model = ScriptedModel([call("look"), call("write")])
        with FakeTools({"look": returns("found"), "write": returns("ok", writes=True)}) as tools:
            return await play(
                model,
                tools,
                config=limits(max_iterations=3),
                control=Control(asks={"write": "always"}),
            )

    assert done(run_virtual(start())).termination_reason == "needs_approval"
