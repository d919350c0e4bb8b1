"""What leaves do: ask the model, write to the blackboard, tell people, and end a run."""

from dataclasses import dataclass
from typing import Any

import pytest

from agents.core.behaviours.path import PathRecorder
from agents.core.behaviours.run_interface import PLAIN_TURN
from agents.core.behaviours.words import WordRegistry
from tests.agents.core.behaviours.fake_run import FakeRun, walk
from tests.agents.core.behaviours.stand_in_words import register_stand_ins

TURN = ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]


async def test_a_turn_is_opened_asked_and_folded_and_succeeds_with_an_answer() -> None:
    run = FakeRun()
    assert await walk("(turn)", run) == "1 1+"
    assert run.log == TURN
    assert run.orders == [PLAIN_TURN]
    assert run.stopped == "completed"


async def test_a_turn_fails_that_called_tools() -> None:
    run = FakeRun(replies=["Looking…"])
    assert await walk("(turn)", run) == "1 1-"
    assert run.stopped == "behaviour_ended"


async def test_a_turn_is_held_to_what_its_node_says() -> None:
    run = FakeRun()
    await walk('(turn :interim "Plan" :tools :reading :budget 300 :say "On: {question}")', run)
    (order,) = run.orders
    assert (order.interim, order.tools, order.max_tokens) == ("Plan", "reading", 300)
    assert order.say == "On: Why?"


async def test_what_is_said_is_said_once_in_a_phase() -> None:
    run = FakeRun(replies=["…", "…", "Plan.", "…", "Done."])
    await walk(
        '(sequence (repeater :until-success (turn :say "Plan.")) '
        '(repeater :until-success (turn :say "Do.")))',
        run,
    )
    assert [order.say for order in run.orders] == ["Plan.", "", "", "Do.", ""]


async def test_each_item_of_a_list_is_a_phase() -> None:
    run = FakeRun()
    await walk('(for-each ["a" "b"] (turn :say "About {item}"))', run)
    assert [order.say for order in run.orders] == ["About a", "About b"]


async def test_an_llm_call_is_held_to_what_its_node_says() -> None:
    run = FakeRun()
    await walk('(decorator budget-check (llm-call :say "Be short." :tools :none))', run)
    assert [(order.say, order.tools) for order in run.orders] == [("Be short.", "none")]
    assert run.log[:3] == ["open", "prepare", "ask"]


async def test_the_reply_is_written_where_the_node_says() -> None:
    run = FakeRun(replies=["1. Look."])
    await walk(
        '(sequence (turn :interim "Plan" :into :plan) (notify "So: {plan}"))',
        run,
        schema='{:plan ""}',
    )
    assert run.log[-1] == "told: So: 1. Look."


async def test_a_reply_too_long_for_the_blackboard_fails_its_node_and_changes_nothing() -> None:
    run = FakeRun(replies=["x" * 20_000])
    seen = await walk(
        '(selector (turn :into :plan) (notify "[{plan}]"))', run, schema='{:plan "old"}'
    )
    assert seen == "1 2 2- 3 3+ 1+"
    assert run.log[-1] == "told: [old]"


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ('"lower(plan) == \\"none\\""', True),
        ('"len(topics) > 2"', False),
        ('"question == \\"Why?\\" and not turn.answered"', True),
        ('"1 / depth > 0"', False),  # nothing is divided by nothing: it cannot be told
    ],
)
async def test_a_condition_looks_at_the_blackboard_and_the_run(condition: str, holds: bool) -> None:
    schema = '{:plan "None" :topics ["a"] :depth 0}'
    assert (await walk(f"(condition {condition})", schema=schema)) == ("1 1+" if holds else "1 1-")


async def test_values_are_set_and_lists_cut() -> None:
    run = FakeRun()
    await walk(
        '(sequence (set :text "- a\\n\\n* b\\nc") (set :topics (lines (blackboard :text)) :most 2) '
        '(set :depth (expr "len(topics) + 1")) (set :most (config :max_iterations)) '
        '(notify "{topics} {depth} {most}"))',
        run,
        schema='{:text "" :topics [] :depth 0 :most 0}',
    )
    assert run.log == ["told: ['a', 'b'] 3 15"]


async def test_an_action_is_handed_its_arguments() -> None:
    words, handed = register_stand_ins(""), list[Any]()

    @words.action("notes.count")
    def count_notes(run: object, folder: str, most: int = 1) -> bool:
        handed.append((folder, most))
        return most > 1

    node = '(action count :fn "notes.count" :args {:folder "{plan}" :most (blackboard :most)})'
    schema = '{:plan "in" :most 2}'
    assert await walk(node, words=words, schema=schema) == "1 1+"
    assert handed == [("in", 2)]


async def test_a_run_is_stopped_for_a_reason() -> None:
    run = FakeRun()
    assert await walk("(sequence (stop no_progress) (turn))", run) == "1 2 2! 1!"
    assert run.stopped == "no_progress"


async def test_a_behaviour_does_not_flood_the_user() -> None:
    run = FakeRun()
    await walk('(repeater :max-iterations 200 (notify "Hello"))', run)
    assert run.log == ["told: Hello"] * 100 + ["failed: it told the user too much"]


