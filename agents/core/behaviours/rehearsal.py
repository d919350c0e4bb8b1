"""A behaviour tried on a run of the past: the same driver, with turns that were recorded. No model
is asked, so it goes as far as the recording can tell, and says why it goes no further."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.core.behaviours.behaviour import Behaviour
from agents.core.behaviours.driver import BehaviourDriver
from agents.core.behaviours.outline import build_outline
from agents.core.behaviours.path import PathRecorder
from agents.core.behaviours.run_interface import PLAIN_TURN, CallResult, StepChunks, TurnOrder
from agents.core.behaviours.trace import BehaviourTrace, TurnWay, build_trace
from agents.core.behaviours.values import RUN_FACTS
from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig

NOT_RECORDED = "The run ended there: what the model would have said next was not recorded."
NOT_SAID = "At that point it tells the model something that this run did not."
NOT_OFFERED = "At that point the model would not have been offered {tool}, which it used."
NOT_INTERIM = "In this run that text was not the answer, but a step before it."
OWN_CALLS = "At that point it calls tools itself, and their results were not recorded."
EMPTY_ANSWER = "An empty answer ended the run, after a text that it takes for a step before it."
OTHER_CALLS = "At that point it lacks what the run's own behaviour got from tools."
OTHER_WORDS = (
    "At that point the run's own behaviour told the model something that this one does not."
)
TRUNCATED = "output_truncated"
UNREADABLE = "At that point it needs something that was not recorded."


@dataclass(frozen=True, slots=True, kw_only=True)
class RehearsedTurn:
    """A recorded turn with a request: hints to the model, its text and its calls."""

    number: int
    text: str = ""
    hints: str = ""
    tools: tuple[str, ...] = ()
    interim: str = ""
    seconds: float = 0.0
    is_blank: bool = False
    """Whether it brought neither calls nor an answer that was let through."""
    failure: str = ""
    """The reason for which a run may end because this request failed, or nothing."""
    is_steered: bool = False
    """Whether what the model was told may be what another behaviour said."""
    follows_calls: bool = False
    """Whether the run's behaviour had called tools itself just before."""

    @property
    def is_empty_answer(self) -> bool:
        return not (self.text.strip() or self.tools or self.is_blank)


@dataclass(frozen=True, slots=True)
class Rehearsal:
    """How a behaviour would have gone through a run."""

    trace: BehaviourTrace
    turns: int
    """How many of the recorded turns it went along with."""
    reason: str
    """Why it would have ended; empty: that is not known."""
    why_unknown: str
    notices: tuple[str, ...]
    """What it would have told the user."""
    interims: tuple[str, ...]
    """What it calls the text of each of those turns; empty: the answer."""


def rehearse(
    behaviour: Behaviour,
    turns: Sequence[RehearsedTurn],
    *,
    question: str,
    config: AgentConfig,
    writes: Callable[[str], bool],
) -> Rehearsal:
    """Drive recorded turns; `writes` says whether a tool changes anything."""
    run = _RehearsedRun(turns, question, config, writes)
    driver = BehaviourDriver(behaviour, run, run.path)
    for parts in driver.drive():
        for _ in parts:  # type: ignore[union-attr]  # nothing here takes time
            pass
    run.close_way()
    return Rehearsal(
        build_trace(build_outline(behaviour), run.ways),
        run.taken,
        run.reason,
        run.why_unknown,
        tuple(run.notices),
        tuple(run.interims),
    )


