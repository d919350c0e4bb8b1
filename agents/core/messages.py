"""Values that pass between the loop, the model and the tools."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.core.chunks import SourceRef

Message = dict[str, Any]
"""One chat-completions message, as it is sent."""

ToolSchema = Mapping[str, Any]
"""One entry of a request's `tools`."""


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `tool_choice` "none" asks for an answer: tools are shown but withheld."""

    messages: Sequence[Message]
    tools: tuple[ToolSchema, ...]
    tool_choice: Literal["auto", "none"]
    max_tokens: int
    deadline: float
    """Monotonic time after which no answer is of use; no retry waits beyond it."""
    silence: float = 60.0
    """Seconds without a byte after which the request is given up."""


@dataclass(frozen=True, slots=True)
class TokenUsage:
    prompt_tokens: int
    completion_tokens: int


@dataclass(frozen=True, slots=True)
class RawCall:
    """A tool call as the model wrote it: nothing about it has been checked."""

    id: str
    name: str
    arguments: str
    problem: str = ""
    """Why a call that was written as text could not be read, as it is told to the model."""


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
    usage: TokenUsage | None = None


ModelEvent = TextDelta | ReasoningDelta | CallProgress | Retrying | Finished


class ModelError(Exception):
    """The model could not answer. `str(error)` is for people: what happened and what to do.

    `code` is for records. `retryable` is asked by the retry policy, in one place; `is_permanent`
    by the loop: the same request would fail again as long as the run lasts.
    """

    code = "provider_error"
    retryable = False
    is_permanent = False


# -- tools ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call whose arguments were parsed: `arguments` is a JSON object."""

    id: str
    name: str
    arguments: Mapping[str, Any]


SourceVersions = tuple[tuple[str, str], ...]
"""Paths, each with what tells one state of it from another; empty: not known any more."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """What a call came to. One that a limit of the run `refused` is neither failure nor success;
    arguments that a tool will not take are a failure."""

    ok: bool
    content: str
    refused: bool = False
    sources: tuple[SourceRef, ...] = ()
    item_count: int = 0
    """How many things the content lists, where it lists any."""
    given: str = ""
    """What the model gets in place of the content: a summary of it."""
    unfinished: bool = False
    """Whether a subagent under the call did not finish, though the call itself has its result."""
    timed_out: bool = False
    """Whether the call failed because it took longer than its tool may."""
    versions: SourceVersions = ()
    """In what state the call has found sources, or left them."""
    is_receipt: bool = False
    """Whether the content only says that the call was taken: then its being the same is no sign of
    a run that is stuck."""
