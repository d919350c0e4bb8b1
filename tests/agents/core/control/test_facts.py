"""Facts: what rules may know of a run, the same while it goes on and from what was stored."""

import copy
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.core.chunks import (
    CallView,
    ContextUpdate,
    Decision,
    Done,
    OracleStreamChunk,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.control.events import AgentEvent, EventType
from agents.core.control.facts import (
    HISTORY,
    PROJECT,
    RESULT,
    TOOL,
    TURN,
    USER,
    Facts,
    RunBackground,
)
from agents.core.control.kinds import fits, kind_of
from tests.agents.core.control.test_event_stream import play_scenario, store
from tests.support.scenarios import Scenario
from tests.support.seeds import in_slices

SEEDS = 40
LONG_SEEDS = 10_000
BACKGROUND = RunBackground(
    config=AgentConfig.build({"max_iterations": 10, "token_budget": 1_000, "timeout_seconds": 100}),
    user_id="7",
    project_id="p",
    note_count=12,
    writes=lambda tool: tool == "save",
)


def tell(chunks: Sequence[OracleStreamChunk], background: RunBackground) -> list[Any]:
    """Every context of a run, as it was when its event was looked at."""
    facts = Facts(background)
    return [
        copy.deepcopy(facts.build_context(event)) for chunk in chunks for event in facts.feed(chunk)
    ]


def play(*chunks: OracleStreamChunk) -> dict[str, Any]:
    """The last context of a run."""
    return dict(tell(chunks, BACKGROUND)[-1])


def called(name: str, number: int = 1, *, ok: bool = True, **more: Any) -> list[OracleStreamChunk]:
    call_id = f"call-{number}"
    view = CallView(call_id, name, {"path": f"{number}.md"}, "pending")
    values = {"tool_result": "text", "duration_ms": 20, "order": 0, **more}
    return [
        ToolCalled(tool_call=view),
        ToolResult(tool_call_id=call_id, ok=ok, cause="" if ok else "failed", **values),
    ]


def end_turn(number: int = 1, **values: Any) -> Turn:
    return Turn(number=number, phase="end", answered=True, **values)


# -- what is known --------------------------------------------------------------------------------


def test_results_are_counted_by_tool_and_told_without_their_texts() -> None:
    context = play(
        Turn(number=2, phase="start"),
        *called("look", 1),
        *called("save", 2, ok=False, tool_result="x" * 900),
        *called("save", 3, ok=False, tool_result="No."),
    )
    history = context["history"]
    assert history["tools"][0] == {
        "name": "look",
        "arguments": {"path": "1.md"},
        "success": True,
        "error": "",
        "duration_ms": 20,
        "size": 4,
        "turn": 2,
    }
    assert len(history["tools"][1]["error"]) == 500
    assert (history["calls"], history["failures"]) == ({"look": 1, "save": 2}, {"save": 2})
    assert (history["total_tool_calls"], history["total_failures"]) == (3, 2)
    assert context["result"] == {
        "tool_name": "save",
        "success": False,
        "error": "No.",
        "duration_ms": 20,
        "size": 3,
    }


def test_a_call_that_was_approved_is_known_with_its_arguments_and_counted_once() -> None:
    asked, result = called("save")
    assert isinstance(asked, ToolCalled)
    running = replace(asked, tool_call=replace(asked.tool_call, status="running"))
    for chunks in ([running, result], [asked, running, result]):
        history = play(*chunks)["history"]
        assert history["tools"][0]["arguments"] == {"path": "1.md"}
        assert history["writing_calls"] == 1


def test_a_turn_is_measured_against_the_limits() -> None:
    context = play(
        ContextUpdate(context_tokens=50, max_context_tokens=200, at=1_000.0),
        Turn(number=1, phase="start", at=1_000.5),
        end_turn(prompt_tokens=200, completion_tokens=50, finish_reason="tool_calls", at=1_025.0),
    )
    assert context["turn"] == {
        "number": 1,
        "iteration_count": 1,
        "iteration_usage": 0.1,
        "token_usage": 0.25,
        "context_usage": 0.25,
        "time_usage": 0.25,
        "elapsed": 25.0,
        "is_wrap_up": False,
        "answered": False,
    }
    assert context["result"] is None


def test_a_turn_has_answered_when_it_ended_with_an_answer() -> None:
    assert play(end_turn(finish_reason="stop"))["turn"]["answered"]
    assert not play(end_turn(finish_reason="tool_calls"))["turn"]["answered"]
    again = play(end_turn(finish_reason="stop"), Turn(number=2, phase="start", wrap_up="timeout"))
    assert (again["turn"]["answered"], again["turn"]["is_wrap_up"]) == (False, True)


def test_an_event_says_whether_its_tool_writes() -> None:
    asked, *_ = tell(called("save"), BACKGROUND)
    assert asked["event"]["payload"]["writes"] is True
    assert asked["event"]["type"] == "tool.call.pending"
    assert tell(called("look"), BACKGROUND)[0]["event"]["payload"]["writes"] is False


def test_user_and_project_are_known_from_the_beginning() -> None:
    context = play(Turn(number=1, phase="start"))
    assert (context["user"]["id"], context["user"]["settings"]["max_iterations"]) == ("7", 10)
    assert (context["project"]["id"], context["project"]["note_count"]) == ("p", 12)


def test_sources_are_known_once_each_and_not_those_of_subagents() -> None:
    def cite(path: str, parent: str = "") -> Source:
        return Source(source=SourceRef(path, "vault"), parent=parent)

    found = [cite("A.md"), cite("B.md"), cite("A.md"), cite("C.md", "call-1")]
    assert play(*found, end_turn())["history"]["sources"] == ["A.md", "B.md"]


def test_an_event_of_a_rule_comes_from_a_rule() -> None:
    event = AgentEvent("x.mine", 1, 0.0, {"count": 1}, EventType("info", "rule", {}))
    told = Facts(BACKGROUND).build_context(event)["event"]
    assert (told["source"], told["severity"], told["payload"]) == ("rule", "info", {"count": 1})


def test_times_are_those_that_rows_keep() -> None:
    chunks = [Turn(number=1, phase="start", at=0.0001), end_turn(at=1.9999)]
    assert play(*chunks)["turn"]["elapsed"] == play(*store(chunks))["turn"]["elapsed"] == 1.999


# -- live and stored ------------------------------------------------------------------------------


def assert_alike(seeds: Sequence[int]) -> None:
    for seed in seeds:
        scenario = Scenario.of(seed)
        config = scenario.config.restrict_to(scenario.tree.get_config())
        background = RunBackground(config=config, writes=lambda tool: tool == "save")
        chunks, seen = play_scenario(seed)
        live = tell(chunks, background)
        assert live == tell(store(chunks), background), seed
        assert [context["event"]["type"] for context in live] == [event.name for event in seen]
        assert_counted(chunks, background, live[-1])
        for context in live:
            assert_of_its_kinds(context)


def assert_counted(
    chunks: Sequence[OracleStreamChunk], background: RunBackground, last: dict[str, Any]
) -> None:
    """The facts are what the loop itself has counted."""
    done = chunks[-1]
    assert isinstance(done, Done)
    assert last["turn"]["iteration_count"] == done.turns_used
    assert last["turn"]["token_usage"] == done.tokens_used / background.config.token_budget
    facts = Facts(background)
    for chunk in chunks:
        facts.feed(chunk)
        if isinstance(chunk, Decision) and not chunk.parent:
            counted = {check.rule: check.value for check in chunk.checks}
            assert counted["max_iterations"] == facts.turn["iteration_count"]


def assert_of_its_kinds(context: dict[str, Any]) -> None:
    records = {"turn": TURN, "history": HISTORY, "user": USER, "project": PROJECT}
    if context["result"] is not None:
        records["result"] = RESULT
    for name, record in records.items():
        assert set(context[name]) == set(record.fields)
        for field, kind in record.fields.items():
            known = kind_of(context[name][field])
            assert fits(known, kind) or kind == USER.fields["settings"], (name, field)
    for tool in context["history"]["tools"]:
        assert set(tool) == set(TOOL.fields)


def test_live_and_stored_runs_have_the_same_facts() -> None:
    assert_alike(range(SEEDS))


@pytest.mark.long
@in_slices(LONG_SEEDS)
def test_ten_thousand_live_and_stored_runs_have_the_same_facts(seeds: range) -> None:
    assert_alike(seeds)
