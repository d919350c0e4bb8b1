"""What a rule would have done in stored runs, in words and numbers."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agents.core.rules.dry_run import RuleTrial, TrialSummary
from agents.core.rules.outcomes import Firing
from agents.core.rules.rule import Rule
from agents.management.replay_report import replace_unprintable
from agents.web.formatting import format_count

MAX_LINES = 20
"""Different things said that are listed."""


def format_trial_summary(rule: Rule, found: TrialSummary) -> Iterator[str]:
    yield (
        f"{format_count(found.runs, 'run')} tried. {rule.id} would have fired in {found.fired:,} "
        f"of them, {format_count(found.firings, 'time')} in all."
    )
    if any(action.type == "stop" for action in rule.actions):
        yield (
            f"It would have ended {format_count(found.stopped, 'run')} early, "
            f"{found.cut:,} of which completed."
        )
    if found.failed:
        yield f"It could not be evaluated in {format_count(found.failed, 'run')}."
    turns = {f"iteration {turn}": count for turn, count in found.turns.items()}
    yield from _format_counts("Where it would have fired first", turns)
    yield from _format_counts("What it would have done", found.words)
    yield from _format_counts("What did not hold when last evaluated", found.why_not)
    yield from _format_counts("What is wrong with it", found.problems)
    yield from _format_counts("What is unknown", found.unknown)


def format_fired_runs(trials: Sequence[RuleTrial]) -> Iterator[str]:
    if trials:
        yield "\nRuns in which it fires"
    for trial in trials:
        for firing in trial.firings:
            done = "; ".join(map(str, firing.effects)) or "nothing"
            cut = "  (ends it)" if firing.turn == trial.stopped_at else ""
            line = f"{trial.run_id}  {trial.outcome or 'running'}, iteration {firing.turn}: {done}"
            yield replace_unprintable(line) + cut


def serialize_trial(trial: RuleTrial) -> dict[str, Any]:
    why_not = trial.why_not
    return {
        "type": "run",
        "id": trial.run_id,
        "outcome": trial.outcome,
        "firings": [_serialize_firing(firing) for firing in trial.firings],
        "problems": [failure.problem for failure in trial.failures],
        "stopped_at": trial.stopped_at,
        "was_cut": trial.is_cut,
        "why_not": None if why_not is None else {"turn": why_not.turn, "part": str(why_not.part)},
        "why_unknown": trial.why_unknown,
    }


def serialize_trial_summary(rule: Rule, found: TrialSummary) -> dict[str, Any]:
    return {"type": "summary", "rule": rule.id, **asdict(found)}


def _serialize_firing(firing: Firing) -> dict[str, Any]:
    return {
        "event": firing.event,
        "seq": firing.seq,
        "turn": firing.turn,
        "effects": [{"type": one.action.type, "words": one.words} for one in firing.effects],
    }


def _format_counts(title: str, counts: Mapping[str, int]) -> Iterator[str]:
    if counts:
        yield f"\n{title}"
    for words, count in list(counts.items())[:MAX_LINES]:
        yield f"{count:8,}  {replace_unprintable(words)}"
    if len(counts) > MAX_LINES:
        yield f"          and {len(counts) - MAX_LINES:,} more"
