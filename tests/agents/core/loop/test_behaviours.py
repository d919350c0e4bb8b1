"""Behaviours in the real loop: the shipped ones, and what their nodes make of a run."""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from agents.core.behaviours import Behaviour, read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Approval,
    Error,
    Hint,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    Turn,
)
from agents.core.loop import ApprovalDecision, Control, HeldCall, Resume
from agents.core.messages import ModelError, ModelRequest
from agents.core.replay.engine import replay
from agents.core.run_record import RunRecord
from agents.core.tasks import abandoned_tasks
from agents.llm.errors import KeyRefused
from tests.agents.core.factories import (
    decisions,
    done,
    ends,
    limits,
    notices,
    own,
    play,
    reason,
    results,
)
from tests.agents.core.recorded_runs import recording_of
from tests.support.script import Call, Reply, call, calls, say
from tests.support.scripted_model import Answer, Pause, ScriptedModel
from tests.support.tools import FakeTools, hangs, returns
from tests.support.virtual import virtual_time

SHIPPED = {name: read_behaviour(text) for name, text in load_shipped_texts().items()}
PHASES: dict[str, Sequence[Answer]] = {
    "oracle-agent": [call("look"), say("Found.")],
    "plan-then-do": [call("look"), say("1. Save."), call("save"), say("Saved.")],
    "checked-answer": [say("It is so."), call("look"), say("It is not."), say("It is not so.")],
    "deep-research": [say("- one\n- two"), call("look"), say("Report.")],
    "ask-first": [call("look"), say("Save it.")],
}
"""What the model says in each: the good way."""
NAMES = list(PHASES)


def toolbox() -> FakeTools:
    return FakeTools(
        {
            "look": returns("found"),
            "save": returns("saved", writes=True),
            "delegate_librarian": lambda task="": f"report on {task[:12]}",
        }
    )


def driven(behaviour: str | Behaviour, **options: Any) -> Control:
    if isinstance(behaviour, str):
        behaviour = SHIPPED.get(behaviour) or read_behaviour(f'(tree "mine" {behaviour})')
    return Control(behaviour=behaviour, **options)


def read(chunks: Sequence[OracleStreamChunk]) -> RunRecord:
    record = RunRecord()
    for chunk in chunks:
        record.add(chunk)
    return record


def labels(chunks: Sequence[OracleStreamChunk]) -> list[str]:
    return [turn.interim for turn in own(chunks, Turn) if turn.phase == "start"]


def hints(chunks: Sequence[OracleStreamChunk]) -> list[str]:
    return [hint.text for hint in own(chunks, Hint)]


def offered(request: ModelRequest) -> list[str]:
    if request.tool_choice == "none":
        return []
    return [tool["function"]["name"] for tool in request.tools]


# -- the good way ---------------------------------------------------------------------------------


@virtual_time
async def test_a_plan_is_made_without_touching_and_then_worked_off() -> None:
    with ScriptedModel(PHASES["plan-then-do"]) as model:
        chunks = await play(model, toolbox(), control=driven("plan-then-do"))
    assert reason(chunks) == "completed"
    assert labels(chunks) == ["Plan", "Plan", "", ""]
    record = read(chunks)
    assert record.answer == "Saved."
    assert [label for label, _ in record.interims] == ["Plan", "Plan"]
    assert [notice.system_message for notice in notices(chunks, "notification")] == [
        "Plan\n1. Save."
    ]
    reading, everything = ["look", "delegate_librarian"], ["look", "save", "delegate_librarian"]
    assert [offered(request) for request in model.requests] == [reading] * 2 + [everything] * 2
    assert [hint.partition(".")[0] for hint in hints(chunks)] == [
        "[Oracle: Look around if you must",
        "[Oracle: Work off your plan",
    ]


@virtual_time
async def test_a_draft_is_checked_and_the_corrected_answer_is_the_answer() -> None:
    with ScriptedModel(PHASES["checked-answer"]) as model:
        chunks = await play(model, toolbox(), control=driven("checked-answer"))
    assert reason(chunks) == "completed"
    assert labels(chunks) == ["Draft", "Check", "Check", ""]
    assert read(chunks).answer == "It is not so."
    assert offered(model.requests[-1]) == []
    assert "corrected answer" in hints(chunks)[-1]


