"""Behaviours that drive: which nodes are visited, what is done, and what becomes of a bad one."""

import pytest

from agents.core.behaviours import read_behaviour
from agents.core.behaviours.behaviour import ENDS_WITH
from agents.core.behaviours.driver import VISITS, BehaviourDriver
from agents.core.behaviours.signatures import NODE_KINDS
from agents.core.behaviours.walk import MAX_VISITS
from tests.agents.core.behaviours.fake_run import FakeRun, Watcher, take_parts, walk
from tests.agents.core.behaviours.stand_in_words import register_stand_ins


def test_every_kind_of_node_can_be_driven() -> None:
    assert not set(VISITS) & set(ENDS_WITH)
    assert {*VISITS, *ENDS_WITH} == set(NODE_KINDS)


@pytest.mark.parametrize(
    ("node", "seen"),
    [
        ("(sequence (succeed) (fail) (succeed))", "1 2 2+ 3 3- 1-"),
        ("(sequence (succeed) (succeed))", "1 2 2+ 3 3+ 1+"),
        ("(selector (fail) (succeed) (fail))", "1 2 2- 3 3+ 1+"),
        ("(selector (fail) (fail))", "1 2 2- 3 3- 1-"),
        ("(repeater :max-iterations 2 (fail))", "1 2 2- 2 2- 1+"),
        ("(repeater :until-success :max-iterations 2 (fail))", "1 2 2- 2 2- 1-"),
        ("(repeater :until-success :max-iterations 2 (succeed))", "1 2 2+ 1+"),
        ("(repeater :until-failure :max-iterations 2 (fail))", "1 2 2- 1+"),
        ("(repeater :until-failure :max-iterations 2 (succeed))", "1 2 2+ 2 2+ 1+"),
        ("(subtree part (fail))", "1 2 2- 1-"),
        ("(decorator invert (fail))", "1 2 2- 1+"),
        ("(decorator always-succeed (fail))", "1 2 2- 1+"),
        ("(decorator retry :times 3 (fail))", "1 2 2- 2 2- 2 2- 1-"),
        ("(decorator retry :times 3 (succeed))", "1 2 2+ 1+"),
        ('(action anything :fn "it.succeeds")', "1 1+"),
        ("(condition anything?)", "1 1+"),
    ],
)
async def test_nodes_are_visited_as_their_kinds_say(node: str, seen: str) -> None:
    assert await walk(node) == seen


async def test_a_turn_is_opened_asked_and_folded_until_the_run_is_halted() -> None:
    run = FakeRun(halts=3)
    seen = await walk("(repeater (decorator budget-check (llm-call)))", run)
    turn = ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]
    assert run.log == [*turn, *turn, "open"]
    assert seen == "1 2 3 3+ 2- 2 3 3+ 2- 2 2! 1!"


async def test_what_a_behaviour_leaves_out_of_a_turn_is_done_all_the_same() -> None:
    run = FakeRun(halts=9)
    await walk("(decorator budget-check (succeed))", run)
    assert run.log == ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]


async def test_a_request_that_failed_is_a_failure_and_its_turn_is_folded() -> None:
    run = FakeRun(halts=9, answers=False)
    assert await walk("(decorator budget-check (llm-call))", run) == "1 2 2- 1-"
    assert run.log[-1] == "fold"


@pytest.mark.parametrize(
    "node",
    [
        "(repeater :max-iterations 1000 (succeed))",
        "(repeater :max-iterations 1000 (repeater :max-iterations 1000 (fail)))",
    ],
)
async def test_a_behaviour_that_does_nothing_for_long_is_stuck(node: str) -> None:
    run = FakeRun()
    seen = await walk(node, run)
    assert run.log == ["failed: it went round and round and did nothing"]
    assert len(seen.split()) < 3 * MAX_VISITS


async def test_a_word_that_raises_fails_the_behaviour_where_it_stands() -> None:
    words = register_stand_ins("")

    @words.condition("is-broken?")
    def is_broken(run: object) -> bool:
        raise KeyError("the words of a run")

    run = FakeRun()
    seen = await walk("(sequence (succeed) (condition is-broken?) (fail))", run, words)
    assert run.log == ["failed: KeyError"]
    assert seen == "1 2 2+ 3 3! 1!"


async def test_closing_the_driver_closes_the_request() -> None:
    run, watcher = FakeRun(), Watcher()
    behaviour = read_behaviour('(tree "mine" (decorator budget-check (llm-call)))')
    parts = BehaviourDriver(behaviour, run, visitors=[watcher]).drive()
    chunks = take_parts(parts)
    assert [(await anext(chunks)).seq for _ in range(2)] == [1, 2]
    await chunks.aclose()
    parts.close()  # type: ignore[attr-defined]
    assert run.log[:2] == ["open", "ask"]
    assert watcher.seen[-2:] == ["2!", "1!"]