@dataclass(slots=True)
class _RehearsedRun:
    turns: Sequence[RehearsedTurn]
    question: str
    config: AgentConfig
    writes: Callable[[str], bool]
    taken: int = 0
    reason: str = ""
    why_unknown: str = ""
    next_step: str = ""
    steps_done: int = 0
    now: float = 0.0
    notices: list[str] = field(default_factory=list)
    ways: list[TurnWay] = field(default_factory=list)
    path: PathRecorder = field(default_factory=PathRecorder)
    interims: list[str] = field(default_factory=list)

    @property
    def is_halted(self) -> bool:
        return bool(self.reason or self.why_unknown)

    @property
    def _turn(self) -> RehearsedTurn:
        return self.turns[self.taken - 1] if self.taken else RehearsedTurn(number=0)

    def close_way(self) -> None:
        """Keep the way since the turn before."""
        path = self.path.take(halts=self.is_halted)
        turn = self._turn
        self.ways.append(
            TurnWay(turn=turn.number, path=path, interim=turn.interim, seconds=turn.seconds)
        )

    # -- turns ------------------------------------------------------------------------------------

    def open_turn(self, order: TurnOrder = PLAIN_TURN) -> Iterator[OracleStreamChunk]:
        self.steps_done += 1
        if self.taken == len(self.turns) and self._ends_with_answer():
            self.stop("completed")  # as the checkpoint says that is passed here
        elif order.calls:
            self.why_unknown = OWN_CALLS
        elif self.taken == len(self.turns):
            self.why_unknown = NOT_RECORDED
        else:
            self.why_unknown = self._find_difference(self.turns[self.taken], order)
        if not self.is_halted:
            self.close_way()
            self.taken += 1
            self.next_step = "ask"
            self.interims.append(order.interim)
        return iter(())

    def prepare_request(self, order: TurnOrder) -> Iterator[OracleStreamChunk]:
        self.why_unknown = self._find_difference(self._turn, order)
        if self.interims:
            self.interims[-1] = order.interim
        return iter(())

    def play(self, until: str) -> Iterator[StepChunks]:
        self.steps_done += 1
        self.next_step = "" if until == "fold" else "fold"
        return iter(())

    def _find_difference(self, turn: RehearsedTurn, order: TurnOrder) -> str:
        """Say why the model might have answered otherwise; empty: it was asked the same."""
        if order.say and _squeeze(order.say) not in _squeeze(turn.hints):
            return NOT_SAID
        if turn.is_steered and turn.hints and not order.say:
            return OTHER_WORDS
        if turn.follows_calls:
            return OTHER_CALLS
        if turn.is_empty_answer and self._has_made_interim:
            return EMPTY_ANSWER
        if turn.interim and not order.interim:
            return NOT_INTERIM
        for tool in turn.tools:
            if not self._is_offered(tool, order.tools):
                return NOT_OFFERED.format(tool=tool)
        return ""

    @property
    def _has_made_interim(self) -> bool:
        """Whether it takes a text for a step that was none."""
        taken = zip(self.interims, self.turns, strict=False)
        return any(label and not turn.interim for label, turn in taken)

    def _is_offered(self, tool: str, tools: str | tuple[str, ...] | None) -> bool:
        if tools is None or tools == "all":
            return True
        if tools == "reading":
            return not self.writes(tool)
        return tools != "none" and tool in tools

    def limit_time(self, until: float | None) -> None:
        """Do nothing: nothing takes time."""

    # -- what came of it --------------------------------------------------------------------------

    def has_answer(self) -> bool:
        return self.taken > 0 and not self.has_failed()

    def has_calls(self) -> bool:
        return bool(self._turn.tools)

    def has_answered(self) -> bool:
        return self.taken > 0 and not (self._turn.tools or self._turn.is_blank or self.has_failed())

    def has_failed(self) -> bool:
        """Interim text that is cut off serves as far as it goes, whatever the run made of it."""
        label = self.interims[-1] if self.interims else ""
        return bool(self._turn.failure) and not (self._turn.failure == TRUNCATED and label)

    def get_reply(self) -> str:
        return self._turn.text

    def get_results(self) -> Sequence[CallResult]:
        return ()

    def read_facts(self) -> Mapping[str, Any]:
        unknown = _Unrecorded(self._miss)
        return {"question": self.question, **dict.fromkeys(RUN_FACTS, unknown)}

    def _miss(self) -> None:
        self.why_unknown = self.why_unknown or UNREADABLE

    # -- what is said and asked -------------------------------------------------------------------

    def fill_prompt(self) -> None:
        """Do nothing: it was filled."""

    def say(self, text: str) -> None:
        """Do nothing: what is said is held against what was said when the turn is opened."""

    def notify(self, text: str) -> Iterator[OracleStreamChunk]:
        self.notices.append(text)
        return iter(())

    def stop(self, reason: str) -> None:
        self.reason = reason

    def end_behaviour(self, *, is_declined: bool) -> None:
        ended = "completed" if self._ends_with_answer() else "behaviour_ended"
        self.stop(self._turn.failure if self.has_failed() else ended)

    def _ends_with_answer(self) -> bool:
        return self.has_answered() and not self.interims[-1]

    def ask_approval(self, question: str, snapshot: Mapping[str, Any]) -> None:
        self.notices.append(question)
        self.reason = "needs_approval"

    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]:
        self.why_unknown = UNREADABLE
        return iter(())


class _Unrecorded(dict[str, Any]):
    """A fact that no recording has: whoever looks at it is noticed."""

    def __init__(self, miss: Callable[[], None]) -> None:
        super().__init__()
        self._miss = miss

    def __getitem__(self, name: str) -> Any:
        self._miss()
        raise KeyError(name)

    def get(self, name: str, default: Any = None) -> Any:
        self._miss()
        return default

    def __contains__(self, name: object) -> bool:
        self._miss()
        return False


def _squeeze(text: str) -> str:
    return " ".join(text.split())
