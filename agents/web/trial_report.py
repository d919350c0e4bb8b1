"""What a rule would have done in stored runs, as pages and programs are told of it."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from agents.core.rules.dry_run import RuleTrial, TrialSummary, summarize_trials

MAX_LISTED = 100
"""Runs in which it would have fired that are listed, the newest ones first."""
MAX_WORDS = 20
"""Different things said, of each kind, that are listed."""


@dataclass(frozen=True, slots=True)
class FiredRun:
    """A run in which a rule would have fired."""

    id: str
    outcome: str
    firings: Sequence[tuple[int, str]]
    """The iteration, and what it would have done then."""
    ends_early: bool
    was_cut: bool
    """Whether the run, which completed, would have been ended early."""


@dataclass(frozen=True, slots=True)
class TrialReport:
    summary: TrialSummary
    fired: Sequence[FiredRun]

    @property
    def not_listed(self) -> int:
        """How many more runs there are in which it would have fired."""
        return self.summary.fired - len(self.fired)

    @property
    def done(self) -> list[tuple[str, int]]:
        return list(self.summary.words.items())[:MAX_WORDS]

    @property
    def why_not(self) -> list[tuple[str, int]]:
        return list(self.summary.why_not.items())[:MAX_WORDS]

    @property
    def unknown(self) -> list[tuple[str, int]]:
        known = {**self.summary.problems, **self.summary.unknown}
        return list(known.items())[:MAX_WORDS]


def build_report(trials: Iterable[RuleTrial]) -> TrialReport:
    """Sum up trials, which come from the oldest run to the newest."""
    fired: list[RuleTrial] = []
    summary = summarize_trials(_keep_fired(trials, fired))
    newest = fired[: -MAX_LISTED - 1 : -1]
    return TrialReport(summary, [_describe_run(trial) for trial in newest])


def _keep_fired(trials: Iterable[RuleTrial], fired: list[RuleTrial]) -> Iterator[RuleTrial]:
    for trial in trials:
        if trial.firings:
            fired.append(trial)
        yield trial


def _describe_run(trial: RuleTrial) -> FiredRun:
    firings = [
        (firing.turn, "; ".join(map(str, firing.effects)) or "nothing") for firing in trial.firings
    ]
    ends_early = trial.stopped_at is not None
    return FiredRun(trial.run_id, trial.outcome or "running", firings, ends_early, trial.is_cut)
