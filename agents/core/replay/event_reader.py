"""A recording from the events that the loop left of a run.

Nothing is believed that does not fit together: a checkpoint says how many turns and tokens it had
seen, so an event that is missing is noticed.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from typing import Any

from agents.core.chunks import PARSE_ERRORS, Turn
from agents.core.decisions.endings import BEHAVIOUR_ENDED, NEEDS_APPROVAL
from agents.core.replay.recording import (
    DAMAGED_MESSAGE,
    CheckpointState,
    RecordedTurn,
    Recording,
    turn_tokens,
)
from agents.core.tokens import MIN_ANSWER_TOKENS, TURN_TOKENS

EXTERNAL_REASONS = frozenset({"provider_error", "interrupted", "internal_error"})
"""Reasons that no checkpoint gives: what happened to the run from outside."""
EVENT_KINDS = frozenset({"turn", "decision", "tool_call", "tool_result", "context_update"})
"""The events that are read."""
_TURN_FIELDS = tuple(field.name for field in fields(Turn))
_PASSED_OVER = ("content_filter", "output_truncated")
_COUNT_FIELDS = ("prompt_tokens", "completion_tokens", "subagent_tokens", "model_ms", "number")
_TEXT_FIELDS = (
    "finish_reason",
    "action",
    "results",
    "results_normalised",
    "answers",
    "pattern",
)


class InvalidEvent(ValueError):
    """An event that the loop did not write like this."""


def parse_action(data: Mapping[str, Any]) -> Any:
    """Return what a recorded turn did: the digest, which outlives erasure, or else the action."""
    return data.get("action_digest") or data.get("action", "")


def build_recording(events: Iterable[Mapping[str, Any]], **known: Any) -> Recording:
    """Return the recording of a run, `known` being what its events do not say. Never an exception:
    a run whose events are missing or damaged is a recording that says so."""
    reader = RecordingBuilder()
    try:
        for event in events:
            reader.feed(event)
        return reader.build(**known)
    except PARSE_ERRORS:
        return Recording(damage=DAMAGED_MESSAGE, **known)


class RecordingBuilder:
    """Takes in the events of one run, in order, as `chunks.to_dict` writes them.

    Those of subagents and of other kinds are skipped. Raises one of PARSE_ERRORS for what the loop
    would not have written.
    """

    def __init__(self) -> None:
        self.start: CheckpointState | None = None
        self.steps: list[RecordedTurn] = []
        self.context_window = 0
        self.has_content = True
        self._turns = 0
        self._tokens = 0
        self._context = 0
        self._overhead = 0
        """What a working turn is forecast to take beyond two wrap-ups: mostly its tools."""
        self._calls: dict[str, dict[str, Any]] = {}
        self._checkpoint: CheckpointState | None = None
        self._is_open = False
        self._turn: Turn | None = None
        """The turn that has ended and was not followed by a checkpoint yet."""

    def feed(self, event: Mapping[str, Any]) -> None:
        if event.get("parent"):
            return
        match event["type"]:
            case "turn" if event["phase"] == "end":
                self._on_turn_end(event)
            case "turn":
                self._on_turn_start(event)
            case "decision":
                self._on_decision(event)
            case "tool_call":
                self._on_tool_call(event["tool_call"])
            case "tool_result":
                self._on_tool_result(event)
            case "context_update":
                self._context = _check_count(event["context_tokens"])
                self.context_window = _check_count(event["max_context_tokens"])

    def build(self, **known: Any) -> Recording:
        """Return all that was taken in, with what is known beside it."""
        if self._turn is not None:
            self._append_turn(None)
            self._checkpoint = None
        recording = Recording(
            start=self.start,
            steps=tuple(self.steps),
            context_window=self.context_window,
            has_content=self.has_content,
            **known,
        )
        decided = self._checkpoint is not None and self._checkpoint.reason == recording.reason
        if recording.reason and recording.reason not in EXTERNAL_REASONS and not decided:
            raise InvalidEvent("the end was not decided")
        return recording

    def _on_turn_start(self, event: Mapping[str, Any]) -> None:
        if self._turn is not None or self._checkpoint is None:
            raise InvalidEvent("a turn began without a decision")
        if event["wrap_up"] is not None:
            self._update_checkpoint(replace(self._checkpoint, wrapped=True))
        self._is_open, self._calls = True, {}

    def _on_turn_end(self, event: Mapping[str, Any]) -> None:
        if event["number"] != self._turns + 1 or not self._is_open:
            raise InvalidEvent("turns are missing")
        self._is_open, turn = False, parse_turn(event)
        if turn.action and not self._calls:
            raise InvalidEvent("tool calls are missing")
        self._turn = turn
        self._turns += turn.answered
        self._tokens += turn_tokens(turn)

    def _append_turn(self, after: CheckpointState | None) -> None:
        """Keep the turn that has ended, with what came after it."""
        turn, calls = self._turn, self._calls.values()
        if turn is not None:
            used = tuple(call["name"] for call in calls if not call["refused"])
            refused = frozenset(call["name"] for call in calls if call["refused"])
            results = self._collect_results() if self.has_content else ()
            self.steps.append(RecordedTurn(turn, after, used, refused, results))
        self._turn = None

    def _on_decision(self, event: Mapping[str, Any]) -> None:
        checks = {check["rule"]: check for check in event["checks"]}
        if checks["max_iterations"]["value"] != self._turns:
            raise InvalidEvent("turns are missing")
        is_last = checks["max_iterations"]["limit"] - self._turns <= 1
        full, bare = self._forecast(checks["token_budget"]["value"] - self._tokens, is_last)
        seen = CheckpointState(
            elapsed=_parse_elapsed(checks["timeout"]),
            cancelled=bool(checks["user_cancelled"]["fired"]),
            next_request=full,
            last_request=bare,
            context_tokens=self._estimate_context_tokens(full - bare, checks["token_budget"]),
            is_sent_back=checks["completed"]["value"] == "sent_back",
            has_branches=any(_is_passed_over(checks[rule]) for rule in _PASSED_OVER),
            asked_end=_find_asked_end(event["reason"], checks),
            reason="" if event["continue"] else _check_text(event["reason"]),
        )
        if self._turn is not None:
            self._append_turn(seen)
        elif self.start is None:
            self.start = seen
        else:
            raise InvalidEvent("turns are missing")
        self._checkpoint = seen

    def _forecast(self, needed: int, is_last: bool) -> tuple[int, int]:
        """Return tokens of one more working turn with its wrap-up, and of a wrap-up alone.

        One of them is recorded, and both at the start; the other follows from it nearly.
        """
        needed = _check_count(needed)
        if self.start is None:
            working = self._context + MIN_ANSWER_TOKENS + TURN_TOKENS
            bare = needed if is_last else needed - working
            self._overhead = working - bare
        if is_last:
            return 2 * needed + self._overhead, needed
        return needed, max(0, needed - self._overhead) // 2

    def _estimate_context_tokens(self, working: int, check: Mapping[str, Any]) -> int:
        """Return how full the context was: as forecast, and as full as the rule found it."""
        tokens, room = (
            working - MIN_ANSWER_TOKENS - TURN_TOKENS,
            self.context_window - MIN_ANSWER_TOKENS,
        )
        finish = self._turn.finish_reason if self._turn else ""
        if not check["fired"]:
            return max(0, min(tokens, room))
        if finish == "budget" or max(self._tokens + 1, check["value"]) > check["limit"]:
            return max(0, tokens)
        return max(tokens, room + 1)

    def _update_checkpoint(self, seen: CheckpointState) -> None:
        """Put what is known better by now in the place of the last checkpoint."""
        if self.steps:
            self.steps[-1] = replace(self.steps[-1], after=seen)
        else:
            self.start = seen
        self._checkpoint = seen

    def _on_tool_call(self, call: Mapping[str, Any]) -> None:
        known = self._calls.setdefault(
            call["id"], {"name": _check_text(call["name"]), "refused": False}
        )
        known["refused"] = known["refused"] or call["status"] == "refused"
        self.has_content = self.has_content and "arguments" in call
        known["arguments"] = call.get("arguments")

    def _on_tool_result(self, event: Mapping[str, Any]) -> None:
        self.has_content = self.has_content and "tool_result" in event
        self._calls[event["tool_call_id"]]["result"] = event

    def _collect_results(self) -> tuple[Mapping[str, Any], ...]:
        return tuple(
            {
                "call_id": call_id,
                "name": call["name"],
                "arguments": call["arguments"],
                "ok": call["result"]["ok"],
                "content": call["result"]["tool_result"],
                "duration_ms": call["result"]["duration_ms"],
                "order": call["result"]["order"],
                "batch_size": len(self._calls),
            }
            for call_id, call in self._calls.items()
            if "result" in call  # one that is held has none
        )


def parse_turn(data: Mapping[str, Any]) -> Turn:
    """Return the chunk of a turn's end, without what a newer version may have added to it."""
    values = {name: data[name] for name in _TURN_FIELDS if name in data}
    values["action"], values["seq"], values["at"] = parse_action(data), 0, 0.0
    turn = Turn(**values)
    for name in _COUNT_FIELDS:
        _check_count(getattr(turn, name))
    if turn.errors is not None:
        _check_count(turn.errors)
    for name in _TEXT_FIELDS:
        _check_text(getattr(turn, name))
    return turn


def _find_asked_end(reason: str, checks: Mapping[str, Mapping[str, Any]]) -> str | None:
    if reason == NEEDS_APPROVAL:
        return reason
    asked = checks.get(BEHAVIOUR_ENDED)
    return _check_text(asked["value"]) if asked is not None else None


def _is_passed_over(check: Mapping[str, Any]) -> bool:
    """Return whether a failed request did not end the run, because its behaviour had a branch."""
    return bool(check["value"] == check["limit"] and not check["fired"])


def _parse_elapsed(check: Mapping[str, Any]) -> float:
    """Return seconds, on the side of the limit where the rule found them before rounding."""
    value, limit = float(check["value"]), float(check["limit"])
    if not 0 <= value < math.inf:
        raise InvalidEvent("not a time")
    return max(value, limit) if check["fired"] else min(value, math.nextafter(limit, 0))


def _check_count(value: Any) -> int:
    if type(value) is not int or value < 0:
        raise InvalidEvent("not a count")
    return value


def _check_text(value: Any) -> str:
    if not isinstance(value, str):
        raise InvalidEvent("not a word")
    return value
