"""What a rule would have done in a run that is over: its chunks once more, without a model.

A rule that stops a run, withholds a tool that is used later or sends an answer back changes what
follows. What that would have been is unknown.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from agents.core.chunks import Done, OracleStreamChunk, Turn
from agents.core.control.events import AgentEvent
from agents.core.control.facts import Facts, RunBackground
from agents.core.reasons import Outcome
from agents.core.rules.engine import RuleEngine
from agents.core.rules.outcomes import Firing, NotFired, RuleFailure
from agents.core.rules.rule import AskAgain, Hold, Rule, StopRun, Withhold

STOPPED = "The rule would have ended the run: what its last answer would have been is unknown."
ASKED_AGAIN = "The answer would have been sent back: what followed is unknown."
HELD = "A call would have waited for a person: what followed is unknown."
ERASED = "The rule looks at what was said, and that was erased."
TOO_DEAR = "Not tried: the rule takes too many steps for so many runs. Try it on fewer days."


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleTrial:
    """What a rule would have done in one run."""

    run_id: str
    outcome: str = ""
    """How the run ended; empty when it has not."""
    firings: tuple[Firing, ...] = ()
    failures: tuple[RuleFailure, ...] = ()
    stopped_at: int | None = None
    """The turn after which it would have ended the run, when others followed."""
    why_unknown: str = ""
    """A sentence, when it is not known what would have followed, or nothing is."""
    why_not: NotFired | None = None
    """Why it did not fire when it last looked; None if it did, or never looked."""
    steps: int = 0
    """What its expressions took."""

    @property
    def is_cut(self) -> bool:
        """Whether a run that completed would have been ended."""
        return self.stopped_at is not None and self.outcome == Outcome.COMPLETED.value


def try_rule(
    rule: Rule,
    chunks: Iterable[OracleStreamChunk],
    background: RunBackground,
    state: dict[str, Any] | None = None,
    *,
    run_id: str,
    outcome: str = "",
) -> RuleTrial:
    """Play one run. `state` is what the rule remembers from runs before, and is brought on."""
    trial = _Trial(_switch_on(rule), background, state or {})
    for chunk in chunks:
        if trial.is_over(chunk):
            break
        trial.feed(chunk)
    if state is not None:
        state.clear()
        state.update(trial.engine.states[rule.key])
    return RuleTrial(
        run_id=run_id,
        outcome=outcome,
        firings=tuple(trial.firings),
        failures=tuple(trial.failures),
        stopped_at=trial.stopped_at,
        why_unknown=trial.why_unknown,
        why_not=trial.engine.why_not.get(rule.key) if not trial.firings else None,
        steps=trial.engine.steps_taken,
    )


@lru_cache(maxsize=16)
def _switch_on(rule: Rule) -> Rule:
    """Return the rule as it would be if it were on: one and the same for all runs."""
    return replace(rule, mode="on")


class _Trial:
    def __init__(self, rule: Rule, background: RunBackground, state: Mapping[str, Any]) -> None:
        self.facts = Facts(background)
        self.engine = RuleEngine([rule], {rule.key: state})
        self.firings: list[Firing] = []
        self.failures: list[RuleFailure] = []
        self.stopped_at: int | None = None
        self.why_unknown = ""
        self._stops_after: int | None = None
        self._withheld: dict[str, int] = {}
        """Tools that are offered no more, and the turn in which that was decided."""

    def is_over(self, chunk: OracleStreamChunk) -> bool:
        """Return whether the run would not have come to this chunk.

        It would where it ended, or was to give its last answer, at that checkpoint anyway.
        """
        if self._stops_after is None or chunk.parent:
            return bool(self.why_unknown)
        if isinstance(chunk, Turn) and chunk.phase == "start":
            if chunk.wrap_up is None:
                self.stopped_at, self.why_unknown = self._stops_after, STOPPED
            self._stops_after = None
        return bool(self.why_unknown)

    def feed(self, chunk: OracleStreamChunk) -> None:
        for event in self.facts.feed(chunk):
            if self._uses_withheld(event):
                self.why_unknown = f"It used {event.payload['tool']}, which the rule withholds."
                return
            for outcome in self.engine.feed(self.facts, event):
                if isinstance(outcome, RuleFailure):
                    self.failures.append(outcome)
                else:
                    self.firings.append(outcome)
                    self._apply(outcome, is_end=isinstance(chunk, Done))

    def _uses_withheld(self, event: AgentEvent) -> bool:
        if event.name != "tool.call.pending" or not self._withheld:
            return False
        since = self._withheld.get(event.payload["tool"])
        return since is not None and bool(self.facts.turn["number"] > since)

    def _apply(self, firing: Firing, *, is_end: bool) -> None:
        """Remember what the rule would have changed. At the end there is nothing to change."""
        for effect in firing.effects:
            match effect.action:
                case StopRun() if not is_end and self._stops_after is None:
                    self._stops_after = firing.turn
                case Withhold(tool=tool):
                    self._withheld.setdefault(tool, firing.turn)
                case AskAgain():
                    self.why_unknown = ASKED_AGAIN
                case Hold():
                    self.why_unknown = HELD
                case _:
                    pass


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSummary:
    """What the trials of a rule on many runs come to."""

    runs: int
    fired: int
    """Runs in which it would have fired."""
    firings: int
    turns: Mapping[int, int]
    """In which turns it would have fired first, and in how many runs."""
    words: Mapping[str, int]
    """What it would have said or done, the most frequent first, and in how many runs."""
    stopped: int
    """Runs that it would have ended early."""
    cut: int
    """Those of them that completed."""
    failed: int
    """Runs in which it could not say whether it fires."""
    problems: Mapping[str, int]
    why_not: Mapping[str, int]
    """Parts of the condition that did not hold, and in how many runs."""
    unknown: Mapping[str, int]


def summarize_trials(trials: Iterable[RuleTrial]) -> TrialSummary:
    """Sum up. One trial after the other, so there may be any number of them."""
    sums: Counter[str] = Counter()
    turns: Counter[int] = Counter()
    words: Counter[str] = Counter()
    problems: Counter[str] = Counter()
    why_not: Counter[str] = Counter()
    unknown: Counter[str] = Counter()
    for trial in trials:
        sums.update(runs=1, fired=bool(trial.firings), firings=len(trial.firings))
        sums.update(stopped=trial.stopped_at is not None, cut=trial.is_cut)
        sums.update(failed=bool(trial.failures))
        if trial.firings:
            turns[trial.firings[0].turn] += 1
        said = (str(effect) for firing in trial.firings for effect in firing.effects)
        words.update(dict.fromkeys(said, 1))
        problems.update({failure.problem for failure in trial.failures})
        if trial.why_not is not None:
            why_not[trial.why_not.part.text] += 1
        if trial.why_unknown:
            unknown[trial.why_unknown] += 1
    return TrialSummary(
        **{
            name: int(sums[name])
            for name in ("runs", "fired", "firings", "stopped", "cut", "failed")
        },
        turns=dict(sorted(turns.items())),
        words=dict(words.most_common()),
        problems=dict(problems.most_common()),
        why_not=dict(why_not.most_common()),
        unknown=dict(unknown.most_common()),
    )
