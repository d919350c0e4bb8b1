"""Payloads of one answer become events. No I/O.

Endpoints send odd things: what is not understood is ignored. Only what makes the answer
unreadable is a fault; what came before it is handed over first.
"""

import json
from collections.abc import Sequence
from typing import Any

from agents.core.messages import (
    CallProgress,
    Finished,
    ModelEvent,
    ReasoningDelta,
    TextDelta,
    TokenUsage,
)
from agents.core.sanitize import replace_unstorable
from agents.llm.decoding.text_calls import TextCall, TextCallScanner
from agents.llm.decoding.text_calls.scanner import ScanResult
from agents.llm.decoding.think_tags import ThinkTagSplitter
from agents.llm.decoding.tool_calls import ToolCallAssembler
from agents.llm.error_mapping import error_for_stream_object
from agents.llm.errors import BadResponse, BrokenStream, EmptyStream, EndpointError

DONE = "[DONE]"

_FAILED_FINISH_REASONS = frozenset({"error", "network_error", "insufficient_system_resource"})
"""Ends that are none: OpenRouter's, Zhipu's and DeepSeek's word for their own failure."""
_CUT_OFF = frozenset({"length", "content_filter"})
"""Ends before the model was done: then it is no fault of the model that a call is not closed."""
_PROVIDER_FAILED = (
    "The model's provider failed before the answer was complete. "
    "What arrived is kept; continue or ask again."
)

_decode = json.JSONDecoder().raw_decode


