"""What rules may take in one run, in steps of their expressions: each costs about as much as any
other, so that what rules cost is bounded without a timer."""

from agents.core.rules.rule import LEVELS, RuleLevel

MAX_RULE_STEPS = 10_000
"""Of one rule that looks at one event."""
MAX_EVENT_STEPS = 20_000
"""Of all rules of a level that look at one event, and at what they emit about it."""
MAX_RUN_STEPS = 2_000_000
"""Of all rules of a level in one run."""


def share_steps(steps: int, rules: int) -> int:
    """Return what the first of several rules may take of what there is for all of them."""
    return min(steps // rules, MAX_RULE_STEPS)


class StepBudget:
    """The steps that are left in one run. Every level has its own: nobody's rules can keep those
    above them from looking."""

    def __init__(self) -> None:
        self._of_event = dict.fromkeys(LEVELS, MAX_EVENT_STEPS)
        self._of_run = dict.fromkeys(LEVELS, MAX_RUN_STEPS)
        self.has_begun = False
        """Whether any were taken since an event began: mostly nobody takes one."""
        self.taken = 0
        """In all."""

    def begin_event(self) -> None:
        """Give every level what it may take at an event."""
        self._of_event = {level: min(MAX_EVENT_STEPS, left) for level, left in self._of_run.items()}
        self.has_begun = False

    def allow(self, level: RuleLevel, rules: int) -> int:
        """Return what a rule may take. `rules` of its level, with it, are still to look: what it
        leaves is theirs."""
        return share_steps(self._of_event[level], rules)

    def charge(self, level: RuleLevel, steps: int) -> None:
        self.has_begun = True
        self.taken += steps
        self._of_event[level] = max(0, self._of_event[level] - steps)
        self._of_run[level] = max(0, self._of_run[level] - steps)
