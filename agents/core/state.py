"""The state of a run as a decision tree sees it: frozen, replaced turn by turn, never edited."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Self

from agents.core.chunks import SystemType, Turn, UsageSource
from agents.core.config import AgentConfig
from agents.core.reasons import Severity
from agents.core.stuck import ProgressTracker, TurnAction
from agents.core.tokens import MIN_ANSWER_TOKENS

_NO_EXTENSIONS: Mapping[str, Any] = MappingProxyType({})
WRAP_UP_SECONDS = 15.0
WRAP_UP_SHARE = 0.15


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """Something to be told once: `message` to the user, `hint` to the model; either may be empty.

    `key` makes it unique within a run: a notice whose key has fired is not given again.
    """

    key: str
    system_type: SystemType
    message: str = ""
    hint: str = ""
    severity: Severity = "warning"
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RuleStop:
    """That a rule has stopped the run: its key, its name, and what it says."""

    rule: str
    name: str = ""
    words: str = ""


@dataclass(frozen=True, kw_only=True)
class AgentState:
    """The facts of a run so far, and what its tree wants said.

    The loop owns the facts and puts them right again after every call into a tree. A tree owns
    `extensions`, `notices` and `withheld_tools`, and may set a `termination_reason` to stop the
    run; it may also subclass the state for its own fields.
    """

    user_id: str
    project_id: str
    config: AgentConfig
    turn: int = 0
    """Finished turns: 0 when the first one starts."""
    tokens_used: int = 0
    usage_source: UsageSource | None = None
    start_time: float = field(default_factory=time.time)
    now: float | None = None
    """The time as the loop last saw it; the clock's own in a state that no loop has."""
    cancelled: bool = False
    finish_reason: str | None = None
    """How the last answer ended: stop, tool_calls, length, budget, content_filter, empty or cut;
    sent_back if a rule did not let it be the last; provider_error or timeout if the answer of a
    wrap-up has failed."""
    recent_actions: tuple[str, ...] = ()
    """The last three tool calls; a turn without any clears them."""
    progress: ProgressTracker = field(default_factory=ProgressTracker)
    error_streak: int = 0
    """Tool errors since the last success, call by call."""
    empty_answers: int = 0
    held_calls: int = 0
    """Calls of the last turn that wait for a person."""
    interim: str = ""
    """What the text of the last turn is called, if it is not yet the answer."""
    wrap_up_reason: str | None = None
    termination_reason: str | None = None
    rule_stop: RuleStop | None = None
    has_branches: bool = False
    """Whether a behaviour drives the run, which may try something else when a request failed."""
    asked_end: str | None = None
    """The reason for which a behaviour, or a call that waits for a yes, ends the run."""
    token_limit: int = 0
    """The config's budget, or a smaller share given to a subagent."""
    time_limit: float = 0.0
    """The config's time in seconds, or what a subagent's parent has left."""
    next_request: int = 0
    """Tokens that one more working turn and the wrap-up after it are forecast to take."""
    two_requests: int = 0
    """Tokens that two more working turns and the wrap-up are forecast to take."""
    context_tokens: int = 0
    context_window: int = 0
    fired: frozenset[str] = frozenset()
    """Keys of the notices given so far."""
    notices: tuple[Notice, ...] = ()
    """Notices waiting to be given."""
    withheld_tools: frozenset[str] = frozenset()
    extensions: Mapping[str, Any] = field(default_factory=lambda: _NO_EXTENSIONS)

    def __post_init__(self) -> None:
        if not isinstance(self.config, AgentConfig):
            raise ValueError(f"config must be an AgentConfig, not {type(self.config).__name__}")
        if not self.token_limit:
            object.__setattr__(self, "token_limit", self.config.token_budget)
        if not self.time_limit:
            object.__setattr__(self, "time_limit", self.config.timeout_seconds)
        if not isinstance(self.extensions, MappingProxyType):
            object.__setattr__(self, "extensions", MappingProxyType(dict(self.extensions)))
        if self.turn < 0:
            raise ValueError("turn must not be negative")
        if self.tokens_used < 0:
            raise ValueError("tokens_used must not be negative")
        if self.elapsed_seconds < 0:
            raise ValueError("start_time must not lie in the future")
        if len(self.recent_actions) > 3:
            raise ValueError("recent_actions holds at most 3")

    # -- derived ----------------------------------------------------------------------------------

    @property
    def is_terminal(self) -> bool:
        return self.termination_reason is not None

    @property
    def elapsed_seconds(self) -> float:
        return (time.time() if self.now is None else self.now) - self.start_time

    @property
    def iteration_percent(self) -> float:
        return 100 * self.turn / self.config.max_iterations

    @property
    def token_percent(self) -> float:
        return 100 * self.tokens_used / self.token_limit

    @property
    def time_percent(self) -> float:
        return 100 * self.elapsed_seconds / self.time_limit

    @property
    def context_percent(self) -> float:
        return 100 * self.context_tokens / self.context_window if self.context_window else 0.0

    @property
    def has_answered(self) -> bool:
        """Whether the last turn was the answer: not its plan, and not what was sent back."""
        return self.finish_reason == "stop" and not self.interim

    @property
    def fits_window(self) -> bool:
        """Whether the model's context has room for the next request and an answer to it."""
        return self.context_tokens + MIN_ANSWER_TOKENS <= (self.context_window or math.inf)

    @property
    def is_budget_spent(self) -> bool:
        """Whether the tokens are used up, or what another working turn takes is not left."""
        return (
            self.finish_reason == "budget"
            or self.tokens_used >= self.token_limit
            or self.tokens_used + self.next_request > self.token_limit
        )

    @property
    def is_over_budget(self) -> bool:
        return self.is_budget_spent or not self.fits_window

    @property
    def turns_left(self) -> int:
        return max(0, self.config.max_iterations - self.turn)

    @property
    def tokens_left(self) -> int:
        return max(0, self.token_limit - self.tokens_used)

    @property
    def warn_at_turn(self) -> int:
        """Finished turns at which to warn: by percent, and at least two turns ahead of the end."""
        limit = self.config.max_iterations
        return max(1, min(math.ceil(limit * self.config.soft_warning_percent / 100), limit - 2))

    @property
    def working_seconds(self) -> float:
        """The time for work: what lies beyond it is kept for the wrap-up turn."""
        return self.time_limit - min(WRAP_UP_SECONDS, WRAP_UP_SHARE * self.time_limit)

    def without_subclass(self) -> "AgentState":
        """Return the facts alone, without what a subclass adds or demands."""
        names = AgentState.__dataclass_fields__
        return AgentState(**{name: getattr(self, name) for name in names})

    # -- transitions ------------------------------------------------------------------------------

    def replace(self, **values: Any) -> Self:
        """Do as `dataclasses.replace`, with the same invariants, at a fifth of the cost.

        A copy of the fields will do for this class itself; a subclass may have more than that.
        """
        if type(self) is not AgentState:
            return replace(self, **values)
        new = object.__new__(type(self))
        new.__dict__.update(self.__dict__, **values)
        new.__post_init__()
        return new

    def with_notice(self, notice: Notice) -> Self:
        """Return this state with the notice waiting, unless it was given before."""
        if notice.key in self.fired or any(n.key == notice.key for n in self.notices):
            return self
        return self.replace(notices=(*self.notices, notice))

    def with_action(self, action: str) -> Self:
        """Return this state with one more call in its history of three."""
        return self.replace(recent_actions=(*self.recent_actions, action)[-3:])

    def with_extension(self, module: str, value: Any) -> Self:
        """Return this state with the module's own entry replaced; the others are untouched."""
        return replace(self, extensions=MappingProxyType({**self.extensions, module: value}))

    def after_turn(self, turn: Turn) -> Self:
        """Return this state after a turn, from nothing but the chunk that records its end."""
        step = TurnAction(
            turn.action,
            turn.results,
            turn.results_normalised,
            turn.writes,
            turn.answers,
            turn.pattern or turn.action_digest,
        )
        tokens = turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens
        return self.replace(
            turn=self.turn + turn.answered,
            tokens_used=self.tokens_used + tokens,
            usage_source=merge_usage_source(self.usage_source, turn.usage_source)
            if tokens
            else self.usage_source,
            finish_reason=turn.failure or turn.finish_reason,
            recent_actions=self.recent_actions if step.action else (),
            progress=self.progress if turn.wrap_up else self.progress.with_step(step),
            error_streak=update_error_streak(self.error_streak, turn),
            empty_answers=self.empty_answers + 1 if turn.finish_reason == "empty" else 0,
            interim=turn.interim,
            wrap_up_reason=turn.wrap_up,
            held_calls=turn.held,
        )


def merge_usage_source(before: UsageSource | None, now: UsageSource) -> UsageSource:
    """Return who a sum of tokens comes from, when one more part is added."""
    return now if before in (None, now) else "mixed"


def update_error_streak(streak: int, turn: Turn) -> int:
    """Count errors in a row. Recordings from before know only whether all calls of a turn failed:
    they are counted by failing turns, and a turn without calls starts over."""
    if turn.errors is not None:
        return turn.errors + (0 if turn.failed is False else streak)
    if turn.failed:
        return streak + 1
    return streak if turn.action and turn.failed is None else 0