@virtual_time
async def test_a_draft_without_doubts_is_given_as_it_is() -> None:
    with ScriptedModel([say("It is so."), say("None"), say("It is so.")]) as model:
        chunks = await play(model, toolbox(), control=driven("checked-answer"))
    assert reason(chunks) == "completed"
    assert "unchanged" in hints(chunks)[-1]


@virtual_time
async def test_topics_are_read_side_by_side_and_become_one_report() -> None:
    with ScriptedModel(PHASES["deep-research"]) as model:
        chunks = await play(model, toolbox(), control=driven("deep-research"))
    assert reason(chunks) == "completed"
    assert labels(chunks) == ["Topics", "Calls", "", ""]
    tasks = [one.tool_call.arguments for one in own(chunks, ToolCalled)]
    assert tasks[0] == {"task": "Topic: one. It is part of this question: What is it?"}
    assert [turn.answered for turn in ends(chunks)] == [True, False, True, True]
    assert [turn.number for turn in ends(chunks)] == [1, 2, 2, 3]
    assert done(chunks).turns_used == 3
    sent = model.requests[1].messages
    assert [message["role"] for message in sent][-3:] == ["assistant", "tool", "tool"]
    assert sent[-3]["content"] == "- one\n- two"
    assert not any("Go on." in hint for hint in hints(chunks))


async def ask_first() -> Approval:
    with ScriptedModel(PHASES["ask-first"]) as model:
        chunks = await play(model, toolbox(), control=driven("ask-first"))
    last = done(chunks)
    assert (last.termination_reason, last.outcome) == ("needs_approval", "paused")
    (asked,) = own(chunks, Approval)
    assert asked.asker == "behaviour"
    assert asked.question == "May I do this?\nSave it."
    assert read(chunks).answer == ""
    return asked


@virtual_time
async def test_a_run_that_asks_ends_and_goes_on_where_it_stood() -> None:
    asked = await ask_first()
    resume = Resume(decision="approved", snapshot=asked.snapshot)
    with ScriptedModel([call("save"), say("Saved.")]) as model:
        chunks = await play(model, toolbox(), control=driven("ask-first", resume=resume))
    assert reason(chunks) == "completed"
    assert "The user agreed to your list." in hints(chunks)[0]
    assert list(results(chunks).values()) == ["saved"]


@virtual_time
async def test_a_no_leaves_everything_as_it_was() -> None:
    asked = await ask_first()
    resume = Resume(decision="refused", snapshot=asked.snapshot)
    with ScriptedModel([call("save"), say("All is as it was.")]) as model:
        chunks = await play(model, toolbox(), control=driven("ask-first", resume=resume))
    assert reason(chunks) == "completed"
    assert "The user did not agree" in hints(chunks)[0]
    assert list(results(chunks).values()) == ["Refused: save is not available in this step."]


@virtual_time
@pytest.mark.parametrize(
    "node",
    [
        '(sequence (approve "May I?") (turn))',
        '(repeater :until-success :max-iterations 1 (sequence (approve "May I?") (turn)))',
        '(sequence (turn :interim "Plan") (approve "May I?") (turn))',
    ],
)
async def test_a_no_without_a_branch_ends_as_declined_and_asks_nobody_more(node: str) -> None:
    model = ScriptedModel([], then=say("1. Save."))
    (asked,) = own(await play(model, toolbox(), control=driven(node)), Approval)
    resume = Resume(decision="refused", snapshot=asked.snapshot)
    with ScriptedModel([]) as model:
        chunks = await play(model, toolbox(), control=driven(node, resume=resume))
    assert (reason(chunks), done(chunks).outcome) == ("declined", "completed")
    assert [notice.severity for notice in own(chunks, SystemMessage)] == []
    assert own(chunks, Error) == []
    config = limits()
    again = replay(recording_of(chunks, config, "default"))
    assert (again.kind, again.why_unknown) == ("same", "")


@virtual_time
async def test_a_no_after_which_more_was_done_is_not_why_the_run_ends() -> None:
    node = '(selector (approve "May I?") (turn :interim "Other"))'
    (asked,) = own(await play(ScriptedModel([]), toolbox(), control=driven(node)), Approval)
    resume = Resume(decision="refused", snapshot=asked.snapshot)
    chunks = await play(
        ScriptedModel([], then=say("So.")), toolbox(), control=driven(node, resume=resume)
    )
    assert (reason(chunks), read(chunks).answer) == ("behaviour_ended", "So.")


