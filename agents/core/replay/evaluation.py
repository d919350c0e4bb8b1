"""Evaluate the stuck rules on labelled recorded runs.

A label says of a run that it was stuck from a turn on, and how, or that it made progress.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.core.replay.recording import InvalidTrace, Recording
from agents.core.state import update_error_streak
from agents.core.stuck import (
    DEFAULT_STUCK_RULES,
    ERROR_LIMIT,
    ProgressTracker,
    StuckRules,
    TurnAction,
)

LOOP_KINDS = frozenset({"exact", "volatile", "cycle"})
"""The kinds of being stuck that are loops: what the rules are meant to find."""
ALL_KINDS = LOOP_KINDS | {"near"}
SLACK_TURNS = 2
"""Firing up to this many turns before the labelled turn still counts as a hit."""
BASELINE_TURN_LIMIT = 30
"""The turn limit that wasted turns are compared with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledRun:
    """What is said of a recorded run, and where the rules found it stuck."""

    turns: int
    fired: int | None
    errors: bool = False
    """Whether tool errors would have ended it."""
    errors_by_turn: bool = False
    """The same, if only turns in which every call fails counted."""
    label: str | None = None
    kind: str | None = None
    stuck_from: int = 0
    success: bool | None = None

    def count_wasted_turns(self, limit: int, *, by_rules: bool) -> int:
        """Count the turns after the one it was stuck from, under a limit and perhaps the rules."""
        ends = min(self.turns, limit, self.fired or limit) if by_rules else min(self.turns, limit)
        return max(0, ends - self.stuck_from)


def build_labelled_run(
    run: Mapping[str, Any], recording: Recording, rules: StuckRules = DEFAULT_STUCK_RULES
) -> LabelledRun:
    """Return a line of a file of recorded runs, with what the rules say of its recording."""
    stuck_from = run.get("stuck_from")
    if run.get("label") == "stuck" and type(stuck_from) is not int:
        raise InvalidTrace("a stuck run needs a whole number as 'stuck_from'")
    return LabelledRun(
        turns=len(recording.steps),
        fired=find_stuck_step(recording, rules),
        errors=hits_error_limit(recording),
        errors_by_turn=hits_error_limit(recording, by_turn=True),
        label=run.get("label"),
        kind=run.get("stuck_kind"),
        stuck_from=stuck_from or 0,
        success=run.get("success"),
    )


def find_stuck_step(recording: Recording, rules: StuckRules) -> int | None:
    """Return the first turn, counted from 1, at which a stuck rule fires."""
    track = ProgressTracker(rules=rules)
    for number, step in enumerate(recording.steps, start=1):
        turn = step.turn
        track = track.with_step(
            TurnAction(
                turn.action, turn.results, turn.results_normalised, turn.writes, turn.answers
            )
        )
        if track.stuck_rule:
            return number
    return None


def hits_error_limit(recording: Recording, *, by_turn: bool = False) -> bool:
    """Return whether tool errors in a row end the run: call by call, or by failing turns."""
    streak = 0
    for step in recording.steps:
        turn = replace(step.turn, errors=None) if by_turn else step.turn
        streak = update_error_streak(streak, turn)
        if streak >= ERROR_LIMIT:
            return True
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """How the rules did. Shares are percents, None where there is nothing to take one of."""

    stuck: int
    progress: int
    found: int
    false: int
    """Runs that made progress and in which a rule fires."""
    wasted_before: int
    """Turns after getting stuck, with a limit of 30 turns and no rules."""
    wasted: int
    """The same with the rules and the limit in force."""
    successes: int
    successes_stopped: int
    successes_over: int
    """Successful runs that took more turns than the limit in force."""
    successes_failing: int
    """Successful runs that tool errors would have ended."""
    successes_failing_by_turn: int
    """The same, if only turns in which every call fails counted."""

    @property
    def accuracy(self) -> float | None:
        return _percent(self.found + self.progress - self.false, self.stuck + self.progress)

    @property
    def false_positives(self) -> float | None:
        return _percent(self.false, self.progress)

    @property
    def recall(self) -> float | None:
        return _percent(self.found, self.stuck)

    @property
    def saved(self) -> float | None:
        """The share of the wasted turns that is wasted no more."""
        return _percent(self.wasted_before - self.wasted, self.wasted_before)


def score(runs: Iterable[LabelledRun], kinds: frozenset[str], turn_limit: int) -> Score:
    """Score the rules on runs; those labelled as stuck in another way are left out."""
    everything = list(runs)
    stuck = [run for run in everything if run.label == "stuck" and run.kind in kinds]
    progress = [run for run in everything if run.label == "progress"]
    successes = [run for run in everything if run.success is True]
    return Score(
        stuck=len(stuck),
        progress=len(progress),
        found=sum((run.fired or 0) >= max(1, run.stuck_from - SLACK_TURNS) for run in stuck),
        false=sum(run.fired is not None for run in progress),
        wasted_before=sum(
            run.count_wasted_turns(BASELINE_TURN_LIMIT, by_rules=False) for run in stuck
        ),
        wasted=sum(run.count_wasted_turns(turn_limit, by_rules=True) for run in stuck),
        successes=len(successes),
        successes_stopped=sum(run.fired is not None for run in successes),
        successes_over=sum(run.turns > turn_limit for run in successes),
        successes_failing=sum(run.errors for run in successes),
        successes_failing_by_turn=sum(run.errors_by_turn for run in successes),
    )


def _percent(part: int, whole: int) -> float | None:
    return 100 * part / whole if whole else None
