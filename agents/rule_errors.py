"""What people are told who cannot read or change a rule as they wanted to."""

from agents.models import StoredRule


class RuleError(Exception):
    """The message is for the person who asked."""


class RuleNotFound(RuleError):
    """There is no such rule for this person."""


class RuleLocked(RuleError):
    """It is there, and they may not do this."""


class RuleRefused(RuleError):
    """Not so, or not now: the message says what to do."""


class RuleConflict(RuleError):
    """It was changed since it was read; `row` is what it is now."""

    def __init__(self, row: StoredRule) -> None:
        super().__init__(
            f"{row.name} was changed elsewhere: it is at version {row.version} now. "
            "Nothing was stored."
        )
        self.row = row