@virtual_time
async def test_what_should_be_different_is_told_to_the_model() -> None:
    asked = await ask_first()
    words = "Only the first."
    resume = Resume(decision="differently", words=words, snapshot=asked.snapshot)
    with ScriptedModel([say("Then: the first.")]) as model:
        chunks = await play(model, toolbox(), control=driven("ask-first", resume=resume))
    assert "[Oracle: The user says what to do differently: Only the first.]" in hints(chunks)[0]
    assert read(chunks).answer == "Then: the first."


@virtual_time
async def test_every_decision_has_the_way_that_led_to_it() -> None:
    with ScriptedModel(PHASES["plan-then-do"]) as model:
        chunks = await play(model, toolbox(), control=driven("plan-then-do"))
    assert [one.path for one in decisions(chunks)] == ["", "3-", "3+ 2+ 4+", "6-", "6+ 5+ 1+"]


@pytest.mark.parametrize(
    ("write", "why"),
    [
        ('(set :depth (expr "many"))', "kind"),
        ('(set :many "{long}{long}")', "size"),
        ('(set :many (expr "depth / 0"))', "value"),
    ],
)
@virtual_time
async def test_the_path_says_why_a_value_was_not_written(write: str, why: str) -> None:
    schema = ':blackboard-schema {:depth 1 :many any :long "" :kept ""}'
    long = " ".join(f'(set :long "{{long}}{"x" * 1_500}")' for _ in range(10))
    node = (
        f'(sequence {long} (set :many "words{{long}}") (set :kept "{{depth}}") '
        f"(decorator always-succeed {write}) "
        '(notify "{depth} {kept}") (turn))'
    )
    behaviour = read_behaviour(f'(tree "mine" {schema} {node})')
    with ScriptedModel([say("Done.")]) as model:
        chunks = await play(model, toolbox(), control=driven(behaviour))
    assert f" 15-{why} " in f"{decisions(chunks)[0].path} "
    assert [one.system_message for one in notices(chunks, "notification")] == ["1 1"]


# -- whatever else happens ------------------------------------------------------------------------


def endless(request: ModelRequest) -> Answer:
    return say("All I have.") if request.tool_choice == "none" else call("look")


@virtual_time
@pytest.mark.parametrize("turns", [1, 3])
@pytest.mark.parametrize("name", NAMES)
async def test_a_shipped_behaviour_keeps_to_few_iterations(name: str, turns: int) -> None:
    model = ScriptedModel([], then=endless)
    config = limits(max_iterations=turns)
    chunks = await play(model, toolbox(), config=config, control=driven(name))
    assert len(model.requests) <= turns
    if turns == 1:
        assert reason(chunks) == "max_iterations"
        assert labels(chunks) == [""]
        (hint,) = hints(chunks)  # nothing but that this is the last answer
        assert "This is your last reply" in hint
    assert read(chunks).answer == "All I have."


@virtual_time
@pytest.mark.parametrize("name", NAMES)
async def test_a_shipped_behaviour_ends_with_an_answer_when_its_tokens_do(name: str) -> None:
    model = ScriptedModel([], then=endless)
    config = limits(token_budget=1_500, max_iterations=50)
    chunks = await play(model, toolbox(), config=config, control=driven(name))
    assert done(chunks).outcome == "limited"
    assert read(chunks).answer == "All I have."


@virtual_time
@pytest.mark.parametrize("phase", range(4))
@pytest.mark.parametrize("name", NAMES)
async def test_a_shipped_behaviour_is_cancelled_in_each_of_its_phases(
    name: str, phase: int
) -> None:
    answers = list(PHASES[name])
    if phase >= len(answers):
        return
    cancellation = Cancellation()
    steps = [*answers[:phase], [Pause(600)]]
    asyncio.get_running_loop().call_later(5, cancellation.request)
    model = ScriptedModel(steps)
    chunks = await play(model, toolbox(), control=driven(name), cancellation=cancellation)
    assert reason(chunks) == "user_cancelled"
    assert chunks[-1].at - chunks[0].at == pytest.approx(5, abs=0.5)
    assert model.open == 0
    assert abandoned_tasks() == 0


@virtual_time
@pytest.mark.parametrize("phase", range(4))
@pytest.mark.parametrize("name", NAMES)
async def test_a_failing_endpoint_ends_a_shipped_behaviour_in_each_of_its_phases(
    name: str, phase: int
) -> None:
    answers = list(PHASES[name])
    if phase >= len(answers):
        return
    model = ScriptedModel(answers[:phase], then=KeyRefused())
    chunks = await play(model, toolbox(), control=driven(name))
    assert reason(chunks) == "provider_error"
    assert len(model.requests) <= phase + 2
    assert decisions(chunks)[-1].goes_on


