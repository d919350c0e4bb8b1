"""What nodes do that have others in them, where a run has a say in it."""

import pytest

from tests.agents.core.behaviours.fake_run import FakeRun, walk


async def test_a_loop_visits_its_node_for_each_item() -> None:
    run = FakeRun()
    seen = await walk('(for-each ["a" "b"] :as :topic (notify "{topic}"))', run)
    assert seen == "1 2 2+ 2 2+ 1+"
    assert run.log == ["told: a", "told: b"]


@pytest.mark.parametrize(
    ("node", "seen"),
    [
        ("(for-each [] (fail))", "1 1+"),
        ('(for-each ["a" "b"] (condition "item == \\"a\\""))', "1 2 2+ 2 2- 1-"),
        (
            "(repeater :max-iterations (config :max_parallel_tools) (succeed))",
            "1 2 2+ 2 2+ 2 2+ 1+",
        ),
        ('(repeater :max-iterations (expr "depth") (succeed))', "1 2 2+ 2 2+ 1+"),
        ('(decorator guard :when "depth > 1" (fail))', "1 2 2- 1-"),
        ('(decorator guard :when "depth > 2" (succeed))', "1 1-"),
    ],
)
async def test_nodes_are_visited_as_the_values_of_the_run_say(node: str, seen: str) -> None:
    assert await walk(node, schema="{:depth 2}") == seen


async def test_another_behaviour_shares_only_what_it_is_handed() -> None:
    run = FakeRun()
    seen = await walk(
        '(sequence (subtree helper :with {:task "{plan}"} :into {:plan :found}) (notify "{plan}"))',
        run,
        schema='{:plan "a" :task "mine"}',
        behaviours={
            "helper": '(tree "helper" :blackboard-schema {:task "" :found ""} '
            '(set :found "{task}+"))'
        },
    )
    assert seen == "1 2 3 3+ 2+ 4 4+ 1+"
    assert run.log == ["told: a+"]


async def test_a_value_that_does_not_fit_back_fails_the_part() -> None:
    seen = await walk(
        "(subtree helper :into {:depth :found})",
        schema="{:depth 1}",
        behaviours={
            "helper": '(tree "helper" :blackboard-schema {:found any} (set :found "text"))'
        },
    )
    assert seen == "1 2 2+ 1-"


async def test_a_node_has_no_more_time_than_those_around_it() -> None:
    run = FakeRun(seconds=2)
    await walk(
        "(decorator timeout :seconds 10 (sequence (turn :timeout 3) (turn :timeout 60)))", run
    )
    assert run.limits == [10, 3, 10, 10, 10, None]


async def test_what_takes_too_long_is_left_and_its_turn_folded() -> None:
    run = FakeRun(seconds=4)
    seen = await walk(
        "(selector (decorator timeout :seconds 10 "
        '(repeater (decorator budget-check (sequence (llm-call) (succeed))))) (notify "late"))',
        run,
    )
    turn = ["open", "ask", "closed", "plan", "execute", "deliver", "fold"]
    assert run.log == [*turn, *turn, *turn, "told: late"]
    assert seen.endswith(" 4 5 6 6! 5! 4! 3! 2- 8 8+ 1+")


async def test_a_node_that_was_in_time_keeps_its_status() -> None:
    assert await walk("(decorator timeout :seconds 3 (succeed))") == "1 2 2+ 1+"
    assert await walk("(decorator timeout :seconds 3 (fail))") == "1 2 2- 1-"
