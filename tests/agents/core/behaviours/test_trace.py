"""A run in its behaviour: visits, times, the way of each turn, what was never reached."""

import pytest

from agents.core.behaviours import read_behaviour
from agents.core.behaviours.outline import build_outline
from agents.core.behaviours.plain_path import guess_ways, load_shipped_outline
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.behaviours.trace import BehaviourTrace, TurnWay, build_trace
from agents.core.chunks import Decision, ToolCalled, Turn
from agents.core.loop import Control
from tests.agents.core.loop.test_engine import record

PLAN = build_outline(read_behaviour(load_shipped_texts()["plan-then-do"]))
"""1 sequence, 2 repeater, 3 turn, 4 notify, 5 repeater, 6 turn."""


def trace(*paths: str, is_over: bool = True, chosen: int | None = None) -> BehaviourTrace:
    ways = [TurnWay(turn=at, path=path, seconds=2.0) for at, path in enumerate(paths, start=1)]
    return build_trace(PLAN, ways, is_over=is_over, chosen_turn=chosen)


def test_nodes_know_their_visits_their_last_status_and_their_time() -> None:
    found = trace("3-", "3+ 2+ 4+", "6-", "6! 5! 1!").by_number
    assert (found[3].visits, found[3].status, found[3].turns) == (2, "succeeded", [1, 2])
    assert (found[2].visits, found[2].status) == (1, "succeeded")
    assert (found[6].visits, found[6].status) == (2, "halted")
    assert (found[3].seconds, found[2].seconds, found[1].seconds) == (4.0, 4.0, 8.0)
    assert found[4].seconds == 0.0


def test_a_node_says_why_its_value_was_not_kept() -> None:
    found = trace("3-kind 2-", "4-nonsense 6-")
    assert found.by_number[3].why == "the value was of another kind than its key"
    assert (found.by_number[2].status, found.by_number[2].why) == ("failed", "")
    assert found.by_number[4].visits == 0
    assert trace("3-kind", "3+").by_number[3].why == ""


def test_it_ends_in_the_innermost_node_that_was_halted_or_in_the_last_that_was_left() -> None:
    halted = trace("3+ 2+ 4+", "6! 5! 1!")
    assert halted.end is halted.by_number[6]
    done = trace("3+ 2+ 4+", "6+ 5+ 1+", "")
    assert done.end is done.by_number[1]
    assert trace("3-", is_over=False).end is None


def test_what_was_never_reached_is_told_and_what_is_around_it_was() -> None:
    found = trace("3-")
    assert [number for number, node in found.by_number.items() if not node.is_reached] == [4, 5, 6]
    assert found.never_reached == 3


def test_of_what_is_done_at_every_end_nobody_says_that_it_was_never_reached() -> None:
    text = '(tree "ends" (sequence (turn) (succeed)) :finally (sequence (notify "End.")))'
    found = build_trace(build_outline(read_behaviour(text)), [TurnWay(turn=1, path="2! 1!")])
    assert len(found.by_number) == 5
    assert found.never_reached == 1


def test_the_way_of_one_turn_is_marked_with_all_that_is_around_it() -> None:
    found = trace("3+ 2+ 4+", "6+ 5+ 1+", chosen=1)
    assert [number for number, node in found.by_number.items() if node.is_taken] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    "path", ["", "x", "… 3+", "3", "3? 4", "99999+", "77+", "3+3+", "-3", "3++"]
)
def test_whatever_is_stored_as_a_path_is_read_as_far_as_it_is_one(path: str) -> None:
    found = trace(path)
    assert found.by_number[3].visits == (1 if path == "… 3+" else 0)


def test_the_guess_for_the_plain_string_is_the_way_that_the_behaviour_goes() -> None:
    behaviour = read_behaviour(load_shipped_texts()["oracle-agent"])
    compared = 0
    for seed in range(30):
        chunks = [one for one in record(seed, Control(behaviour=behaviour)) if not one.parent]
        turns: list[tuple[TurnWay, bool]] = []
        called, wrapped, paths, number = False, False, [], 0
        for chunk in chunks:
            if isinstance(chunk, Turn) and chunk.phase == "start":
                called, wrapped, number = False, bool(chunk.wrap_up), chunk.number
            elif isinstance(chunk, ToolCalled):
                called = True
            elif isinstance(chunk, Decision) and not wrapped:
                paths.append(chunk.path)
                if number:
                    turns.append((TurnWay(turn=number, path=""), called))
        if any(isinstance(chunk, Turn) and chunk.finish_reason == "cut" for chunk in chunks):
            continue
        guessed = guess_ways(turns, is_over=True, is_wrapped_up=wrapped)
        assert [way.path for way in guessed] == paths, f"seed {seed}"
        compared += 1
    assert compared > 10
    assert load_shipped_outline() == build_outline(behaviour)
