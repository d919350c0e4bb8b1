"""A recorded run: its turns, and what each checkpoint between them saw.

`event_reader` builds it from the events that the loop left, `from_trace` from one line of a file of
recorded runs; `engine` plays it again under other limits.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.reasons import Outcome
from agents.core.state import AgentState
from agents.core.stuck import action_from_trace, count_errors_at_end

MEASURED_LIMITS = frozenset({"token_budget", "timeout_seconds"})
"""The limits that need more than turns to be replayed."""
DAMAGED_MESSAGE = "Events of this run are missing or damaged."


class InvalidTrace(ValueError):
    """A line that is not a recorded run. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckpointState:
    """What a checkpoint of the recorded run saw, and what was decided there."""

    elapsed: float = 0.0
    """Seconds since the start."""
    cancelled: bool = False
    next_request: int = 0
    """Tokens that one more working turn and the wrap-up after it were forecast to take."""
    last_request: int = 0
    """Tokens that a wrap-up alone was forecast to take."""
    context_tokens: int = 0
    is_sent_back: bool = False
    """Whether a rule had sent the answer back."""
    has_branches: bool = False
    """Whether a behaviour could try something else after a request that had failed."""
    asked_end: str | None = None
    """The reason for which a behaviour or a call that waited for a yes ended the run."""
    reason: str = ""
    """Why the run was to stop; empty when it went on."""
    wrapped: bool = False
    """Whether a wrap-up turn began here."""


@dataclass(frozen=True, slots=True)
class RecordedTurn:
    """One turn: the chunk that records its end, and what the checkpoint after it saw.

    `after` is None when the run ended in this turn without being asked. The turn's action is its
    digest where there is one, so that a run whose content was erased can be replayed.
    """

    turn: Turn
    after: CheckpointState | None
    used: tuple[str, ...] = ()
    """Names of the tools that were called and not refused, one for each call."""
    refused: frozenset[str] = frozenset()
    """Names of the tools that were called and refused."""
    results: tuple[Mapping[str, Any], ...] = ()
    """The results as a decision tree gets them, in call order, where their content is known."""
    why_unknown: str = ""
    """Why another behaviour might not have had this turn: a sentence, or empty."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """One run. `reason` and `outcome` are empty while it has not ended."""

    id: str
    config: AgentConfig
    """The limits that were in force."""
    tree: str = "default"
    reason: str = ""
    outcome: str = ""
    started_at: float = 0.0
    start: CheckpointState | None = None
    """The checkpoint before the first turn."""
    steps: tuple[RecordedTurn, ...] = ()
    context_window: int = 0
    has_content: bool = True
    """Whether it is known what tools were asked and answered: some trees look at that."""
    measured: frozenset[str] = MEASURED_LIMITS
    """The limits of MEASURED_LIMITS whose use was recorded; the others are not applied."""
    damage: str = ""
    """Why nothing can be told of this run: a sentence, or empty."""

    @property
    def turns(self) -> int:
        return sum(step.turn.answered for step in self.steps)

    @property
    def tokens(self) -> int:
        return sum(turn_tokens(step.turn) for step in self.steps)


def turn_tokens(turn: Turn) -> int:
    return turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens


# -- under other limits ----------------------------------------------------------------------------


def apply_tighter_limits(
    step: RecordedTurn, before: CheckpointState, state: AgentState, old: AgentConfig
) -> tuple[Turn, CheckpointState | None]:
    """Return a turn as tighter limits would have left it: its answer or its tools cut."""
    turn, after = step.turn, step.after
    has_less_budget = state.token_limit < old.token_budget
    if (
        has_less_budget
        and turn.finish_reason == "stop"
        and state.tokens_used + turn_tokens(turn) > state.token_limit
    ):
        turn = replace(turn, finish_reason="budget")
    if state.time_limit < old.timeout_seconds:
        answered_at = before.elapsed + turn.model_ms / 1000
        if answered_at >= state.time_limit:
            cut_at = replace(before, elapsed=state.time_limit, reason="", wrapped=False)
            return replace(turn, finish_reason="cut", action=""), cut_at
        over_at = max(answered_at, state.working_seconds)
        if after is not None and after.elapsed > over_at:
            after = replace(after, elapsed=over_at, cancelled=False)
    return turn, after


def was_cut_by_limit(step: RecordedTurn, state: AgentState, old: AgentConfig) -> bool:
    """Return whether a limit that is looser now had cut this turn."""
    turn, after = step.turn, step.after
    if after is None or after.cancelled:
        return False
    if turn.finish_reason == "budget" and state.token_limit > old.token_budget:
        return True
    was_timed_out = state.time_limit > old.timeout_seconds and after.reason == "timeout"
    return was_timed_out and (turn.finish_reason == "cut" or bool(turn.action))


# -- from files of recorded runs ------------------------------------------------------------------

_EMPTY_CHECKPOINT = CheckpointState()
_ENDINGS = {"stop": "completed", "limit": "limit", "unknown": "unknown"}


def from_trace(run: Mapping[str, Any]) -> Recording:
    """Return a recording from one line of a file of recorded runs, or InvalidTrace.

    Such runs were made by other agents, under no limits of ours: they are taken to have had the
    default ones. Tokens and times are not known, so limits of those are not applied. A turn of
    text alone was not their end unless it is the last.
    """
    try:
        turns: Iterable[Mapping[str, Any]] = run["turns"]
        steps = tuple(_turn_from_trace(number, turn) for number, turn in enumerate(turns, start=1))
        reason = _ENDINGS[run.get("final", "unknown")]
        name = str(run["id"])
    except KeyError as error:
        raise InvalidTrace(f"{error} is missing or not known") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise InvalidTrace(str(error)) from None
    return Recording(
        id=name,
        config=AgentConfig(),
        reason=reason,
        outcome=Outcome.COMPLETED.value if reason == "completed" else Outcome.LIMITED.value,
        start=_EMPTY_CHECKPOINT,
        steps=steps,
        has_content=False,
        measured=frozenset(),
    )


def _turn_from_trace(number: int, turn: Mapping[str, Any]) -> RecordedTurn:
    step, calls = action_from_trace(turn), turn["calls"]
    return RecordedTurn(
        Turn(
            number=number,
            phase="end",
            answered=True,
            finish_reason="tool_calls" if calls else "text",
            action=step.action,
            results=step.results,
            results_normalised=step.results_normalised,
            writes=step.writes,
            answers=step.answers,
            failed=not any(call["ok"] for call in calls) if calls else None,
            errors=count_errors_at_end(_collect_oks(calls)),
        ),
        _EMPTY_CHECKPOINT,
        tuple(call["name"] for call in calls),
    )


def _collect_oks(calls: Iterable[Mapping[str, Any]]) -> list[bool]:
    """Return whether each call went well, identical calls that only read once, as they are run."""
    seen: set[tuple[str, str]] = set()
    oks = []
    for call in calls:
        key = (call["name"], call["args"])
        if call["write"] or key not in seen:
            oks.append(bool(call["ok"]))
        seen.add(key)
    return oks
