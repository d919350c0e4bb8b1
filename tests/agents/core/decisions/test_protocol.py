"""Trees are found by their names, and built in one place."""

import pytest

from agents.core.config import AgentConfig
from agents.core.decisions import build_guard, build_tree, check_tree_name
from agents.core.decisions.trees.quick import QuickTree
from agents.core.registry import NotRegistered


def test_a_tree_is_built_by_its_name_with_its_config() -> None:
    config = AgentConfig(max_iterations=7)
    tree = build_tree("quick", config)
    assert isinstance(tree, QuickTree)
    assert tree.config is config


def test_a_guard_has_the_limits_that_its_tree_leaves() -> None:
    assert build_guard("quick", AgentConfig(max_iterations=7)).config.max_iterations == 5


@pytest.mark.parametrize("build", [build_tree, build_guard])
def test_a_tree_that_is_not_installed_cannot_be_built(build: object) -> None:
    with pytest.raises(NotRegistered, match="no decision tree 'gone'"):
        build("gone", AgentConfig())  # type: ignore[operator]


def test_a_name_that_can_be_chosen_is_returned() -> None:
    assert check_tree_name("quick") == "quick"


@pytest.mark.parametrize("name", ["", "Quick", "librarian", "gone"])
def test_other_names_are_refused_with_those_that_there_are(name: str) -> None:
    with pytest.raises(NotRegistered) as refused:
        check_tree_name(name, "mode")
    assert str(refused.value).startswith(f"There is no mode {name!r}. Known: default, quick")