class EventAssembler:
    """Feed the payloads of one network read, get its events; `flush` gives the last ones.

    Neither raises: `fault` says why the answer went wrong.
    """

    __slots__ = (
        "_answered",
        "_calls",
        "_finish_reason",
        "_has_text",
        "_kind",
        "_known",
        "_malformed_thoughts",
        "_pending_text",
        "_reported",
        "_scanners",
        "_splitter",
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
        self._usage: TokenUsage | None = None
        self._calls = ToolCallAssembler()
        self._reported = 0  # characters of calls that were reported
        self._scanners: dict[_Kind, TextCallScanner] = {}
        self._splitter = ThinkTagSplitter()
        self._kind: _Kind = TextDelta
        self._pending_text: list[str] = []  # adjacent text of one kind within one read
        self._has_text = False  # more than white space, and not reasoning
        self._malformed_thoughts: list[TextCall] = []  # malformed calls in the reasoning

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
                self._consume_chunk(chunk, events)
            else:
                self._consume_irregular(payload, events)
        if self._pending_text:
            self._emit_text(events)
        if self._calls.chars > self._reported:
            events.append(CallProgress(self._calls.chars - self._reported))
            self._reported = self._calls.chars
        return events

    def flush(self) -> list[ModelEvent]:
        """End the stream: return the rest of the text, and Finished if it ended properly."""
        self.fault = self._find_end_fault()
        if self.fault:
            return self.flush_raw()
        events: list[ModelEvent] = []
        self._consume_split_text(self._splitter.flush(), events)
        self._end_text(events)
        self._settle_malformed(events)
        events.append(Finished(self._calls.build_calls(), self._finish_reason, self._usage))
        return events

    def _settle_malformed(self, events: list[ModelEvent]) -> None:
        """Decide whether malformed calls in the text count: not where the endpoint has cut the
        answer off, nor beside calls that came as the protocol has them; those in the reasoning
        only where no answer followed."""
        if not self._has_text:
            for call in self._malformed_thoughts:
                self._calls.add_text_call(call)
        if not self._calls.has_malformed:
            return
        is_cut_off = self._finish_reason in _CUT_OFF
        if (is_cut_off or self._calls.has_structured) and (chars := self._calls.drop_malformed()):
            events.append(CallProgress(chars))  # they were generated, and cost tokens

    def flush_raw(self) -> list[ModelEvent]:
        """Return what is still held back, as it was written."""
        events: list[ModelEvent] = []
        self._consume_split_text(self._splitter.flush(), events)
        if self._pending_text:
            self._emit_text(events, last=True)
        held = [(kind, scanner.flush_raw()) for kind, scanner in self._scanners.items()]
        return events + [kind(text) for kind, text in held if text]

    def _find_end_fault(self) -> EndpointError | None:
        if self.complete:
            return None
        if self.fault:
            return self.fault
        if not self._answered:
            return EmptyStream()
        return None if self._usage else BrokenStream()

    # -- one payload ------------------------------------------------------------------------------

    def _consume_irregular(self, payload: str, events: list[ModelEvent]) -> None:
        """Take a payload that is not just JSON: the end, several documents, garbage."""
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
            self._consume_chunk(chunk, events)

    def _consume_chunk(self, chunk: Any, events: list[ModelEvent]) -> None:
        if type(chunk) is not dict:
            return
        if chunk.get("error"):
            self.fault = error_for_stream_object(chunk["error"])
            return
        if chunk.get("usage"):
            self._usage = _parse_usage(chunk["usage"]) or self._usage
        choices = chunk.get("choices")
        choice = choices[0] if type(choices) is list and choices else None
        if type(choice) is not dict:
            return
        self._answered = True
        delta = choice.get("delta") or choice.get("message")
        if type(delta) is dict:
            self._consume_delta(delta, events)
        if choice.get("finish_reason"):
            self._consume_finish_reason(choice)

    def _consume_finish_reason(self, choice: dict[str, Any]) -> None:
        reason = choice["finish_reason"]
        if choice.get("error"):
            self.fault = error_for_stream_object(choice["error"])
        elif not isinstance(reason, str):
            return
        elif reason.lower() in _FAILED_FINISH_REASONS:
            self.fault = BrokenStream(_PROVIDER_FAILED)
        else:
            self._finish_reason = reason

    def _consume_delta(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        get = delta.get
        reasoning = get("reasoning_content") or get("reasoning") or get("reasoning_details")
        if reasoning:
            self._consume_text(ReasoningDelta, _extract_text(reasoning), events)
        content = get("content") or get("refusal")
        if content:
            self._consume_content(
                content if type(content) is str else _extract_text(content), events
            )
        if get("tool_calls") or get("function_call"):
            self._consume_calls(delta, events)

    def _consume_content(self, text: str, events: list[ModelEvent]) -> None:
        if self._splitter.is_past:
            self._consume_text(TextDelta, text, events)
            return
        self.started = self.started or bool(text)
        self._consume_split_text(self._splitter.feed(text), events)

    def _consume_split_text(self, pieces: list[tuple[bool, str]], events: list[ModelEvent]) -> None:
        for is_reasoning, text in pieces:
            self._consume_text(ReasoningDelta if is_reasoning else TextDelta, text, events)

    def _consume_calls(self, delta: dict[str, Any], events: list[ModelEvent]) -> None:
        if self._pending_text:
            self._emit_text(events, last=True)  # a call in it was written before these
        taken = self._calls.add(delta.get("tool_calls"))
        taken = self._calls.add_legacy(delta.get("function_call")) or taken
        self.started = self.started or taken

    # -- text -------------------------------------------------------------------------------------

    def _consume_text(self, kind: "_Kind", text: str, events: list[ModelEvent]) -> None:
        if not text:
            return
        if kind is not self._kind:
            self._end_text(events)
            self._kind = kind
        self._pending_text.append(text)
        self.started = True

    def _emit_text(self, events: list[ModelEvent], *, last: bool = False) -> None:
        """Hand over the text of one read, but for calls and what may become one."""
        scanner = self._scanners.get(self._kind)
        if scanner is None:
            scanner = self._scanners[self._kind] = TextCallScanner(self._known)
        written = "".join(self._pending_text)
        self._pending_text = []
        if "\ud800" <= written[-1] <= "\udbff" and not last:  # half of a character
            self._pending_text, written = [written[-1]], written[:-1]
        self._emit_scanned(scanner.feed(replace_unstorable(written)), events)

    def _end_text(self, events: list[ModelEvent]) -> None:
        """End text of the present kind: no call goes on in text of another kind."""
        if self._pending_text:
            self._emit_text(events, last=True)
        scanner = self._scanners.get(self._kind)
        if scanner:
            self._emit_scanned(scanner.flush(), events)

    def _emit_scanned(self, result: ScanResult, events: list[ModelEvent]) -> None:
        """Hand over text of the present kind, and keep the calls that were in it."""
        text, calls = result
        for call in calls:
            if call.problem and self._kind is ReasoningDelta:
                self._malformed_thoughts.append(call)
            else:
                self._calls.add_text_call(call)
        if text:
            events.append(self._kind(text))
            self._has_text = self._has_text or (self._kind is TextDelta and not text.isspace())


_Kind = type[TextDelta] | type[ReasoningDelta]


def _extract_text(value: object) -> str:
    """Return text, or the text of a list of parts."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return ""
    parts = [part.get("text") or part.get("summary") for part in value if isinstance(part, dict)]
    return "".join(part for part in parts if isinstance(part, str))


def _parse_usage(value: object) -> TokenUsage | None:
    if not isinstance(value, dict):
        return None
    prompt, completion = value.get("prompt_tokens"), value.get("completion_tokens")
    if type(prompt) is not int or type(completion) is not int or min(prompt, completion) < 0:
        return None
    return TokenUsage(prompt, completion)
