"""The verdicts of a replay in words and numbers."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from agents.core.progress import StuckRules
from agents.core.replay import Summary, Verdict
from agents.core.scoring import ALL_KINDS, COMPARED_TURNS, LOOPS, Labelled, Score, score

_KINDS = {
    "same": "as they did",
    "earlier": "earlier",
    "later": "later",
    "other": "at the same turn, for another reason",
    "unknown": "not known",
}


def summary_lines(found: Summary) -> Iterator[str]:
    yield f"{_count(found.runs, 'run')} replayed. They would have ended"
    for kind, words in _KINDS.items():
        yield f"{found.kinds[kind]:8,}  {words}"  # type: ignore[index]
    yield f"Turns saved: {_share(found.turns_saved, found.turns)}."
    if found.tokens:
        yield f"Tokens saved: about {_share(found.tokens_saved, found.tokens)}."
    yield f"Completed runs that would have been cut: {found.cut:,}."
    for name, count in found.not_applied.items():
        yield f"{name} is not applied to {_count(count, 'run')}: no use of it was recorded."
    if found.changes:
        yield "\nReasons that change"
        for (old, new), count in found.changes.items():
            yield f"{count:8,}  {_shown(old) or 'running'} -> {_shown(new) or 'not known'}"
    if found.unknown:
        yield "\nWhat is not known"
        for why, count in found.unknown.items():
            yield f"{count:8,}  {_shown(why)}"


def changed_lines(verdicts: Sequence[Verdict]) -> Iterator[str]:
    if verdicts:
        yield "\nRuns that change"
    for verdict in verdicts:
        old = f"{verdict.old_reason or 'running'}, {_count(verdict.old_turn, 'turn')}"
        new = "later, not known"
        if verdict.turn is not None:
            new = f"{verdict.reason}, {_count(verdict.turn, 'turn')}"
        yield _shown(f"{verdict.id}  {old} -> {new}{'  (cut)' if verdict.was_cut else ''}")


def score_lines(runs: Sequence[Labelled], rules: StuckRules, turn_limit: int) -> Iterator[str]:
    """SC-006 and SC-007 of the specification, on the runs that are labelled."""
    loops, everything = (score(runs, kinds, turn_limit) for kinds in (LOOPS, ALL_KINDS))
    if not everything.stuck + everything.progress:
        yield "\nNo run is labelled, so the stuck rules are not scored."
        return
    yield (
        f"\nStuck rules (identical {rules.identical}, writing {rules.writing}, known "
        f"{rules.known}) on {everything.stuck} stuck runs and {everything.progress} with progress"
    )
    yield "SC-006  turns wasted once stuck (wanted: at least 30 % fewer)"
    for title, found in (("loops", loops), ("all kinds", everything)):
        yield (
            f"        {title}: {found.wasted_before:,} with a limit of {COMPARED_TURNS} turns, "
            f"{found.wasted:,} with these rules and {turn_limit}: {_percent(found.saved)} fewer"
        )
    yield (
        f"        of {loops.successes:,} successful runs the rules stop "
        f"{loops.successes_stopped:,}; {loops.successes_over:,} take more than {turn_limit} turns"
    )
    yield "SC-007  stuck runs found (wanted: loops with at least 95 % accuracy, under 5 % false)"
    for title, found in (("loops", loops), ("all kinds", everything)):
        yield (
            f"        {title}: accuracy {_percent(found.accuracy)}, false positives "
            f"{_percent(found.false_positives)}, recall {_percent(found.recall)}"
        )


# -- as JSON --------------------------------------------------------------------------------------


def verdict_data(verdict: Verdict) -> dict[str, Any]:
    return {"type": "run", **asdict(verdict), "not_applied": sorted(verdict.not_applied)}


def summary_data(found: Summary) -> dict[str, Any]:
    changes = [
        {"old_reason": old, "reason": new, "runs": count}
        for (old, new), count in found.changes.items()
    ]
    return {"type": "summary", **asdict(found), "changes": changes}


def score_data(runs: Sequence[Labelled], turn_limit: int) -> dict[str, Any]:
    return {
        "type": "score",
        "turn_limit": turn_limit,
        "loops": _score_data(score(runs, LOOPS, turn_limit)),
        "all_kinds": _score_data(score(runs, ALL_KINDS, turn_limit)),
    }


def _score_data(found: Score) -> dict[str, Any]:
    shares = ("accuracy", "false_positives", "recall", "saved")
    return {**asdict(found), **{name: getattr(found, name) for name in shares}}


# -- words ----------------------------------------------------------------------------------------


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _share(part: int, whole: int) -> str:
    return f"{part:,} of {whole:,} ({_percent(100 * part / whole if whole else None)})"


def _percent(value: float | None) -> str:
    return "none" if value is None else f"{value:.1f} %"


def _shown(text: str) -> str:
    """Text of models and files without what could steer a terminal."""
    return "".join(char if char.isprintable() else "?" for char in text)
