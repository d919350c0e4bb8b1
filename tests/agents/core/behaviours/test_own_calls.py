"""Calls that a behaviour makes itself."""

import pytest

from agents.core.behaviours.own_calls import MAX_BATCHES
from agents.core.config import AgentConfig
from tests.agents.core.behaviours.fake_run import FakeRun, walk

SCHEMA = '{:topics ["a" "b" "c"] :found [] :one ""}'
READ = '(call read :args {:page "{item}"} :into :found)'


async def test_a_call_is_a_turn_of_its_own() -> None:
    run = FakeRun()
    seen = await walk(
        '(sequence (call read :args {:page "{question}"} :into :one) (notify "{one}"))',
        run,
        schema=SCHEMA,
    )
    assert seen == "1 2 2+ 3 3+ 1+"
    (order,) = run.orders
    assert [(call.name, call.arguments) for call in order.calls] == [("read", {"page": "Why?"})]
    assert order.interim == "Calls"
    assert run.log[-1] == "told: read {'page': 'Why?'}"


async def test_a_call_that_failed_fails_its_node_and_writes_nothing() -> None:
    run = FakeRun(oks={"read": False})
    seen = await walk('(selector (call read :into :one) (notify "[{one}]"))', run, schema=SCHEMA)
    assert seen == "1 2 2- 3 3+ 1+"
    assert run.log[-1] == "told: []"


async def test_a_loop_of_calls_side_by_side_gathers_in_the_order_of_its_list() -> None:
    run = FakeRun()
    await walk(
        f'(sequence (parallel :max 2 (for-each (blackboard :topics) {READ})) (notify "{{found}}"))',
        run,
        schema=SCHEMA,
    )
    (order,) = run.orders
    assert order.max_parallel == 2
    assert run.log[-1] == (
        "told: [\"read {'page': 'a'}\", \"read {'page': 'b'}\", \"read {'page': 'c'}\"]"
    )


async def test_no_turn_has_more_calls_than_it_may() -> None:
    run = FakeRun(config=AgentConfig(max_tool_calls_per_turn=2))
    node = f"(parallel (for-each (blackboard :topics) {READ}))"
    assert await walk(node, run, schema=SCHEMA) == "1 1+"
    assert [len(order.calls) for order in run.orders] == [2, 1]


@pytest.mark.parametrize(
    ("policy", "ended"),
    [
        ("", "-"),
        (":policy :require-all", "-"),
        (":policy :require-one", "+"),
        (":policy :continue-on-failure", "+"),
    ],
)
async def test_a_policy_says_how_many_must_succeed(policy: str, ended: str) -> None:
    run = FakeRun(oks={"list": False})
    assert await walk(f"(parallel {policy} (call read) (call list))", run) == f"1 1{ended}"
    assert run.orders[0].is_first_enough is (policy == ":policy :require-one")


async def test_all_are_waited_for_where_the_node_says_so() -> None:
    run = FakeRun()
    await walk("(parallel :policy :require-one :wait-for-all (call read) (call list))", run)
    assert run.orders[0].is_first_enough is False


async def test_where_one_is_enough_no_further_turn_is_opened() -> None:
    run = FakeRun(config=AgentConfig(max_tool_calls_per_turn=1))
    assert await walk("(parallel :policy :require-one (call read) (call list))", run) == "1 1+"
    assert len(run.orders) == 1


async def test_none_of_the_calls_that_were_wanted_succeeded() -> None:
    run = FakeRun(oks={"read": False})
    assert await walk("(parallel :policy :require-one (call read))", run) == "1 1-"


async def test_an_empty_list_is_a_success() -> None:
    run = FakeRun()
    node = '(parallel :policy :require-one (for-each [] (call read :args {:page "{item}"})))'
    assert await walk(node, run) == "1 1+"
    assert run.orders == []


async def test_actions_side_by_side_with_calls_are_done_in_their_place() -> None:
    run = FakeRun()
    action = '(action one :fn "it.succeeds")'
    seen = await walk(f"(parallel {action} (call read) {action} (call list))", run)
    assert seen == "1 1+"
    assert [[call.name for call in order.calls] for order in run.orders] == [["read"], ["list"]]


async def test_a_behaviour_cannot_call_for_ever() -> None:
    run = FakeRun(halts=10_000)
    await walk("(repeater :max-iterations 1000 (call read))", run)
    assert run.log[-1] == "failed: it made too many calls"
    assert run.turns == MAX_BATCHES
