"""The stuck rules, scored on labelled runs exactly as the reference does it."""

import gzip
import json
import random
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agents.core.replay.evaluation import (
    ALL_KINDS,
    LOOP_KINDS,
    LabelledRun,
    build_labelled_run,
    find_stuck_step,
    score,
)
from agents.core.replay.recording import InvalidTrace, from_trace
from agents.core.stuck import StuckRules, find_stuck_turn
from tests.agents.core.test_stuck import recorded as turns_of

ROOT = Path(__file__).resolve().parents[4]
TRACES = ROOT.parent / "shared" / "traces"

STUCK: dict[str, Any] = {"label": "stuck", "kind": "exact"}


def test_a_rule_is_right_about_a_stuck_run_from_two_turns_before_its_label() -> None:
    runs = [LabelledRun(turns=20, fired=fired, stuck_from=8, **STUCK) for fired in (5, 6, 9, None)]
    found = score(runs, LOOP_KINDS, 15)
    assert (found.stuck, found.found, found.recall) == (4, 2, 50.0)


def test_a_rule_that_fires_in_a_run_with_progress_is_a_false_positive() -> None:
    runs = [LabelledRun(turns=20, fired=fired, label="progress") for fired in (None, 3, None, None)]
    found = score(runs, LOOP_KINDS, 15)
    assert (found.false, found.false_positives, found.accuracy) == (1, 25.0, 75.0)


def test_wasted_turns_are_those_after_getting_stuck() -> None:
    found = score([LabelledRun(turns=40, fired=9, stuck_from=5, **STUCK)], LOOP_KINDS, 15)
    assert (found.wasted_before, found.wasted, found.saved) == (25, 4, 84.0)


def test_runs_stuck_in_another_way_are_left_out() -> None:
    near = LabelledRun(turns=20, fired=None, label="stuck", kind="near", stuck_from=5)
    assert (score([near], LOOP_KINDS, 15).stuck, score([near], ALL_KINDS, 15).stuck) == (0, 1)


def test_successes_are_counted_with_those_that_the_rules_or_the_limit_cut() -> None:
    runs = [
        LabelledRun(turns=turns, fired=fired, success=True) for turns, fired in ((5, 3), (16, None))
    ]
    found = score([*runs, LabelledRun(turns=16, fired=3, success=False)], LOOP_KINDS, 15)
    assert (found.successes, found.successes_stopped, found.successes_over) == (2, 1, 1)


def test_without_labels_there_are_no_shares() -> None:
    found = score([], LOOP_KINDS, 15)
    assert (found.accuracy, found.false_positives, found.recall, found.saved) == (None,) * 4


def test_a_label_without_its_turn_is_refused() -> None:
    run = {"id": "x", "turns": [], "label": "stuck"}
    with pytest.raises(InvalidTrace, match="stuck_from"):
        build_labelled_run(run, from_trace(run))


def test_a_recording_is_found_stuck_where_its_line_is() -> None:
    rng = random.Random(5)
    for _ in range(200):
        turns = turns_of(*rng.choices(["a", "b", "c"], k=15), write=rng.random() < 0.5)
        rules = StuckRules(*(rng.choice([0, 2, 3, 6]) for _ in range(4)))
        assert (find_stuck_step(from_trace({"id": "x", "turns": turns}), rules)) == (
            find_stuck_turn(turns, rules)[0]
        )


@pytest.mark.skipif(
    not (TRACES / "dev.jsonl.gz").exists(), reason="the recorded runs (shared/traces) are not here"
)
@pytest.mark.parametrize(
    "kinds",
    [
        pytest.param(LOOP_KINDS, id="loops", marks=pytest.mark.ci),
        pytest.param(ALL_KINDS, id="all kinds", marks=pytest.mark.ci),
    ],
)
def test_the_figures_are_those_of_the_reference(kinds: frozenset[str]) -> None:
    command = f"{shlex.quote(sys.executable)} -m agents.core.stuck"
    scored = subprocess.run(
        [
            *[sys.executable, str(TRACES / "score.py"), "--json"],
            *["--kinds", ",".join(kinds), "--cmd", command],
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
    )
    reference: dict[str, Any] = json.loads(scored.stdout)
    with gzip.open(TRACES / "dev.jsonl.gz", "rt") as lines:
        runs = [json.loads(line) for line in lines]
    found = score([build_labelled_run(run, from_trace(run)) for run in runs], kinds, 15)
    assert (found.accuracy, found.false_positives, found.recall) == (
        reference["accuracy"],
        reference["FPR"],
        reference["recall"],
    )
    wasted = reference["wasted_turns_stuck_cap30/cap15/cap30+det/cap15+det"]
    assert (found.wasted_before, found.wasted) == (wasted[0], wasted[3])
    assert found.successes_stopped == reference["success_cut_by_detector"]
    assert f"{found.successes_over}/{found.successes}" == reference["success_over_15"]
