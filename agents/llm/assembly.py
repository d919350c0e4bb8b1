"""Payloads of one answer become events. No I/O.

Endpoints send odd things: what is not understood is ignored. Only what makes the answer
unreadable is a fault; what came before it is handed over first.
"""

import json
from collections.abc import Sequence
from typing import Any

from agents.core.ports import (
    CallProgress,
    Finished,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    Usage,
)
from agents.core.text import storable
from agents.llm.classify import error_in_stream
from agents.llm.deltas import CallAssembly
from agents.llm.errors import BadResponse, BrokenStream, EmptyStream, EndpointError
from agents.llm.text_calls import TextCallScanner
from agents.llm.think_tags import ThinkTags

DONE = "[DONE]"

_decode = json.JSONDecoder().raw_decode


class Assembly:
    """Feed the payloads of one network read, get its events; `finish` gives the last ones.

    Neither raises: `fault` says why the answer went wrong.
    """

    __slots__ = (
        "_answered",
        "_calls",
        "_finish_reason",
        "_kind",
        "_known",
        "_reported",
        "_run",
        "_scanners",
        "_tags",
        "_usage",
        "done",
        "fault",
        "started",
    )

    def __init__(self, known: frozenset[str] = frozenset()) -> None:
        self.fault: EndpointError | None = None
        self.done = False  # the endpoint said that this was all
        self.started = False  # there was content: text, reasoning or a piece of a call
        self._known = known
        self._answered = False
        self._finish_reason: str | None = None
        self._usage: Usage | None = None
        self._calls = CallAssembly()
        self._reported = 0  # characters of calls that were reported
        self._scanners: dict[_Kind, TextCallScanner] = {}
        self._tags = ThinkTags()
        self._kind: _Kind = TextDelta
        self._run: list[str] = []  # adjacent text of one kind within one read

    @property
    def complete(self) -> bool:
        """Whether nothing of the answer is missing, whatever becomes of the connection."""
        return self._answered and (self.done or self._finish_reason is not None)

    def feed(self, payloads: Sequence[str]) -> list[ModelEvent]:
        events: list[ModelEvent] = []
        for payload in payloads:
            if self.done or self.fault:
                break
            try:
                chunk, end = _decode(payload)
            except (ValueError, RecursionError):
                end = -1
            if end == len(payload):
                self._take(chunk, events)
            else:
                self._take_odd(payload, events)
        if self._run:
            self._pass_on(events)
        if self._calls.chars > self._reported:
            events.append(CallProgress(self._calls.chars - self._reported))
            self._reported = self._calls.chars
        return events

    def finish(self) -> list[ModelEvent]:
        """The stream has ended: the rest of the text, and Finished if it ended properly."""
        self.fault = self._improper_end()
        if self.fault:
            return self.release()
        events: list[ModelEvent] = []
        self._take_pieces(self._tags.flush(), events)
        self._close(events)
        events.append(Finished(self._calls.result(), self._finish_reason, self._usage))
        return events

    def release(self) -> list[ModelEvent]:
        """What is still held back, as it was written."""
        events: list[ModelEvent] = []
        self._take_pieces(self._tags.flush(), events)
        if self._run:
            self._pass_on(events, last=True)
        held = [(kind, scanner.release()) for kind, scanner in self._scanners.items()]
        return events + [kind(text) for kind, text in held if text]

    def _improper_end(self) -> EndpointError | None:
        if self.complete:
            return None
        if self.fault:
            return self.fault
        if not self._answered:
            return EmptyStream()
        return None if self._usage else BrokenStream()

    # -- one payload ------------------------------------------------------------------------------

    def _take_odd(self, payload: str, events: list[ModelEvent]) -> None:
        """A payload that is not just JSON: the end, white space, several documents, garbage."""
        pos = 0
        while not (self.done or self.fault):
            while pos < len(payload) and payload[pos].isspace():
                pos += 1
            if pos == len(payload):
                return
            if payload.startswith(DONE, pos):
                self.done = True
                return
            try:
                chunk, pos = _decode(payload, pos)
            except (ValueError, RecursionError):
                self.fault = BadResponse()
                return
            self._take(chunk, events)

    def _take(self, chunk: Any, events: list[ModelEvent]) -> None:
        if type(chunk) is not dict:
            return
        if chunk.get("error"):
            self.fault = error_in_stream(chunk["error"])
            return
        if chunk.get("usage"):
            self._usage = _usage_in(chunk["usage"]) or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if type(choices) is list and choices else None
        if type(choice) is not dict:
            return
        self._answered = True
        delta = choice.get("delta") or choice.get("message")
        if type(delta) is dict:
            self._take_delta(delta, events)
        if choice.get("finish_reason"):
            self._take_end(choice)

    def _take_end(self, choice: dict[str, Any]) -> None:
        if choice.get("error"):
            self.fault = error_in_stream(choice["error"])
        elif isinstance(choice["finish_reason"], str):
            self._finish_reason = choice["finish_reason"]

    def _take_delta(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        get = delta.get
        reasoning = get("reasoning_content") or get("reasoning") or get("reasoning_details")
        if reasoning:
            self._take_text(ReasoningDelta, _text_in(reasoning), events)
        content = get("content") or get("refusal")
        if content:
            self._take_content(content if type(content) is str else _text_in(content), events)
        if get("tool_calls") or get("function_call"):
            self._take_calls(delta, events)

    def _take_content(self, text: str, events: list[ModelEvent]) -> None:
        if self._tags.passed:
            self._take_text(TextDelta, text, events)
            return
        self.started = self.started or bool(text)
        self._take_pieces(self._tags.feed(text), events)

    def _take_pieces(self, pieces: list[tuple[bool, str]], events: list[ModelEvent]) -> None:
        for is_reasoning, text in pieces:
            self._take_text(ReasoningDelta if is_reasoning else TextDelta, text, events)

    def _take_calls(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        if self._run:
            self._pass_on(events, last=True)  # a call in it was written before these
        taken = self._calls.add(delta.get("tool_calls"))
        taken = self._calls.add_legacy(delta.get("function_call")) or taken
        self.started = self.started or taken

    # -- text -------------------------------------------------------------------------------------

    def _take_text(self, kind: "_Kind", text: str, events: list[ModelEvent]) -> None:
        if not text:
            return
        if kind is not self._kind:
            self._close(events)
            self._kind = kind
        self._run.append(text)
        self.started = True

    def _pass_on(self, events: list[ModelEvent], *, last: bool = False) -> None:
        """Hand over the text of one read, but for calls and what may become one."""
        scanner = self._scanners.get(self._kind)
        if scanner is None:
            scanner = self._scanners[self._kind] = TextCallScanner(self._known)
        written = "".join(self._run)
        self._run = []
        if "\ud800" <= written[-1] <= "\udbff" and not last:  # half of a character
            self._run, written = [written[-1]], written[:-1]
        text, calls = scanner.feed(storable(written))
        for call in calls:
            self._calls.add_written(call)
        if text:
            events.append(self._kind(text))

    def _close(self, events: list[ModelEvent]) -> None:
        """Text of the present kind has ended: no call goes on in text of another kind."""
        if self._run:
            self._pass_on(events, last=True)
        scanner = self._scanners.get(self._kind)
        if scanner:
            text, calls = scanner.flush()
            for call in calls:
                self._calls.add_written(call)
            if text:
                events.append(self._kind(text))


_Kind = type[TextDelta] | type[ReasoningDelta]


def _text_in(value: object) -> str:
    """Text, or the text of a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") or part.get("summary") for part in value if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _usage_in(value: object) -> Usage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    if type(prompt) is not int or type(completion) is not int or min(prompt, completion) < 0:
        return None
    return Usage(prompt, completion)
