"""The verdicts of a replay in words and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from agents.core.replay.engine import Summary, Verdict
from agents.core.replay.evaluation import (
    ALL_KINDS,
    BASELINE_TURN_LIMIT,
    LOOP_KINDS,
    LabelledRun,
    Score,
    score,
)
from agents.core.stuck import StuckRules
from agents.web.formatting import format_count

_KIND_LABELS = {
    "same": "as they did",
    "earlier": "earlier",
    "later": "later",
    "other": "at the same iteration, for another reason",
    "unknown": "not known",
}


def format_summary(found: Summary) -> Iterator[str]:
    yield f"{format_count(found.runs, 'run')} replayed. They would have ended"
    for kind, words in _KIND_LABELS.items():
        yield f"{found.kinds[kind]:8,}  {words}"  # type: ignore[index]
    yield f"Iterations saved: {_format_share(found.turns_saved, found.turns)}."
    if found.tokens:
        yield f"Tokens saved: about {_format_share(found.tokens_saved, found.tokens)}."
    yield f"Completed runs that would have been cut: {found.cut:,}."
    for name, count in found.not_applied.items():
        yield f"{name} is not applied to {format_count(count, 'run')}: no use of it was recorded."
    if found.changes:
        yield "\nReasons that change"
        for (old, new), count in found.changes.items():
            before, after = replace_unprintable(old), replace_unprintable(new)
            yield f"{count:8,}  {before or 'running'} -> {after or 'not known'}"
    if found.unknown:
        yield "\nWhat is unknown"
        for why, count in found.unknown.items():
            yield f"{count:8,}  {replace_unprintable(why)}"


def format_changed_runs(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if verdicts:
        yield "\nRuns that change"
    for verdict in verdicts:
        old = f"{verdict.old_reason or 'running'}, {format_count(verdict.old_turn, 'iteration')}"
        new = "later, not known"
        if verdict.turn is not None:
            new = f"{verdict.reason}, {format_count(verdict.turn, 'iteration')}"
        yield replace_unprintable(
            f"{verdict.id}  {old} -> {new}{'  (cut)' if verdict.was_cut else ''}"
        )


def format_scores(runs: Sequence[LabelledRun], rules: StuckRules, turn_limit: int) -> Iterator[str]:
    """Yield how well the stuck rules do on the runs that are labelled."""
    loops, everything = (score(runs, kinds, turn_limit) for kinds in (LOOP_KINDS, ALL_KINDS))
    if not everything.stuck + everything.progress:
        yield "\nNo run is labelled, so the stuck rules are not scored."
        return
    yield (
        f"\nStuck rules (identical {rules.identical}, writing {rules.writing}, known "
        f"{rules.known}, answers {rules.answers}) on {everything.stuck} stuck runs and "
        f"{everything.progress} with progress"
    )
    yield "Iterations wasted once stuck (wanted: at least 30 % fewer)"
    for title, found in (("loops", loops), ("all kinds", everything)):
        yield (
            f"        {title}: {found.wasted_before:,} with a limit of {BASELINE_TURN_LIMIT}, "
            f"{found.wasted:,} with these rules and {turn_limit}: "
            f"{_format_percent(found.saved)} fewer"
        )
    yield (
        f"        of {loops.successes:,} successful runs the rules stop "
        f"{loops.successes_stopped:,}; {loops.successes_over:,} take more than {turn_limit} "
        "iterations"
    )
    yield (
        f"        tool errors end {loops.successes_failing:,} of them, counted call by call; "
        f"{loops.successes_failing_by_turn:,} if only failing iterations counted, as before"
    )
    yield "Stuck runs found (wanted: loops with at least 95 % accuracy, under 5 % false)"
    for title, found in (("loops", loops), ("all kinds", everything)):
        yield (
            f"        {title}: accuracy {_format_percent(found.accuracy)}, false positives "
            f"{_format_percent(found.false_positives)}, recall {_format_percent(found.recall)}"
        )


# -- as JSON --------------------------------------------------------------------------------------


def serialize_verdict(verdict: Verdict) -> dict[str, Any]:
    return {"type": "run", **asdict(verdict), "not_applied": sorted(verdict.not_applied)}


def serialize_summary(found: Summary) -> dict[str, Any]:
    changes = [
        {"old_reason": old, "reason": new, "runs": count}
        for (old, new), count in found.changes.items()
    ]
    return {"type": "summary", **asdict(found), "changes": changes}


def serialize_scores(runs: Sequence[LabelledRun], turn_limit: int) -> dict[str, Any]:
    return {
        "type": "score",
        "turn_limit": turn_limit,
        "loops": _serialize_score(score(runs, LOOP_KINDS, turn_limit)),
        "all_kinds": _serialize_score(score(runs, ALL_KINDS, turn_limit)),
    }


def _serialize_score(found: Score) -> dict[str, Any]:
    shares = ("accuracy", "false_positives", "recall", "saved")
    return {**asdict(found), **{name: getattr(found, name) for name in shares}}


# -- words ----------------------------------------------------------------------------------------


def _format_share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({_format_percent(100 * part / whole if whole else None)})"


def _format_percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} %"


def replace_unprintable(text: str) -> str:
    """Return text of models and files without what could steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