# -- leaves that take time ------------------------------------------------------------------------

LEAVES: dict[str, Callable[[], Sequence[Answer]]] = {
    "(turn)": lambda: [[Pause(600)]],
    "(decorator budget-check (llm-call))": lambda: [[Pause(600)]],
    "(call hang)": list,
    "(parallel (call hang) (call hang))": list,
    "(decorator timeout :seconds 300 (call hang))": list,
    "(sequence (turn))": lambda: [call("hang")],
}


@virtual_time
@pytest.mark.parametrize("is_cancelled", [True, False])
@pytest.mark.parametrize("node", LEAVES)
async def test_every_leaf_ends_with_its_run(node: str, is_cancelled: bool) -> None:
    """By a cancellation after five seconds, or at the deadline."""
    cancellation = Cancellation()
    if is_cancelled:
        asyncio.get_running_loop().call_later(5, cancellation.request)
    model = ScriptedModel(LEAVES[node](), then=say("That is all."))
    chunks = await play(
        model,
        FakeTools({"hang": hangs()}),
        config=limits(timeout_seconds=20),
        control=driven(node),
        cancellation=cancellation,
    )
    took = chunks[-1].at - chunks[0].at
    assert reason(chunks) == ("user_cancelled" if is_cancelled else "timeout")
    assert took <= (5.5 if is_cancelled else 20.5)
    assert model.open == 0


# -- what a node may ask of a turn ----------------------------------------------------------------


@virtual_time
async def test_a_behaviour_that_ends_without_an_answer_has_the_model_answer() -> None:
    with ScriptedModel([call("look"), say("All I have.")]) as model:
        chunks = await play(model, toolbox(), control=driven("(turn)"))
    assert reason(chunks) == "behaviour_ended"
    assert read(chunks).answer == "All I have."
    assert offered(model.requests[-1]) == []


@virtual_time
async def test_a_run_is_stopped_for_the_reason_that_a_node_gives() -> None:
    node = '(sequence (turn :interim "Plan") (stop no_progress))'
    chunks = await play(ScriptedModel([say("Plan."), say("So.")]), toolbox(), control=driven(node))
    assert reason(chunks) == "no_progress"
    assert read(chunks).answer == "So."


@virtual_time
@pytest.mark.parametrize(
    ("tools", "names"),
    [
        (":all", ["look", "save", "delegate_librarian"]),
        (":reading", ["look", "delegate_librarian"]),
        (":none", []),
        ("[save]", ["save"]),
        ("[nothing]", []),
    ],
)
async def test_only_the_tools_of_a_turn_are_offered_and_run(tools: str, names: list[str]) -> None:
    answer = calls(Call("look", {}), Call("save", {}))
    model = ScriptedModel([answer], then=say("So."))
    chunks = await play(model, toolbox(), control=driven(f"(turn :tools {tools})"))
    assert offered(model.requests[0]) == names
    wanted = [
        {"look": "found", "save": "saved"}[name]
        if name in names
        else f"Refused: {name} is not available in this step."
        for name in ("look", "save")
    ]
    assert sorted(results(chunks).values()) == sorted(wanted)


@virtual_time
async def test_tools_are_shown_and_not_offered_where_calls_were_made_before() -> None:
    """Providers refuse a history with calls and no tools."""
    node = "(sequence (decorator invert (turn)) (turn :tools :none))"
    with ScriptedModel([call("look"), say("So.")]) as model:
        await play(model, toolbox(), control=driven(node))
    assert model.requests[1].tool_choice == "none"
    assert len(model.requests[1].tools) == 3


@virtual_time
async def test_a_turn_has_no_more_tokens_and_time_than_its_node_says() -> None:
    node = (
        '(sequence (turn :interim "Plan" :budget 50) (decorator invert (turn :timeout 2)) (turn))'
    )
    steps: Sequence[Answer] = [Reply(text="A plan", finish="length"), [Pause(60)], say("So.")]
    with ScriptedModel(steps) as model:
        chunks = await play(model, toolbox(), control=driven(node))
    assert model.requests[0].max_tokens == 50
    assert [turn.finish_reason for turn in ends(chunks)] == ["length", "cut", "stop"]
    assert reason(chunks) == "completed"