@dataclass
class Decided:
    decision: str
    snapshot: Any
    words: str = ""


APPROVAL = (
    '(sequence (turn :interim "Changes" :into :changes) '
    '(selector (sequence (approve "May I?\\n{changes}") (notify "yes: {changes}")) '
    '(notify "no")))'
)


async def ask() -> Any:
    run = FakeRun(replies=["delete a.md"])
    assert await walk(APPROVAL, run, schema='{:changes ""}') == "1 2 2+ 3 4 5 5! 4! 3! 1!"
    assert run.stopped == "needs_approval"
    ((question, snapshot),) = run.asked
    assert question == "May I?\ndelete a.md"
    return snapshot


@pytest.mark.parametrize(
    ("decision", "log", "step"),
    [
        ("approved", ["told: yes: delete a.md"], "5+"),
        ("refused", ["told: no"], "5-no"),
        ("differently", ["told: no"], "5-differently"),
    ],
)
async def test_a_behaviour_goes_on_where_it_had_asked(
    decision: str, log: list[str], step: str
) -> None:
    run, path = FakeRun(), PathRecorder()
    resume = Decided(decision, await ask(), "Keep b.md.")
    await walk(APPROVAL, run, schema='{:changes ""}', resume=resume, path=path)
    assert run.log == log
    assert path.take().split()[0] == step, "why it failed is in its path"
    wanted = ["The user says what to do differently: Keep b.md."]
    assert run.said == (wanted if decision == "differently" else [])


@pytest.mark.parametrize(
    "change",
    [
        {"digest": "other"},
        {"leaf": 2},
        {"frames": []},
        {"frames": [{"node": 2, "index": 1}, {"node": 5, "index": 0}]},
        {"frames": [{"node": 1}]},
        {"board": {"other": 1}},
        {"board": {"changes": 3}},
        {"board": None},
    ],
)
async def test_a_snapshot_that_does_not_fit_starts_anew_and_says_so(change: Any) -> None:
    run = FakeRun()
    resume = Decided("approved", {**await ask(), **change})
    await walk(APPROVAL, run, schema='{:changes ""}', resume=resume)
    assert run.log[:2] == [
        "told: The behaviour mine has changed since it asked, so it starts again.",
        "open",
    ]
    assert run.stopped == "needs_approval"


async def test_a_snapshot_with_frames_of_nodes_that_nobody_visits_goes_on() -> None:
    """Snapshots had them once, and a question may wait for a week."""
    run = FakeRun()
    frames = [{"node": number, "index": 1} for number in (1, 3, 4)]
    resume = Decided("approved", {**await ask(), "frames": [*frames, {"node": 5, "index": 0}]})
    seen = await walk(APPROVAL, run, schema='{:changes ""}', resume=resume)
    assert run.log == ["told: yes: delete a.md"]
    assert seen == "1 3 4 5 5+ 6 6+ 4+ 3+ 1+"


async def test_a_blackboard_that_begins_nearly_full_goes_on_as_it_was() -> None:
    keys = " ".join(f':k{number} "{"x" * 15_000}"' for number in range(5))
    schema, run = f'{{:word "" {keys}}}', FakeRun()
    node = '(sequence (set :word "Yes") (approve "May I?") (notify "{word}"))'
    await walk(node, run, schema=schema)
    ((_, snapshot),) = run.asked
    again = FakeRun()
    await walk(node, again, schema=schema, resume=Decided("approved", snapshot))
    assert again.log == ["told: Yes"]


async def test_loops_and_parts_go_on_where_they_stood() -> None:
    node = (
        "(for-each (blackboard :topics) (decorator retry :times 2 (subtree helper "
        ':with {:task "{item}"} :into {:found :task})))'
    )
    behaviours = {
        "helper": '(tree "helper" :blackboard-schema {:task ""} '
        '(sequence (approve "{task}?") (notify "{task}!")))'
    }
    schema, run = '{:topics ["a" "b"] :found ""}', FakeRun()
    await walk(node, run, schema=schema, behaviours=behaviours)
    asked = [run.asked[0][0]]
    log = []
    for _ in range(2):
        resume = Decided("approved", run.asked[0][1])
        run = FakeRun()
        await walk(node, run, schema=schema, behaviours=behaviours, resume=resume)
        asked += [question for question, _ in run.asked]
        log += run.log
    assert asked == ["a?", "b?"]
    assert log == ["told: a!", "told: b!"]
    assert run.stopped == "behaviour_ended"


async def test_the_end_of_a_run_is_told_and_asks_nothing() -> None:
    run = FakeRun(replies=["Plan."])
    text = '(turn :into :plan) :finally (sequence (set :plan "{plan}!") (notify "End: {plan}"))'
    await walk(text, run, schema='{:plan ""}')
    assert run.log == [*TURN, "told: End: Plan.!"]


async def test_the_end_of_a_run_has_a_second_in_all() -> None:
    words, run = WordRegistry(), FakeRun()

    @words.action("takes.long")
    def take_long(_: object) -> None:
        run.now += 0.4

    long = "(action takes.long)"
    await walk(f"(succeed) :finally (repeater {long})", run, words)
    assert run.now == pytest.approx(1.2)
