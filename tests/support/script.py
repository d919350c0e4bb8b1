"""What a scripted model answers: one step per request.

    Script([call("vault_search", query="x"), say("Found it.")])
    Script([Fault("status_503"), say("Second try.")])
    Script([], then=when_tool_free(say("Wrapping up."), otherwise=call("look", page=1)))

Scripts are values: the players in `script_player.py` keep the place.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agents.core.messages import TokenUsage

Body = dict[str, Any]
"""A chat-completions request, parsed."""

StatusFault = Literal[
    "status_400",
    "status_401",
    "status_402",
    "status_403",
    "status_404",
    "status_408",
    "status_429",
    "status_429_retry_after",
    "status_500",
    "status_502",
    "status_503",
]
ConnectionFault = Literal[
    "refuse_connection",
    "hang_connect",
    "close_before_headers",
    "hang_before_headers",
]
WholeAnswerFault = Literal["empty_stream", "empty_body", "html_page", "redirect"]
StreamFault = Literal[
    "hang",
    "drip",
    "half_close",
    "reset",
    "missing_done",
    "truncated_json",
    "garbage_json",
    "invalid_utf8",
    "overlong_line",
    "error_object_in_stream",
]
FaultName = StatusFault | ConnectionFault | WholeAnswerFault | StreamFault

STATUS_FAULTS: tuple[StatusFault, ...] = get_args(StatusFault)
CONNECTION_FAULTS: tuple[ConnectionFault, ...] = get_args(ConnectionFault)
WHOLE_ANSWER_FAULTS: tuple[WholeAnswerFault, ...] = get_args(WholeAnswerFault)
STREAM_FAULTS: tuple[StreamFault, ...] = get_args(StreamFault)
FAULTS: tuple[FaultName, ...] = (
    *STATUS_FAULTS,
    *CONNECTION_FAULTS,
    *WHOLE_ANSWER_FAULTS,
    *STREAM_FAULTS,
)


@dataclass(frozen=True, slots=True)
class Fault:
    """What goes wrong with an answer.

    `after` is the number of frames (deltas, then the finish, usage and [DONE] frames) sent before
    a stream fault strikes: 0 is instead of the first, more than there are is after the last.
    None is the natural place: the end for missing_done, 0 for the others. garbage_json,
    invalid_utf8 and overlong_line come between frames and the stream goes on; drip slows down
    the rest; the others end it.
    """

    name: FaultName
    after: int | None = None
    seconds: float = 1.0
    """Retry-After of status_429_retry_after."""
    rate: float = 1.0
    """Bytes a second of drip."""
    size: int = 4 * 1024 * 1024
    """Bytes of overlong_line."""

    def __post_init__(self) -> None:
        if self.name not in FAULTS:
            raise ValueError(f"unknown fault {self.name!r}; one of: {', '.join(FAULTS)}")
        if self.after and self.name not in STREAM_FAULTS:
            raise ValueError(f"{self.name} replaces the whole answer: it cannot strike later")

    def position(self, frames: int) -> int:
        """How many of `frames` frames are sent before this fault."""
        if self.after is None:
            return frames if self.name == "missing_done" else 0
        return min(self.after, frames)


@dataclass(frozen=True, slots=True)
class Call:
    """A tool call of a reply. `arguments` as a string is sent as it is, malformed or not."""

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None

    @property
    def json(self) -> str:
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)

    def id_in(self, answer: int, index: int) -> str:
        """The given id, or one that no other call of the script has."""
        return self.id or f"call_{answer}_{index}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """One answer of the model, and how it arrives."""

    text: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    finish: str | None = "auto"
    """"auto" is tool_calls or stop, as fits; None sends a null finish_reason."""
    usage: TokenUsage | Literal["auto"] | None = "auto"
    """"auto" is estimated, and sent when asked for; a Usage is always sent; None never."""
    pieces: int | Sequence[int] | None = None
    """How text, thinking and arguments are split: into that many, by sizes, or by word."""
    bytes_per_piece: int | None = None
    """Cut the encoded stream again, every so many bytes, wherever that falls."""
    delay: float = 0.0
    """Seconds before the first delta."""
    piece_delay: float = 0.0
    """Seconds before each further delta."""
    fault: Fault | None = None
    thinking_field: Literal["reasoning", "reasoning_content"] = "reasoning_content"

    @property
    def finish_reason(self) -> str | None:
        if self.finish == "auto":
            return "tool_calls" if self.calls else "stop"
        return self.finish

    def split(self, text: str) -> list[str]:
        return split(text, self.pieces)

    def usage_after(self, prompt: Any) -> TokenUsage | None:
        """What this reply costs after `prompt`, any JSON value. None when it does not say."""
        if self.usage != "auto":
            return self.usage
        written = self.text + self.thinking + "".join(c.name + c.json for c in self.calls)
        return TokenUsage(_tokens(json.dumps(prompt, ensure_ascii=False)), _tokens(written))


StepFunction = Callable[[Body], Reply | Fault]
Step = Reply | Fault | StepFunction


@dataclass(frozen=True, slots=True)
class Script:
    """Steps in order, then `then` for every further request; without it, no further one."""

    steps: Sequence[Step] = ()
    then: Step | None = None
    unused_ok: bool = False
    """Whether requests may stop before the last step."""

    def step(self, number: int) -> Step | None:
        """The step for request `number`, counted from 0; None when none is expected."""
        return self.steps[number] if number < len(self.steps) else self.then


def resolve(step: Step, body: Body) -> Reply:
    made = step if isinstance(step, Reply | Fault) else step(body)
    return Reply(fault=made) if isinstance(made, Fault) else made


# -- conveniences ---------------------------------------------------------------------------------


def say(text: str, **how: Any) -> Reply:
    """An answer in words. `how` takes the other fields of Reply."""
    return Reply(text=text, **how)


def call(tool: str, /, **arguments: Any) -> Reply:
    """An answer that asks for one tool."""
    return Reply(calls=(Call(tool, arguments),))


def calls(*wanted: Call, **how: Any) -> Reply:
    """An answer that asks for several tools. `how` takes the other fields of Reply."""
    return Reply(calls=wanted, **how)


def forever(step: Step) -> Script:
    """The same answer to every request, also to none."""
    return Script((), then=step)


def when_tool_free(final: Reply, *, otherwise: Reply) -> StepFunction:
    """`final` when tools are withheld, as on a wrap-up turn."""
    return lambda body: final if is_tool_free(body) else otherwise


def is_tool_free(body: Body) -> bool:
    return body.get("tool_choice") == "none" or not body.get("tools")


def split(text: str, pieces: int | Sequence[int] | None = None) -> list[str]:
    """Cut `text` into non-empty pieces: so many, of these sizes and the rest, or by word."""
    if pieces is None:
        return re.findall(r"\S+\s*|\s+", text)
    sizes = [math.ceil(len(text) / pieces)] * pieces if isinstance(pieces, int) else pieces
    return [piece for piece in _cut(text, sizes) if piece]


def _cut(text: str, sizes: Iterable[int]) -> Iterable[str]:
    start = 0
    for size in sizes:
        yield text[start : start + size]
        start += size
    yield text[start:]


def _tokens(text: str) -> int:
    return math.ceil(len(text) / 4)