@virtual_time
async def test_the_others_are_cut_where_one_call_is_enough() -> None:
    node = "(sequence (parallel :policy :require-one (call look) (call hang) (call hang)) (turn))"
    tools = FakeTools({"look": returns("found"), "hang": hangs()})
    chunks = await play(ScriptedModel([say("So.")]), tools, control=driven(node))
    assert list(results(chunks).values()) == [
        "found",
        *["Cut: another call was enough. It may have taken effect."] * 2,
    ]
    assert [turn.errors for turn in ends(chunks)] == [0, 0]
    assert reason(chunks) == "completed"


@virtual_time
async def test_what_is_done_at_the_end_is_done_however_a_run_ends() -> None:
    node = '(turn) :finally (notify "Over: {question}")'
    for answer, ended in ((say("So."), "completed"), (ModelError("Gone."), "provider_error")):
        chunks = await play(ScriptedModel([answer]), toolbox(), control=driven(node))
        assert reason(chunks) == ended
        told = [one.system_message for one in notices(chunks, "notification")]
        assert told == ["Over: What is it?"]


@virtual_time
async def test_a_condition_looks_at_the_facts_of_the_run() -> None:
    node = (
        '(repeater :until-success (sequence (decorator always-succeed (turn :interim "Look")) '
        '(condition "history.total_tool_calls >= 2 and turn.number > 1")))'
    )
    model = ScriptedModel([call("look"), call("look")], then=say("So."))
    chunks = await play(model, toolbox(), control=driven(node))
    assert labels(chunks) == ["Look", "Look", ""]
    assert reason(chunks) == "behaviour_ended"


@virtual_time
@pytest.mark.parametrize("fact", ["(history)", "[history][0]", "(history if true else history)"])
async def test_a_condition_looks_at_facts_however_they_are_written(fact: str) -> None:
    node = f'(selector (sequence (condition "{fact}.total_tool_calls == 0") (turn)) (fail))'
    chunks = await play(ScriptedModel([say("So.")]), toolbox(), control=driven(node))
    assert reason(chunks) == "completed"


@virtual_time
async def test_a_behaviour_that_changed_starts_anew_and_says_so() -> None:
    asked = await ask_first()
    resume = Resume(decision="approved", snapshot={**asked.snapshot, "digest": "other"})
    model = ScriptedModel([say("none"), say("Nothing to do.")])
    chunks = await play(model, toolbox(), control=driven("ask-first", resume=resume))
    assert [one.system_message for one in notices(chunks, "notification")] == [
        "The behaviour ask-first has changed since it asked, so it starts again."
    ]
    assert labels(chunks) == ["Changes", ""]


@virtual_time
async def test_a_behaviour_goes_on_after_the_call_that_had_to_be_asked_for() -> None:
    asks = {"save": "always"}
    with ScriptedModel([say("1. Save."), call("save")]) as model:
        chunks = await play(model, toolbox(), control=driven("plan-then-do", asks=asks))
    assert done(chunks).outcome == "paused"
    (asked,) = own(chunks, Approval)
    (held,) = {one.tool_call.id: one.tool_call for one in own(chunks, ToolCalled)}.values()
    decided = HeldCall(id=held.id, name="save", arguments={}, decision="approved")
    resume = Resume(decision="approved", calls=(decided,), snapshot=asked.snapshot)
    with ScriptedModel([say("Saved.")]) as model:
        control = driven("plan-then-do", asks=asks, resume=resume)
        chunks = await play(model, toolbox(), control=control)
    assert reason(chunks) == "completed"
    assert labels(chunks) == [""]  # the plan is not made again
    assert "Work off your plan." in hints(chunks)[0]
    assert list(results(chunks).values()) == ["saved"]


@virtual_time
async def test_an_own_call_that_had_to_be_asked_for_is_not_made_twice() -> None:
    node = "(sequence (call save) (turn))"
    chunks = await play(ScriptedModel([]), toolbox(), control=driven(node, asks={"save": "once"}))
    assert done(chunks).outcome == "paused"
    (asked,) = own(chunks, Approval)
    (call_id,) = asked.calls
    decisions_made: Sequence[tuple[ApprovalDecision, str]] = (
        ("approved", "completed"),
        ("refused", "behaviour_ended"),
    )
    for decision, answered in decisions_made:
        held = HeldCall(id=call_id, name="save", arguments={}, decision=decision)
        resume = Resume(decision=decision, calls=(held,), snapshot=asked.snapshot)
        control = driven(node, asks={"save": "once"}, resume=resume, has_consent=True)
        tools = toolbox()
        chunks = await play(ScriptedModel([say("So.")]), tools, control=control)
        assert reason(chunks) == answered
        assert [one.name for one in tools.calls] == ["save"] * (decision == "approved")


