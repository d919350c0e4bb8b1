"""Oracle's own words: the parts of a turn, and what repeats a node or holds it back."""

from dataclasses import dataclass
from typing import Protocol

from agents.core.behaviours.words import action, condition, decorator
from agents.core.control.condition import Condition

MAX_TIMES = 20
MAX_SECONDS = 3_600


@dataclass(frozen=True, slots=True)
class RunUntil:
    """What an action may ask for: the steps of the open turn, up to this one."""

    step: str


_PLAN, _EXECUTE, _DELIVER = RunUntil("plan"), RunUntil("execute"), RunUntil("deliver")


class TurnParts(Protocol):
    """What Oracle's own words do to a run, and ask of it."""

    def fill_prompt(self) -> None: ...
    def has_calls(self) -> bool: ...
    def holds(self, condition: Condition) -> bool: ...


# -- actions and conditions -----------------------------------------------------------------------


@action("oracle.fill_prompt")
def fill_prompt(run: TurnParts) -> None:
    """Build the prompt: system prompt, history, question and tools."""
    run.fill_prompt()


@condition("has-tool-calls?")
def has_tool_calls(run: TurnParts) -> bool:
    """Hold if the model's answer calls tools."""
    return run.has_calls()


@action("tools.plan")
def plan_calls(run: TurnParts) -> RunUntil:
    """Show the calls of an answer, and refuse those that may not run."""
    return _PLAN


@action("tools.execute")
def run_calls(run: TurnParts) -> RunUntil:
    """Run the calls that were planned."""
    return _EXECUTE


@action("tools.hand_over")
def deliver_results(run: TurnParts) -> RunUntil:
    """Add the results of the calls to the conversation."""
    return _DELIVER


@action("oracle.keep_answer")
def keep_answer(run: TurnParts) -> RunUntil:
    """Add the model's text to the conversation."""
    return _PLAN


# -- decorators -----------------------------------------------------------------------------------


@decorator("budget-check")
@dataclass(slots=True)
class BudgetCheck:
    """Run a checkpoint before its node, and fold the turn after it; never succeeds.

    Whatever a behaviour says, a run ends at a checkpoint. So whoever drives it does the work.
    """


@decorator("retry")
@dataclass(slots=True)
class Retry:
    """Retry its node after a failure, up to `times` visits in all."""

    times: int

    def __post_init__(self) -> None:
        if not 1 <= self.times <= MAX_TIMES:
            raise ValueError(f":times is a number from 1 to {MAX_TIMES}")

    def leave(self, run: TurnParts, succeeded: bool) -> bool | None:
        self.times -= 1
        return succeeded if succeeded or self.times < 1 else None


@decorator("timeout")
@dataclass(slots=True)
class Timeout:
    """Limit the seconds of its node, never to more than the run has left."""

    seconds: float

    def __post_init__(self) -> None:
        if not 0 < self.seconds <= MAX_SECONDS:
            raise ValueError(f":seconds is a number up to {MAX_SECONDS:,}")


@decorator("invert")
@dataclass(slots=True)
class Invert:
    """Succeed if its node fails, and fail if it succeeds."""

    def leave(self, run: TurnParts, succeeded: bool) -> bool | None:
        return not succeeded


@decorator("always-succeed")
@dataclass(slots=True)
class AlwaysSucceed:
    """Succeed, whatever its node does."""

    def leave(self, run: TurnParts, succeeded: bool) -> bool | None:
        return True


@decorator("guard")
@dataclass(slots=True)
class Guard:
    """Visit its node only if a condition holds; otherwise fail."""

    when: Condition

    def enter(self, run: TurnParts) -> bool | None:
        return None if run.holds(self.when) else False
