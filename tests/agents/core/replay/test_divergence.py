"""A turn is taken for what was recorded, unless another tree or cap would have changed it."""

from typing import Any

import pytest

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.decisions import build_guard
from agents.core.replay.divergence import explain_divergence
from agents.core.replay.recording import RecordedTurn, Recording
from tests.agents.core.factories import fresh


def explain(
    cap: int = 5, withheld: tuple[str, ...] = (), *, has_other_tree: bool = False, **step: Any
) -> str:
    config = AgentConfig(max_tool_calls_per_turn=5)
    recording = Recording(
        id="1", config=config, tree="default", reason="", outcome="", started_at=0.0
    )
    turn = RecordedTurn(turn=Turn(number=1, phase="end"), after=None, **step)
    other = config.model_copy(update={"max_tool_calls_per_turn": cap})
    state = fresh(config=other).replace(withheld_tools=frozenset(withheld))
    guard = build_guard("default", config)
    return explain_divergence(turn, recording, guard, state, has_other_tree=has_other_tree)


@pytest.mark.parametrize(
    "step",
    [
        {"used": ("vault_search",) * 5},
        {"used": ("vault_search",), "refused": frozenset({"vault_read"})},
        {"used": ("vault_search",) * 3, "cap": 3},
        {"refused": frozenset({"vault_read"}), "withheld": ("vault_read",), "has_other_tree": True},
    ],
)
def test_what_would_have_been_called_too_does_not_diverge(step: dict[str, Any]) -> None:
    assert explain(**step) == ""


@pytest.mark.parametrize(
    ("step", "why"),
    [
        ({"why_unknown": "It is damaged."}, "It is damaged."),
        (
            {"used": ("vault_read",), "withheld": ("vault_read",)},
            "It used vault_read, which this tree withholds.",
        ),
        ({"used": ("vault_read",) * 4, "cap": 3}, "It made 4 calls in one iteration."),
        (
            {"refused": frozenset({"vault_read"}), "cap": 6},
            "A call of vault_read was refused that would have been run.",
        ),
        (
            {"refused": frozenset({"vault_read"}), "has_other_tree": True},
            "A call of vault_read was refused that would have been run.",
        ),
    ],
)
def test_what_would_have_gone_another_way_says_why(step: dict[str, Any], why: str) -> None:
    assert explain(**step) == why