@virtual_time
async def test_a_behaviour_is_handed_what_its_own_call_came_to_when_it_was_approved() -> None:
    behaviour = read_behaviour(
        '(tree "mine" :blackboard-schema {:found ""} '
        '(sequence (call save :into :found) (turn :say "It said: {found}.")))'
    )
    control = driven(behaviour, asks={"save": "always"})
    (asked,) = own(await play(ScriptedModel([]), toolbox(), control=control), Approval)
    held = HeldCall(id=asked.calls[0], name="save", arguments={}, decision="approved")
    resume = Resume(decision="approved", calls=(held,), snapshot=asked.snapshot)
    chunks = await play(
        ScriptedModel([say("So.")]), toolbox(), control=replace(control, resume=resume)
    )
    assert "It said: saved." in hints(chunks)[0]
    assert reason(chunks) == "completed"


@virtual_time
@pytest.mark.parametrize(("decision", "made"), [("approved", 5), ("refused", 0)])
async def test_own_calls_side_by_side_go_on_with_those_that_are_still_to_be_made(
    decision: ApprovalDecision, made: int
) -> None:
    calls_of_all = (
        '(parallel (for-each (blackboard :list) (call save :args {:n "{item}"} :into :found)))'
    )
    behaviour = read_behaviour(
        '(tree "mine" :blackboard-schema {:found [] :list ["a" "b" "c" "d" "e"]} '
        f"(selector (sequence {calls_of_all} (turn)) "
        '(turn :interim "no") (turn)))'
    )
    control = driven(behaviour, asks={"save": "once"})
    config, tools = limits(max_tool_calls_per_turn=3), toolbox()
    chunks = await play(ScriptedModel([]), tools, control=control, config=config)
    (asked,) = own(chunks, Approval)
    held = tuple(
        HeldCall(id=one, name="save", arguments={}, decision=decision) for one in asked.calls
    )
    assert len(held) == 3
    resume = Resume(decision=decision, calls=held, snapshot=asked.snapshot)
    control = replace(control, resume=resume, has_consent=True)
    chunks = await play(ScriptedModel([], then=say("So.")), tools, control=control, config=config)
    assert len(tools.calls) == made
    assert ("no" in labels(chunks)) is (decision == "refused")


@virtual_time
async def test_a_plan_alone_is_no_answer() -> None:
    node = '(turn :interim "Plan")'
    with ScriptedModel([say("1. Look."), say("It is so.")]) as model:
        chunks = await play(model, toolbox(), control=driven(node))
    assert reason(chunks) == "behaviour_ended"
    assert read(chunks).answer == "It is so."


@pytest.mark.parametrize("decision", ["approved", "refused"])
@virtual_time
async def test_a_behaviour_that_asks_a_thousand_times_asks_once_in_each_run(
    decision: ApprovalDecision,
) -> None:
    """However often somebody answers: each run ends with one question, and does nothing else."""
    text = '(repeater :max-iterations 1000 (approve "May I?"))'
    resume = None
    for _ in range(100):
        with ScriptedModel([]) as model:
            chunks = await play(model, toolbox(), control=driven(text, resume=resume))
        assert (reason(chunks), done(chunks).outcome) == ("needs_approval", "paused")
        (asked,) = own(chunks, Approval)
        assert len(str(asked.snapshot)) < 500
        resume = Resume(decision=decision, snapshot=asked.snapshot)


@virtual_time
async def test_a_behaviour_that_withholds_every_tool_ends_at_a_limit_with_an_answer() -> None:
    text = "(repeater :until-success :max-iterations 1000 (turn :tools :none))"

    def insist(request: ModelRequest) -> Answer:
        is_last = "This is your last reply" in str(request.messages[-1])
        return say("All I have.") if is_last else call("look")

    chunks = await play(
        ScriptedModel([], then=insist),
        toolbox(),
        config=limits(max_iterations=6),
        control=driven(text),
    )
    assert (done(chunks).outcome, read(chunks).answer) == ("limited", "All I have.")
    assert set(results(chunks).values()) == {"Refused: look is not available in this step."}
