"""What happens at a checkpoint: go on, stop, or wrap up."""

from typing import Any

import pytest

from agents.core.decisions.checkpoint import decide, start_turn_state, wrap_up_reason
from agents.core.decisions.guard import TreeGuard
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.decisions.trees.quick import QuickTree
from agents.core.state import AgentState
from tests.agents.core.factories import fresh, limits

CONFIG = limits(max_iterations=10)
GUARD = TreeGuard(DefaultDecisionTree(CONFIG), CONFIG)


class AlwaysYes(DefaultDecisionTree):
    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return True, ""


@pytest.mark.parametrize(
    ("checkpoint", "facts", "decided"),
    [
        ("start", {}, (True, "")),
        ("turn", {"finish_reason": "stop"}, (False, "completed")),
        ("turn", {"turn": 10}, (False, "max_iterations")),
        ("turn", {"finish_reason": "stop", "cancelled": True}, (False, "user_cancelled")),
        ("turn", {"asked_end": "needs_approval"}, (False, "needs_approval")),
        ("turn", {"asked_end": "needs_approval", "turn": 10}, (False, "max_iterations")),
        ("wrap_up", {"wrap_up_reason": "timeout"}, (False, "timeout")),
        ("wrap_up", {"wrap_up_reason": "timeout", "cancelled": True}, (False, "user_cancelled")),
    ],
)
def test_the_run_goes_on_or_ends_for_a_reason(
    checkpoint: str, facts: dict[str, Any], decided: tuple[bool, str]
) -> None:
    assert decide(GUARD, fresh(CONFIG, **facts), checkpoint) == decided


def test_a_run_that_has_only_a_plan_gives_a_last_answer() -> None:
    state = fresh(CONFIG, finish_reason="stop", interim="Plan")
    assert wrap_up_reason(state, "turn", False, "timeout", lambda: True) == "timeout"


def test_a_tree_that_always_says_yes_is_held_to_the_limits() -> None:
    yes = TreeGuard(AlwaysYes(CONFIG), CONFIG)
    assert decide(yes, fresh(CONFIG, finish_reason="stop"), "turn") == (True, "")
    assert decide(yes, fresh(CONFIG, turn=10), "turn") == (False, "max_iterations")
    assert decide(yes, fresh(CONFIG, cancelled=True), "turn") == (False, "user_cancelled")


@pytest.mark.parametrize(
    ("turn", "checkpoint", "goes_on", "reason", "fits", "wanted"),
    [
        (8, "turn", True, "", True, None),
        (9, "turn", True, "", False, "max_iterations"),
        (3, "turn", False, "timeout", True, "timeout"),
        (3, "turn", False, "timeout", False, None),
        (3, "turn", False, "completed", True, None),
        (3, "wrap_up", False, "timeout", True, None),
    ],
)
def test_a_last_turn_has_its_reason(
    turn: int, checkpoint: str, goes_on: bool, reason: str, fits: bool, wanted: str | None
) -> None:
    state = fresh(CONFIG, turn=turn)
    assert wrap_up_reason(state, checkpoint, goes_on, reason, lambda: fits) == wanted


def test_a_turn_begins_with_the_trees_word_and_its_reason_if_it_is_the_last() -> None:
    quick = TreeGuard(QuickTree(CONFIG), CONFIG)
    state = start_turn_state(quick, fresh(CONFIG, wrap_up_reason="timeout"), None)
    assert state.wrap_up_reason is None
    assert state.withheld_tools == {"delegate_librarian"}
    assert start_turn_state(quick, state, "no_progress").wrap_up_reason == "no_progress"
