"""Trees that drive the loop, and trees that fail in it."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pytest

from agents.core.chunks import (
    Error,
    Hint,
    OracleStreamChunk,
    SystemMessage,
)
from agents.core.config import AgentConfig
from agents.core.control.event_stream import list_events
from agents.core.control.events import AgentEvent
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.reasons import REASONS, Outcome, Reason
from agents.core.state import AgentState, Notice
from tests.agents.core.factories import (
    LOOK,
    Counting,
    decisions,
    done,
    ends,
    limits,
    looking,
    notices,
    now,
    own,
    play,
    reason,
    results,
    text,
    working_until_told,
)
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import Pause, ScriptedModel
from tests.support.tools import (
    FakeTools,
    fails,
    returns,
    slow,
)
from tests.support.virtual import virtual_time


class YesTree(DefaultDecisionTree):
    """Always goes on."""

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return True, ""


@virtual_time
async def test_a_tree_that_always_says_yes_is_stopped() -> None:
    model = ScriptedModel([], then=working_until_told)
    config = limits(max_iterations=4)
    chunks = await play(model, looking(), tree=YesTree(config), config=config)
    assert (reason(chunks), done(chunks).turns_used) == ("max_iterations", 4)
    assert len(model.requests) == 4
    assert text(chunks) == "That is all."


@virtual_time
async def test_a_tree_that_always_says_yes_is_stopped_by_time() -> None:
    config = limits(timeout_seconds=10)
    model = ScriptedModel([[Pause(1_000)]])
    chunks = await play(model, looking(), tree=YesTree(config), config=config)
    assert reason(chunks) == "timeout"
    assert now() <= 10.5


@pytest.mark.parametrize(
    "method", ["should_continue", "on_turn_start", "on_tool_result", "get_config"]
)
@virtual_time
async def test_a_tree_that_raises_costs_the_run_nothing_and_is_told_once(method: str) -> None:
    class Broken(DefaultDecisionTree):
        pass

    def broken(*_: Any) -> Any:
        raise RuntimeError("secret detail")

    setattr(Broken, method, broken)
    model = ScriptedModel([call("look"), call("look"), say("So.")])
    config = limits()
    chunks = await play(model, looking(), tree=Broken(config), config=config)
    assert reason(chunks) == "completed"
    (notice,) = notices(chunks, "notification")
    assert f"Broken.{method}" in notice.system_message
    assert "secret" not in notice.system_message
    assert decisions(chunks)[-1].tree == "default"


@pytest.mark.parametrize(
    "nonsense", [{"notices": ("hello",)}, {"withheld_tools": None}, {"extensions": {}}], ids=str
)
@virtual_time
async def test_a_tree_that_returns_a_broken_state_costs_the_run_nothing(
    nonsense: dict[str, Any],
) -> None:
    class Careless(DefaultDecisionTree):
        def on_turn_start(self, state: AgentState) -> AgentState:
            return replace(state, **nonsense)

    config = limits()
    chunks = await play(
        ScriptedModel([call("look"), say("So.")]), looking(), tree=Careless(config), config=config
    )
    assert reason(chunks) == "completed"


@pytest.mark.parametrize("unchecked", [{"max_iterations": 0}, {"token_budget": "much"}], ids=str)
@virtual_time
async def test_a_tree_with_an_impossible_configuration_costs_the_run_nothing(
    unchecked: dict[str, Any],
) -> None:
    class Careless(DefaultDecisionTree):
        def get_config(self) -> AgentConfig:
            return self.config.model_copy(update=unchecked)

    config = limits()
    model = ScriptedModel([say("So.")])
    chunks = await play(model, looking(), tree=Careless(config), config=config)
    assert reason(chunks) == "completed"


@virtual_time
async def test_a_tree_that_forges_facts_changes_nothing() -> None:
    class Forger(YesTree):
        def on_turn_start(self, state: AgentState) -> AgentState:
            return replace(state, turn=0, tokens_used=0, config=limits(max_iterations=50))

        def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
            return self.on_turn_start(state)

    config = limits(max_iterations=3)
    model = ScriptedModel([], then=working_until_told)
    chunks = await play(model, looking(), tree=Forger(config), config=config)
    assert (reason(chunks), done(chunks).turns_used) == ("max_iterations", 3)
    assert done(chunks).tokens_used == sum(
        turn.prompt_tokens + turn.completion_tokens for turn in ends(chunks)
    )


@virtual_time
async def test_a_tree_hears_of_every_result_in_call_order() -> None:
    heard: list[Mapping[str, Any]] = []

    class Listening(DefaultDecisionTree):
        def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
            heard.append(result)
            return state

    tools = FakeTools({"slow": slow(5, "late"), "bad": fails("no")})
    wanted = calls(Call("slow", {"p": 1}, "s"), Call("bad", {}, "b"), Call("slow", "{", "m"))
    config = limits()
    await play(ScriptedModel([wanted, say("So.")]), tools, tree=Listening(config), config=config)
    assert set(heard[0]) == {
        *["call_id", "name", "arguments", "ok", "content", "duration_ms", "order", "batch_size"]
    }
    assert [(h["call_id"], h["ok"], h["order"], h["batch_size"]) for h in heard] == [
        ("s", True, 0, 3),
        ("b", False, 1, 3),
        ("m", False, 2, 3),
    ]
    assert heard[0]["arguments"] == {"p": 1}
    assert heard[0]["duration_ms"] == 5_000


@virtual_time
async def test_what_a_tree_wants_said_is_said_to_both_once() -> None:
    class Chatty(DefaultDecisionTree):
        def on_turn_start(self, state: AgentState) -> AgentState:
            return state.with_notice(
                Notice(key="mine", system_type="notification", message="For you.", hint="For it.")
            )

    config = limits()
    model = ScriptedModel([call("look"), call("look"), say("So.")])
    chunks = await play(model, looking(), tree=Chatty(config), config=config)
    assert [n.system_message for n in notices(chunks, "notification")] == ["For you."]
    assert [hint.text for hint in own(chunks, Hint)] == ["[Oracle: For it.]"]


@virtual_time
async def test_a_withheld_tool_is_neither_offered_nor_run() -> None:
    class Without(DefaultDecisionTree):
        withholds = frozenset({"look"})

    config = limits()
    tools = FakeTools({"look": returns("x"), "find": returns("y")})
    model = ScriptedModel([call("look"), say("So.")])
    chunks = await play(model, tools, tree=Without(config), config=config)
    offered = [[t["function"]["name"] for t in request.tools] for request in model.requests]
    assert offered == [["find"], ["find"]]
    assert tools.started == 0
    assert "not available" in next(iter(results(chunks).values()))
    assert notices(chunks, "tool_limit") == []


@dataclass(frozen=True, kw_only=True)
class Reflective(AgentState):
    passes: int = 0


class ReflectiveTree(DefaultDecisionTree):
    """Has the answer looked over once more before the run is complete."""

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        goes_on, why = super().should_continue(state)
        if why == "completed" and isinstance(state, Reflective) and state.passes < 2:
            return True, ""
        return goes_on, why

    def on_turn_start(self, state: AgentState) -> AgentState:
        assert isinstance(state, Reflective)
        return replace(super().on_turn_start(state), passes=state.passes + 1)  # type: ignore[call-arg]


@virtual_time
async def test_a_tree_may_go_on_after_an_answer_with_a_state_of_its_own() -> None:
    config = limits()
    state = Reflective(user_id="ada", project_id="engine", config=config)
    with ScriptedModel([say("First."), say(" Second.")]) as model:
        chunks = await play(model, looking(), tree=ReflectiveTree(config), state=state)
    assert (reason(chunks), done(chunks).turns_used) == ("completed", 2)
    assert text(chunks) == "First. Second."
    assert [hint.text for hint in own(chunks, Hint)] == ["[Oracle: Go on.]"]


@pytest.fixture
def bored(monkeypatch: pytest.MonkeyPatch) -> Reason:
    """A reason of a third party, registered as its own module would at start-up."""
    monkeypatch.setattr(REASONS, "_entries", dict(REASONS._entries))
    monkeypatch.setattr(REASONS, "_closed", False)
    entry = Reason(
        code="bored",
        outcome=Outcome.LIMITED,
        label="Bored",
        severity="warning",
        sentence="The agent got bored.",
        remedy="Ask something exciting.",
        wraps_up=True,
    )
    return REASONS.register("bored", entry)


class BoredTree(DefaultDecisionTree):
    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return (False, "bored") if state.turn == 2 else super().should_continue(state)


@pytest.mark.parametrize("wraps_up", [True, False])
def test_a_reason_of_a_third_party_ends_a_run_like_ours(
    bored: Reason, wraps_up: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(REASONS._entries, "bored", replace(bored, wraps_up=wraps_up))

    @virtual_time
    async def program() -> list[OracleStreamChunk]:
        config = limits()
        model = ScriptedModel([], then=working_until_told)
        return await play(model, looking(), tree=BoredTree(config), config=config)

    chunks = program()
    last = done(chunks)
    assert (last.termination_reason, last.outcome) == ("bored", "limited")
    assert last.turns_used == (3 if wraps_up else 2)
    assert "The agent got bored." in last.explanation
    assert "Ask something exciting." in last.explanation
    (notice,) = notices(chunks, "limit_reached")
    assert "The agent got bored." in notice.system_message
    fired = [check.rule for check in decisions(chunks)[-1].checks if check.fired]
    assert "bored" in fired


def test_a_failure_of_a_third_party_is_an_error_like_ours(
    bored: Reason, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = replace(bored, outcome=Outcome.FAILED, wraps_up=False)
    monkeypatch.setitem(REASONS._entries, "bored", failed)

    @virtual_time
    async def program() -> list[OracleStreamChunk]:
        config = limits()
        model = ScriptedModel([], then=working_until_told)
        return await play(model, looking(), tree=BoredTree(config), config=config)

    chunks = program()
    error = chunks[-2]
    assert isinstance(error, Error)
    assert (error.code, done(chunks).outcome) == ("bored", "failed")


def detected(chunks: list[OracleStreamChunk]) -> list[AgentEvent]:
    return [event for event in list_events(chunks) if event.name == "agent.loop.detected"]


@virtual_time
async def test_an_identical_loop_is_detected_once_with_one_notice() -> None:
    model = ScriptedModel([call("look"), call("look"), call("look"), say("Stuck.")])
    chunks = await play(model, FakeTools(LOOK))
    assert reason(chunks) == "no_progress"
    assert len(detected(chunks)) == 1
    assert [c.system_type for c in own(chunks, SystemMessage)] == ["no_progress"]


@virtual_time
async def test_a_loop_that_was_told_before_it_ended_the_run_is_still_detected_once() -> None:
    """The same write four times: told at the third, ended at the fourth."""
    tools = FakeTools({"write": Counting()}, writes={"write"})
    model = ScriptedModel([*[call("write")] * 4, say("Stuck.")])
    chunks = await play(model, tools)
    assert reason(chunks) == "no_progress"
    assert len(detected(chunks)) == 1


@virtual_time
async def test_the_model_is_warned_at_the_second_identical_turn() -> None:
    model = ScriptedModel([call("look"), call("look"), say("Otherwise, then.")])
    chunks = await play(model, FakeTools(LOOK))
    assert reason(chunks) == "completed"
    (hint,) = own(chunks, Hint)
    assert "same calls" in hint.text
    assert own(chunks, SystemMessage) == []


@virtual_time
async def test_identical_failures_are_no_progress_and_also_too_many_errors() -> None:
    model = ScriptedModel([call("bad"), call("bad"), call("bad"), say("Sorry.")])
    chunks = await play(model, FakeTools({"bad": fails("no such note")}))
    last = done(chunks)
    assert last.termination_reason == "no_progress"
    assert "error_limit" in last.also_triggered


@virtual_time
async def test_three_different_failing_turns_end_the_run_with_the_errors() -> None:
    wanted = [call("bad", page=n) for n in range(3)]
    chunks = await play(ScriptedModel([*wanted, say("Sorry.")]), FakeTools({"bad": fails("gone")}))
    assert reason(chunks) == "error_limit"
    assert done(chunks).explanation.count("bad: gone") == 1
