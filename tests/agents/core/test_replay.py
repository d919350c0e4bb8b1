"""The record is enough: decisions can be replayed from the turns alone."""

from typing import Any

import pytest

from agents.core.chunks import (
    Decision,
    Turn,
)
from agents.core.ports import (
    ModelError,
)
from agents.core.rules import checks
from tests.agents.core.runs import (
    LOOK,
    Counting,
    decisions,
    done,
    fresh,
    limits,
    play,
)
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import (
    FakeTools,
    fails,
    returns,
)
from tests.support.virtual import virtual_time

CLOCKLESS = {
    *["completed", "max_iterations", "no_progress", "error_limit"],
    *["output_truncated", "content_filter", "empty_answer"],
}


SCENARIOS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "completed": ([call("look"), call("find"), say("So.")], {}),
    "max_iterations": ([call("page", n=n) for n in range(3)] + [say("So.")], {"max_iterations": 4}),
    "one turn": ([say("So.")], {"max_iterations": 1}),
    "no_progress": ([call("look")] * 3 + [say("So.")], {}),
    "writing": ([call("write")] * 4 + [say("So.")], {}),
    "cycle": ([call("look"), call("find")] * 3 + [call("look"), say("So.")], {}),
    "error_limit": ([call("bad", n=n) for n in range(3)] + [say("So.")], {}),
    "errors with a success": ([call("bad"), call("look"), call("bad", n=1), say("So.")], {}),
    "output_truncated": ([say("So it", finish="length")], {}),
    "content_filter": ([say("", finish="content_filter")], {}),
    "empty_answer": ([say(""), say("")], {}),
    "empty, then not": ([say(""), call("look"), say(""), say("So.")], {}),
    "provider_error": ([call("look"), ModelError("down")], {}),
    "malformed": ([calls(Call("look", "{")), say("So.")], {}),
}


@pytest.mark.parametrize("name", SCENARIOS)
@virtual_time
async def test_decisions_can_be_replayed_from_the_turns_alone(name: str) -> None:
    steps, changes = SCENARIOS[name]
    config = limits(**changes)
    tools = FakeTools(
        {
            "look": returns("same"),
            "find": returns("there"),
            "page": Counting(),
            "write": Counting(),
            "bad": fails("broken"),
        },
        writes={"write"},
    )
    with ScriptedModel(steps) as model:
        chunks = await play(model, tools, config=config)

    state = fresh(config)
    replayed = 0
    for chunk in chunks:
        if isinstance(chunk, Turn) and chunk.phase == "end":
            state = state.after_turn(chunk)
        if isinstance(chunk, Decision):
            replayed += 1
            found = {c.rule: c for c in checks(state) if c.rule in CLOCKLESS}
            recorded = chunk.checks[: len(checks(state))]
            assert found == {c.rule: c for c in recorded if c.rule in CLOCKLESS}
            if chunk.checkpoint != "wrap_up":
                fired = [rule for rule in found if found[rule].fired]
                assert chunk.reason == (fired[0] if fired else "")
    assert replayed >= 1
    assert state.turn == done(chunks).turns_used
    assert state.tokens_used == done(chunks).tokens_used


@virtual_time
async def test_a_decision_names_each_rule_once() -> None:
    """Also after the wrap-up turn, when the rule that made it the last one holds no more."""
    model = ScriptedModel([*[call("look")] * 3, say("Stuck.")])
    for decision in decisions(await play(model, FakeTools(LOOK))):
        rules = [check.rule for check in decision.checks]
        assert len(set(rules)) == len(rules)
