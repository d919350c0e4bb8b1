"""What the loop needs from outside, as protocols: a clock, a model, tools."""

from collections.abc import AsyncIterator, Callable, Sequence, Set
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from agents.core.chunks import OracleStreamChunk
from agents.core.config import AgentConfig
from agents.core.messages import (
    ModelEvent,
    ModelRequest,
    ToolCall,
    ToolOutcome,
    ToolSchema,
)
from agents.core.rules.rule import Rule


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for records, monotonic time and timers for limits. Must not go backwards."""

    def time(self) -> float: ...

    def monotonic(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when `monotonic()` has reached `when`."""


class ModelStream(Protocol):
    """One answer under way. Iterate it once; it raises ModelError when the endpoint fails."""

    def __aiter__(self) -> AsyncIterator[ModelEvent]: ...

    def undelivered(self) -> Sequence[ModelEvent]:
        """Return what was received but not handed over, after reading stopped early.

        Text is held back while it may turn out to be a tool call. Nothing may be lost of it.
        """

    async def aclose(self) -> None:
        """Give up the answer and its connection. Harmless when the stream has ended."""


class ChatModel(Protocol):
    @property
    def name(self) -> str:
        """The model id, as recorded."""

    @property
    def window(self) -> int:
        """Tokens of context the model can take."""

    @property
    def max_output(self) -> int:
        """Tokens the model can write in one answer."""

    def stream(self, request: ModelRequest) -> ModelStream: ...


@dataclass(frozen=True, slots=True)
class ToolContext:
    """What a tool may know of the run that called it, and how a subagent reports to it.

    `tokens_left` is this call's part of what the run has left beyond its last answer.
    """

    call_id: str
    user_id: str
    project_id: str
    clock: Clock
    deadline: float
    tokens_left: int
    config: AgentConfig
    """The limits in force, for a subagent's own run."""
    emit: Callable[[OracleStreamChunk], None]
    """Pass on a chunk of a subagent's run; it is shown under this call and charged to the run."""
    withheld_tools: frozenset[str] = frozenset()
    """What the run may not call."""
    forbidden_tools: Set[str] = frozenset()
    """What rules have taken from it, also while the call goes on: a subagent may not call them
    either."""
    asking_tools: frozenset[str] = frozenset()
    """What needs a person's yes in it: a subagent cannot ask for one."""
    holding_rules: tuple[Rule, ...] = ()
    """Those that let calls wait for a person: they look at a subagent's calls too."""
    keep: Callable[[ToolOutcome], None] = lambda outcome: None
    """Keep a result that stands if the call is cut from now on."""


class Service:
    """Base of the things that tools are handed by type: a vault, a librarian."""


@runtime_checkable
class ToolRunner(Protocol):
    """The tools of one run. The loop caps, orders and times calls; the runner runs one."""

    def schemas(self) -> tuple[ToolSchema, ...]: ...

    def writes(self, name: str) -> bool:
        """Return whether the tool changes anything; unknown names do not."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        """Never raises for what a tool or a model did wrong: that is a failed outcome."""
