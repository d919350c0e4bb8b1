"""The tool calls of one turn: what is run, what is shared, what is refused. Pure.

The order is fixed: parse, share the result of identical read-only calls, cap in call order,
refuse the rest. Every call the model wrote ends with exactly one result.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from agents.core.behaviours.run_interface import OwnCall
from agents.core.chunks import OUTCOME_UNKNOWN, ResultCause, SourceRef
from agents.core.messages import Message, RawCall, ToolCall, ToolOutcome
from agents.core.sanitize import replace_unstorable
from agents.core.stuck import action_signature, count_errors_at_end

ENOUGH = "another call was enough"
_EXCERPT_CHARS = 200
_WRITTEN_CHARS = 1_000
"""Of a call in the text that could not be read: nothing else holds what was written."""
_INVALID_NAME_CHARS = re.compile(r"[^a-zA-Z0-9_-]")


@dataclass(slots=True)
class PlannedCall:
    """One call of a turn and what became of it. Exactly one outcome is set in the
    end, unless it is held."""

    order: int
    id: str
    name: str
    arguments: Mapping[str, Any] | str
    signature: str
    same_as: int | None = None
    """The order of the call whose result this one shares."""
    outcome: ToolOutcome | None = None
    duration_ms: int = 0
    started: float | None = None
    is_held: bool = False
    """Whether it waits for a person: then it has no outcome in this run."""
    kept: ToolOutcome | None = None
    """What stands if the call is cut: a result that only its summary was waited for."""

    @property
    def is_open(self) -> bool:
        """Whether it is still to be run."""
        return self.outcome is None and self.same_as is None and not self.is_held

    @property
    def call(self) -> ToolCall:
        if isinstance(self.arguments, str):
            raise TypeError("a call without parsed arguments cannot be run")
        return ToolCall(self.id, self.name, self.arguments)


class CallIds:
    """Call ids that are unique within a run, whatever the model sends."""

    def __init__(self) -> None:
        self._used: dict[str, int] = {}

    def make_unique(self, wanted: str) -> str:
        base = name = wanted or "call"
        while name in self._used:
            self._used[base] += 1
            name = f"{base}-{self._used[base]}"
        self._used[name] = 1
        return name


def plan_calls(
    calls: Sequence[RawCall],
    ids: CallIds,
    *,
    cap: int,
    writes: Callable[[str], bool],
    withheld: frozenset[str] = frozenset(),
    withheld_now: frozenset[str] = frozenset(),
    ending: str = "",
) -> list[PlannedCall]:
    """Return the turn's calls in order. Those with an outcome already will not be run.

    `withheld_now` are those of the withheld ones that a later turn may have; `ending` is why
    nothing may run any more, on a wrap-up turn.
    """
    entries = [_parse_call(order, call, ids) for order, call in enumerate(calls)]
    first: dict[str, int] = {}
    allowed = 0
    for entry in entries:
        if ending:
            entry.outcome = refusal_outcome(f"Not run: {ending}")
        elif entry.name in withheld:
            where = "in this step" if entry.name in withheld_now else "in this run"
            entry.outcome = refusal_outcome(f"Refused: {entry.name} is not available {where}.")
        elif entry.outcome is None and not writes(entry.name) and entry.signature in first:
            entry.same_as = first[entry.signature]
        elif allowed >= cap:
            entry.outcome = refusal_outcome(
                f"Refused: at most {cap} tool calls are run in one iteration. "
                "Call it again in the next one if it is still needed."
            )
        else:
            allowed += 1
            first.setdefault(entry.signature, entry.order)
    return entries


def build_own_calls(calls: Iterable[OwnCall]) -> tuple[RawCall, ...]:
    """Return the calls that a behaviour makes as a model would have written them."""
    return tuple(RawCall("", call.name, json.dumps(dict(call.arguments))) for call in calls)


def refusal_outcome(text: str) -> ToolOutcome:
    return ToolOutcome(ok=False, content=text, refused=True)


def _parse_call(order: int, call: RawCall, ids: CallIds) -> PlannedCall:
    written = replace_unstorable(call.arguments)
    arguments, problem = parse_arguments(written)
    name = replace_unstorable(call.name).strip()
    signature = action_signature(name, arguments)
    if call.problem:  # its markup is for the model, in the result, and not for the screen
        arguments, problem = {}, f"{call.problem}\nYou wrote: {written[:_WRITTEN_CHARS]}"
    entry = PlannedCall(order, ids.make_unique(call.id), name, arguments, signature)
    if problem:
        entry.outcome = ToolOutcome(ok=False, content=problem)
    return entry


def parse_arguments(text: str) -> tuple[Mapping[str, Any] | str, str]:
    """Return the arguments as an object and no problem, or the text and what is wrong with it."""
    if not text.strip():
        return {}, ""
    try:
        value = _sanitize_json(
            json.loads(text, parse_constant=_reject_constant, parse_float=_parse_finite)
        )
    except (ValueError, RecursionError) as error:
        return text, f"The arguments are not valid JSON ({error}): {text[:_EXCERPT_CHARS]}"
    if not isinstance(value, dict):
        return text, f"The arguments must be a JSON object, not {type(value).__name__}."
    return value, ""


def _sanitize_json(value: Any) -> Any:
    """Return JSON data without what no database or socket takes: half characters and NULs."""
    match value:
        case str():
            return replace_unstorable(value)
        case list():
            return [_sanitize_json(item) for item in value]
        case dict():
            return {replace_unstorable(key): _sanitize_json(item) for key, item in value.items()}
    return value


def _parse_finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _reject_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def assistant_message(text: str, entries: Iterable[PlannedCall]) -> Message:
    """Return the model's turn as it goes into the history: always valid, whatever the model wrote.

    Arguments that were not a JSON object are sent back as {}, because providers refuse a history
    that holds anything else; the call's result tells the model what it had written.
    """
    calls = [
        {
            "id": entry.id,
            "type": "function",
            "function": {
                "name": _sanitize_name(entry.name),
                "arguments": _encode_arguments(entry.arguments),
            },
        }
        for entry in entries
    ]
    message: Message = {"role": "assistant", "content": text or None}
    return {**message, "tool_calls": calls} if calls else message


def _sanitize_name(name: str) -> str:
    """Return a name that providers accept, for a tool that a model made up."""
    return _INVALID_NAME_CHARS.sub("_", name)[:64] or "unknown"


def _encode_arguments(arguments: Mapping[str, Any] | str) -> str:
    return "{}" if isinstance(arguments, str) else json.dumps(arguments)


def all_calls_failed(entries: Iterable[PlannedCall]) -> bool | None:
    """Return whether every call that was not refused failed; None when all were refused."""
    outcomes = [e.outcome.ok for e in entries if e.outcome is not None and not e.outcome.refused]
    return not any(outcomes) if outcomes else None


def count_trailing_errors(entries: Iterable[PlannedCall]) -> int:
    """Count the errors since the last success, in call order. A shared result counts once."""
    return count_errors_at_end(
        entry.outcome.ok
        for entry in entries
        if entry.outcome is not None and not entry.outcome.refused and entry.same_as is None
    )


def check_outcome(outcome: object) -> None:
    """Refuse a bad outcome: a runner that breaks its port is a failed call, not a failed run."""
    match outcome:
        case ToolOutcome(
            content=str(), given=str(), sources=tuple() as sources, versions=tuple() as versions
        ) if all(isinstance(source, SourceRef) for source in sources) and all(
            isinstance(part, str) for path, version in versions for part in (path, version)
        ):
            return
    raise TypeError("a tool must come to a ToolOutcome with text and sources")


def build_cut_outcome(entry: PlannedCall, why: str) -> ToolOutcome:
    """Return the outcome of a call that was given up. One that had begun may have taken effect."""
    if entry.kept is not None:
        return entry.kept
    if entry.started is None:
        return ToolOutcome(ok=False, content=f"Not run: {why}.", refused=True)
    if why == ENOUGH:  # nobody's fault: it counts neither as an error nor as a success
        return refusal_outcome(f"Cut: {why}. It may have taken effect.")
    text = f"{OUTCOME_UNKNOWN} the call was cut because {why}. It may have taken effect."
    return ToolOutcome(ok=False, content=text)


def find_cause(outcome: ToolOutcome) -> ResultCause | Literal[""]:
    """Return why a call is not ok."""
    if outcome.ok:
        return ""
    if outcome.refused:
        return "refused"
    if outcome.content.startswith(OUTCOME_UNKNOWN):
        return "cut"
    return "timeout" if outcome.timed_out else "failed"
