"""The decision trees that are shipped: one assert each, and no event loop."""

from dataclasses import replace

import pytest

from agents.core.decisions.protocol import METHODS, TREES, DecisionTree
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.decisions.trees.librarian import LibrarianTree
from agents.core.decisions.trees.quick import QuickTree
from tests.agents.core.factories import fresh, limits

SHIPPED = [("default", DefaultDecisionTree), ("quick", QuickTree), ("librarian", LibrarianTree)]
WIDE = limits(max_iterations=50, timeout_seconds=600, token_budget=200_000)
NARROW = limits(max_iterations=2, timeout_seconds=10)


@pytest.mark.parametrize(("name", "tree"), SHIPPED)
def test_shipped_trees_are_registered_and_conform(
    name: str, tree: type[DefaultDecisionTree]
) -> None:
    assert TREES.get(name) is tree
    assert isinstance(tree(WIDE), DecisionTree)


def test_the_protocol_is_four_methods() -> None:
    assert METHODS == ("should_continue", "on_turn_start", "on_tool_result", "get_config")
    assert not isinstance(object(), DecisionTree)


@pytest.mark.parametrize(("name", "tree"), SHIPPED)
def test_every_tree_goes_on_at_first_and_stops_at_a_limit(
    name: str, tree: type[DefaultDecisionTree]
) -> None:
    assert tree(WIDE).should_continue(fresh(WIDE)) == (True, "")
    assert tree(WIDE).should_continue(fresh(WIDE, turn=50)) == (False, "max_iterations")


@pytest.mark.parametrize(("name", "tree"), SHIPPED)
def test_no_tree_widens_what_the_user_allows(name: str, tree: type[DefaultDecisionTree]) -> None:
    assert tree(NARROW).get_config() == NARROW


@pytest.mark.parametrize(
    ("tree", "turns", "seconds"),
    [(DefaultDecisionTree, 50, 600), (QuickTree, 5, 45), (LibrarianTree, 8, 600)],
)
def test_what_each_tree_wants(tree: type[DefaultDecisionTree], turns: int, seconds: int) -> None:
    config = tree(WIDE).get_config()
    assert (config.max_iterations, config.timeout_seconds) == (turns, seconds)
    assert config.token_budget == WIDE.token_budget


@pytest.mark.parametrize(
    ("tree", "withheld"),
    [
        (DefaultDecisionTree, set()),
        (QuickTree, {"delegate_librarian"}),
        (LibrarianTree, {"delegate_librarian"}),
    ],
)
def test_what_each_tree_withholds(tree: type[DefaultDecisionTree], withheld: set[str]) -> None:
    state = tree(WIDE).on_turn_start(fresh(WIDE, withheld_tools=frozenset({"look"})))
    assert state.withheld_tools == {"look"} | withheld


def test_the_default_tree_warns_at_the_start_of_a_turn() -> None:
    config = limits(max_iterations=10)
    state = DefaultDecisionTree(config).on_turn_start(fresh(config, turn=7))
    assert [notice.key for notice in state.notices] == ["iterations"]


def test_a_state_with_a_reason_stays_ended() -> None:
    state = replace(fresh(WIDE), termination_reason="timeout")
    assert DefaultDecisionTree(WIDE).should_continue(state) == (False, "timeout")


def test_the_default_tree_keeps_the_last_three_calls() -> None:
    state = fresh(WIDE)
    for page in range(4):
        result = {"name": "look", "arguments": {"page": page}, "ok": True}
        state = DefaultDecisionTree(WIDE).on_tool_result(state, result)
    assert state.recent_actions == tuple(f'look:{{"page":{page}}}' for page in (1, 2, 3))
