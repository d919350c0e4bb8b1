"""What is known of a run that is over: its turns, and what each checkpoint between them saw.

`agents.core.reading` makes it of the events that the loop left, `from_trace` of one line of a
file of recorded runs; `agents.core.replay` plays it again under other rules.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from agents.core.chunks import Turn
from agents.core.config import AgentConfig
from agents.core.progress import recorded_step
from agents.core.reasons import Outcome

MEASURED = frozenset({"token_budget", "timeout_seconds"})
"""The limits that need more than turns to be replayed."""
DAMAGED = "Events of this run are missing or damaged."


class BadTrace(ValueError):
    """A line that is not a recorded run. The message says what is wrong with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """What a checkpoint of the recorded run saw, and what was decided there."""

    elapsed: float = 0.0
    """Seconds since the start."""
    cancelled: bool = False
    next_request: int = 0
    """Tokens that one more working turn and the wrap-up after it were forecast to take."""
    last_request: int = 0
    """Tokens that a wrap-up alone was forecast to take."""
    context_tokens: int = 0
    reason: str = ""
    """Why the run was to stop; empty when it went on."""
    wrapped: bool = False
    """Whether a wrap-up turn began here."""


@dataclass(frozen=True, slots=True)
class Recorded:
    """One turn: the chunk that records its end, and what the checkpoint after it saw.

    `after` is None when the run ended in this turn without being asked. The turn's action is its
    digest where there is one, so that a run whose content was erased can be replayed.
    """

    turn: Turn
    after: Seen | None
    used: tuple[str, ...] = ()
    """Names of the tools that were called and not refused, one for each call."""
    refused: frozenset[str] = frozenset()
    """Names of the tools that were called and refused."""
    results: tuple[Mapping[str, Any], ...] = ()
    """The results as a decision tree gets them, in call order, where their content is known."""


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
    start: Seen | None = None
    """The checkpoint before the first turn."""
    steps: tuple[Recorded, ...] = ()
    context_window: int = 0
    has_content: bool = True
    """Whether it is known what tools were asked and answered: some trees look at that."""
    measured: frozenset[str] = MEASURED
    """The limits of MEASURED whose use was recorded; the others are not applied."""
    damage: str = ""
    """Why nothing can be told of this run: a sentence, or empty."""

    @property
    def turns(self) -> int:
        return sum(step.turn.answered for step in self.steps)

    @property
    def tokens(self) -> int:
        return sum(tokens_of(step.turn) for step in self.steps)


def tokens_of(turn: Turn) -> int:
    return turn.prompt_tokens + turn.completion_tokens + turn.subagent_tokens


# -- from files of recorded runs ------------------------------------------------------------------

_NOTHING_SEEN = Seen()
_ENDINGS = {"stop": "completed", "limit": "limit", "unknown": "unknown"}


def from_trace(run: Mapping[str, Any]) -> Recording:
    """A recording from one line of a file of recorded runs, or BadTrace.

    Such runs were made by other agents, under no limits of ours: they are taken to have had the
    default ones. Tokens and times are not known, so limits of those are not applied. A turn of
    text alone was not their end unless it is the last.
    """
    try:
        turns: Iterable[Mapping[str, Any]] = run["turns"]
        steps = tuple(_trace_step(number, turn) for number, turn in enumerate(turns, start=1))
        reason = _ENDINGS[run.get("final", "unknown")]
        name = str(run["id"])
    except KeyError as error:
        raise BadTrace(f"{error} is missing or not known") from None
    except (TypeError, AttributeError, ValueError) as error:
        raise BadTrace(str(error)) from None
    return Recording(
        id=name,
        config=AgentConfig(),
        reason=reason,
        outcome=Outcome.COMPLETED.value if reason == "completed" else Outcome.LIMITED.value,
        start=_NOTHING_SEEN,
        steps=steps,
        has_content=False,
        measured=frozenset(),
    )


def _trace_step(number: int, turn: Mapping[str, Any]) -> Recorded:
    step, calls = recorded_step(turn), turn["calls"]
    return Recorded(
        Turn(
            number=number,
            phase="end",
            answered=True,
            finish_reason="tool_calls" if calls else "text",
            action=step.action,
            results=step.results,
            results_normalised=step.results_normalised,
            writes=step.writes,
            failed=not any(call["ok"] for call in calls) if calls else None,
        ),
        _NOTHING_SEEN,
        tuple(call["name"] for call in calls),
    )
