"""Recorded runs of other agents, read from a file."""

from typing import Any

import pytest

from agents.core.replay.engine import replay
from agents.core.replay.recording import InvalidTrace, from_trace
from tests.agents.core.test_stuck import recorded as turns_of

NEW = ["one", "two", "three", "four", "five", "six"]


def trace(turns: list[dict[str, Any]], **values: Any) -> dict[str, Any]:
    return {"id": "run", "turns": turns, "final": "stop", **values}


def test_a_run_of_another_agent_is_replayed_under_our_rules() -> None:
    verdict = replay(from_trace(trace(turns_of(*NEW))))
    assert (verdict.kind, verdict.reason, verdict.turn) == ("same", "completed", 6)
    stuck = replay(from_trace(trace(turns_of(*["same"] * 6))))
    assert (stuck.kind, stuck.reason, stuck.turn) == ("earlier", "no_progress", 4)


def test_text_in_the_middle_was_not_the_end() -> None:
    turns = [*turns_of("one"), {"calls": []}, *turns_of("two")]
    assert replay(from_trace(trace(turns))).turn == 3


def test_turns_that_only_fail_end_a_run() -> None:
    turns = turns_of(*NEW)
    for turn in turns:
        turn["calls"][0]["ok"] = False
    assert replay(from_trace(trace(turns))).reason == "error_limit"


def test_tokens_and_times_are_not_known_and_their_limits_not_applied() -> None:
    recording = from_trace(trace(turns_of(*NEW)))
    verdict = replay(recording, limits={"token_budget": 1_000, "timeout_seconds": 10})
    assert verdict.kind == "same"
    assert verdict.not_applied == {"token_budget", "timeout_seconds"}


def test_a_tree_that_looks_at_results_has_none_to_look_at() -> None:
    assert replay(from_trace(trace(turns_of(*NEW))), tree="two_sources").kind == "unknown"


@pytest.mark.parametrize("final", ["limit", "unknown"])
def test_how_another_agent_was_ended_stays_its_reason(final: str) -> None:
    verdict = replay(from_trace(trace(turns_of(*NEW), final=final)))
    assert (verdict.kind, verdict.reason, verdict.was_cut) == ("same", final, False)


@pytest.mark.parametrize(
    "run",
    [
        {},
        [],
        None,
        3,
        "run",
        {"id": "x"},
        {"id": "x", "turns": 3},
        {"id": "x", "turns": [3]},
        {"id": "x", "turns": [{}]},
        {"id": "x", "turns": [{"calls": 3}]},
        {"id": "x", "turns": [{"calls": [{}]}]},
        {"id": "x", "turns": [{"calls": [None]}]},
        {"id": "x", "turns": [], "final": "who knows"},
        {"id": "x", "turns": [], "final": []},
        {"turns": []},
        {"id": "x", "turns": [{"calls": [{"name": [], "args": 1, "ok": 1, "write": 0}]}]},
    ],
    ids=repr,
)
def test_what_is_no_recorded_run_is_refused_with_words(run: Any) -> None:
    with pytest.raises(InvalidTrace, match=r"\w"):
        from_trace(run)
