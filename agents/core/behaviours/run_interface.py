"""The interface between a driver and a run, and the driver's orders for a turn."""

from collections.abc import AsyncGenerator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from agents.core.behaviours.behaviour import BehaviourNode
from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig

StepChunks = AsyncGenerator[OracleStreamChunk, None] | Iterable[OracleStreamChunk]
"""The chunks of something that is done, to be taken all before the next is asked for."""
CALLS_LABEL = "Calls"
"""What a turn is called in which a behaviour calls tools."""


@dataclass(frozen=True, slots=True)
class OwnCall:
    """A call that a behaviour makes."""

    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnOrder:
    """What a behaviour wants of a turn. It can only tighten what the run allows."""

    interim: str = ""
    """What the text is called, if it is not the answer."""
    say: str = ""
    tools: str | tuple[str, ...] | None = None
    """Which of the run's are offered: all, reading, none or names; None: as the run has them."""
    max_tokens: int = 0
    """Of the answer; 0: as many as the run has."""
    calls: tuple[OwnCall, ...] = ()
    """Made instead of a request to the model."""
    max_parallel: int = 0
    is_first_enough: bool = False
    """Whether the other calls are cut when one has succeeded."""


PLAIN_TURN = TurnOrder()


@dataclass(frozen=True, slots=True)
class CallResult:
    """What a call has come to."""

    ok: bool
    content: str
    is_held: bool = False
    """Whether it waits for a person, and has come to nothing yet."""


class Resumption(Protocol):
    """What somebody has decided about a behaviour that had asked."""

    @property
    def decision(self) -> str: ...
    @property
    def words(self) -> str: ...
    @property
    def snapshot(self) -> Mapping[str, Any] | None: ...


class RunInterface(Protocol):
    """The turns of a run, as a driver sees them."""

    @property
    def is_halted(self) -> bool: ...
    @property
    def next_step(self) -> str: ...
    @property
    def steps_done(self) -> int:
        """How many steps of turns were done so far."""
        ...

    @property
    def now(self) -> float: ...
    @property
    def config(self) -> AgentConfig: ...
    @property
    def question(self) -> str: ...

    # -- turns ------------------------------------------------------------------------------------

    def open_turn(self, order: TurnOrder = PLAIN_TURN) -> Iterator[OracleStreamChunk]: ...
    def prepare_request(self, order: TurnOrder) -> Iterator[OracleStreamChunk]:
        """Hold the request of the turn that is open to an order."""
        ...

    def play(self, until: str) -> Iterator[StepChunks]:
        """Do the steps of the open turn, up to this one."""
        ...

    def limit_time(self, until: float | None) -> None:
        """Cut what takes longer."""
        ...

    # -- what came of it --------------------------------------------------------------------------

    def has_answer(self) -> bool: ...
    def has_calls(self) -> bool: ...
    def has_answered(self) -> bool:
        """Whether the turn that was folded last ended with an answer, and no calls."""
        ...

    def has_failed(self) -> bool:
        """Whether the request of the open turn, or else of the last one, failed for good."""
        ...

    def get_reply(self) -> str: ...
    def get_results(self) -> Sequence[CallResult]: ...
    def read_facts(self) -> Mapping[str, Any]:
        """Return what is known of the run: of its turns, its history, the user and the project."""
        ...

    # -- what is said and asked -------------------------------------------------------------------

    def fill_prompt(self) -> None: ...
    def say(self, text: str) -> None:
        """Tell the model with its next request."""
        ...

    def notify(self, text: str) -> Iterator[OracleStreamChunk]:
        """Tell the user."""
        ...

    def stop(self, reason: str) -> None: ...
    def end_behaviour(self, *, is_declined: bool) -> None:
        """End the run with the answer it has, without one, or as declined by a person."""
        ...

    def ask_approval(self, question: str, snapshot: Mapping[str, Any]) -> None: ...
    def report_failure(self, behaviour: str, why: str) -> Iterator[OracleStreamChunk]: ...


class BehaviourVisitor(Protocol):
    """Somebody who watches. No node knows of it."""

    def enter(self, nodes: Sequence[BehaviourNode]) -> None:
        """See nodes entered, each in the one before it."""
        ...

    def leave(self, nodes: Sequence[BehaviourNode], succeeded: bool | None) -> None:
        """See nodes left, the innermost first; None: the run was halted in them."""
        ...
