"""Calls of a behaviour that had to be asked for: what came of them is known when it goes on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from agents.core.behaviours import read_behaviour
from agents.core.chunks import Approval, Hint, OracleStreamChunk, ToolCalled, Turn
from agents.core.loop import Control, HeldCall, Resume
from tests.agents.core.factories import limits, own, play, reason, results
from tests.support.script import say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, fails, returns
from tests.support.virtual import virtual_time


def driven(text: str, **options: Any) -> Control:
    return Control(behaviour=read_behaviour(text), asks={"save": "always"}, **options)


def approve_all(chunks: Sequence[OracleStreamChunk]) -> Resume:
    """Return a yes to all that a run has asked, as rows bring it back."""
    (asked,) = own(chunks, Approval)
    views = {one.tool_call.id: one.tool_call for one in own(chunks, ToolCalled)}
    held = tuple(
        HeldCall(
            id=one,
            name=views[one].name,
            arguments=cast(Mapping[str, Any], views[one].arguments),
            decision="approved",
        )
        for one in asked.calls
    )
    return Resume(decision="approved", calls=held, snapshot=json.loads(json.dumps(asked.snapshot)))


@virtual_time
async def test_what_calls_side_by_side_came_to_outlives_every_question_between_them() -> None:
    control = driven(
        '(tree "mine" :blackboard-schema {:found [] :list ["a" "b" "c" "d" "e"]} (sequence '
        '(parallel (for-each (blackboard :list) (call save :args {:n "{item}"} :into :found))) '
        '(turn :say "They said: {found}")))'
    )
    tools = FakeTools({"save": returns("saved", writes=True)})
    config = limits(max_tool_calls_per_turn=2)
    for _ in range(3):
        chunks = await play(ScriptedModel([]), tools, control=control, config=config)
        control = replace(control, resume=approve_all(chunks))
    chunks = await play(ScriptedModel([say("So.")]), tools, control=control, config=config)
    assert [made.arguments["n"] for made in tools.calls] == list("abcde")
    assert own(chunks, Hint)[0].text.count("saved") == 5
    assert reason(chunks) == "completed"


@virtual_time
async def test_results_are_in_the_order_of_the_list_whichever_were_asked_for() -> None:
    control = driven(
        '(tree "mine" (selector '
        '(sequence (parallel (call save) (call look)) (turn :interim "both")) '
        '(turn :interim "not both") (turn)))'
    )
    tools = FakeTools({"save": returns("saved", writes=True), "look": fails()})
    chunks = await play(ScriptedModel([]), tools, control=control)
    control = replace(control, resume=approve_all(chunks))
    chunks = await play(ScriptedModel([], then=say("So.")), tools, control=control)
    labels = [turn.interim for turn in own(chunks, Turn) if turn.phase == "start"]
    assert labels[0] == "not both"  # one of the calls failed, before anybody was asked


@virtual_time
async def test_large_results_do_not_keep_a_behaviour_from_going_on() -> None:
    """They do not fit on the blackboard, whether somebody is asked or not."""
    items = " ".join(f'"{n}"' for n in range(30))
    control = driven(
        f'(tree "mine" :blackboard-schema {{:found [] :list [{items}]}} (selector (sequence '
        '(parallel (for-each (blackboard :list) (call save :args {:n "{item}"} :into :found))) '
        '(turn :interim "written")) (turn :interim "too large") (turn)))'
    )
    tools = FakeTools({"save": returns("x" * 60_000, writes=True)})
    config = limits(max_tool_calls_per_turn=15, token_budget=200_000)
    for _ in range(2):
        chunks = await play(ScriptedModel([]), tools, control=control, config=config)
        assert len(str(own(chunks, Approval)[0].snapshot)) < 50_000
        control = replace(control, resume=approve_all(chunks))
    chunks = await play(ScriptedModel([], then=say("So.")), tools, control=control, config=config)
    assert len(tools.calls) == 30
    labels = [turn.interim for turn in own(chunks, Turn) if turn.phase == "start"]
    assert labels[0] == "too large"


@virtual_time
async def test_nobody_is_asked_for_a_call_beside_one_that_was_enough() -> None:
    control = driven(
        '(tree "mine" (sequence (parallel :policy :require-one (call save) (call look)) (turn)))'
    )
    tools = FakeTools({"save": returns("saved", writes=True), "look": returns("found")})
    chunks = await play(ScriptedModel([say("So.")]), tools, control=control)
    assert list(results(chunks).values()) == ["found", "Not run: another call was enough."]
    assert reason(chunks) == "completed"
