"""What the loop needs from outside, as protocols, and the values that pass through them."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol, runtime_checkable

from agents.core.chunks import Chunk, SourceRef
from agents.core.config import AgentConfig

Message = dict[str, Any]
"""One chat-completions message, as it is sent."""

ToolSchema = Mapping[str, Any]
"""One entry of a request's `tools`."""


# -- time -----------------------------------------------------------------------------------------


class Timer(Protocol):
    def cancel(self) -> None: ...


class Clock(Protocol):
    """Wall time for records, monotonic time and timers for limits. Must not go backwards."""

    def time(self) -> float: ...

    def monotonic(self) -> float: ...

    def call_at(self, when: float, callback: Callable[[], None]) -> Timer:
        """Call `callback` when `monotonic()` has reached `when`."""


class Cancellation:
    """A request to stop that can be made from anywhere in the process, once or many times."""

    def __init__(self) -> None:
        self.requested = False
        self.note = ""
        """Why somebody else than the one who asked wants it to stop."""
        self._callbacks: list[Callable[[], None]] = []

    def request(self, note: str = "") -> None:
        if not self.requested:
            self.requested, self.note = True, note
            for callback in tuple(self._callbacks):
                callback()

    def subscribe(self, callback: Callable[[], None]) -> None:
        """Call `callback` on the first request, or at once if there was one."""
        self._callbacks.append(callback)
        if self.requested:
            callback()

    def unsubscribe(self, callback: Callable[[], None]) -> None:
        self._callbacks.remove(callback)


# -- the model ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `tool_choice` "none" asks for an answer: tools are shown but withheld."""

    messages: Sequence[Message]
    tools: tuple[ToolSchema, ...]
    tool_choice: Literal["auto", "none"]
    max_tokens: int
    deadline: float
    """Monotonic time after which no answer is of use; no retry waits beyond it."""


@dataclass(frozen=True, slots=True)
class Usage:
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as the model wrote it: nothing about it has been checked."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class TextDelta:
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    text: str


@dataclass(frozen=True, slots=True)
class CallProgress:
    """So many characters more of tool calls have arrived; the calls themselves come whole."""

    chars: int


@dataclass(frozen=True, slots=True)
class Retrying:
    """A try failed before its first content; the next starts after `wait` seconds."""

    attempt: int
    wait: float
    message: str


@dataclass(frozen=True, slots=True)
class Finished:
    """The last event of a stream that ended properly."""

    calls: tuple[RawCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None


ModelEvent = TextDelta | ReasoningDelta | CallProgress | Retrying | Finished


class ModelError(Exception):
    """The model could not answer. `str(error)` is for people: what happened and what to do.

    `code` is for records. `retryable` is asked by the retry policy, in one place.
    """

    code = "provider_error"
    retryable = False


class ModelStream(Protocol):
    """One answer under way. Iterate it once; it raises ModelError when the endpoint fails."""

    def __aiter__(self) -> AsyncIterator[ModelEvent]: ...

    def held_back(self) -> Sequence[ModelEvent]:
        """After reading stopped early: what was received but not yet handed over.

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


# -- tools ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call whose arguments were parsed: `arguments` is a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call came to. `refused` results count neither as failure nor as success."""

    ok: bool
    content: str
    refused: bool = False
    sources: tuple[SourceRef, ...] = ()


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
    emit: Callable[[Chunk], None]
    """Pass on a chunk of a subagent's run; it is shown under this call and charged to the run."""


@runtime_checkable
class ToolRunner(Protocol):
    """The tools of one run. The loop caps, orders and times calls; the runner runs one."""

    def schemas(self) -> tuple[ToolSchema, ...]: ...

    def writes(self, name: str) -> bool:
        """Whether the tool changes anything; unknown names do not."""

    async def run(self, call: ToolCall, context: ToolContext) -> ToolOutcome:
        """Never raises for what a tool or a model did wrong: that is a failed outcome."""
