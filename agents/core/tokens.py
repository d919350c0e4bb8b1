"""Token accounts of a run: what was used, what the next request will take, what must be cut.

The provider's usage is the truth. Where it is missing, sizes in characters are turned into tokens
by a ratio that the run's last provider usage calibrated; an absent usage is never zero.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.core.chunks import UsageSource
from agents.core.ports import Message, ToolSchema, Usage

CHARS_PER_TOKEN = 3.5
MIN_ANSWER = 128
"""Tokens below which asking for an answer is pointless."""
WRAP_UP_ANSWER = 4_096
"""Tokens that a wrap-up turn may write at most."""
HISTORY_SHARE = 0.30
RESULT_SHARE = 0.15
RESULT_BYTES = 65_536
_MESSAGE_CHARS = 16
_CALL_CHARS = 48
_CALIBRATION = (0.2, 5.0)


def message_chars(message: Message) -> int:
    """The size of a message, near enough for an estimate and without encoding it."""
    calls = message.get("tool_calls") or ()
    called = sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) + _CALL_CHARS
        for call in calls
    )
    return len(message.get("content") or "") + called + _MESSAGE_CHARS


def schema_chars(tools: Sequence[ToolSchema]) -> int:
    return sum(len(str(tool)) for tool in tools)


@dataclass(frozen=True, slots=True)
class Charge:
    """What one request used, and who says so."""

    prompt: int
    completion: int
    source: UsageSource


class Meter:
    """The tokens of one run: spent so far, and the ratio by which sizes are estimated."""

    def __init__(self, limit: int, window: int, max_output: int) -> None:
        self.limit = limit
        self.window = window
        self.max_output = max_output
        self.used = 0
        self._ratio = 1.0

    @property
    def left(self) -> int:
        return max(0, self.limit - self.used)

    def estimate(self, chars: int) -> int:
        return math.ceil(chars / CHARS_PER_TOKEN * self._ratio)

    def chars(self, tokens: int) -> int:
        """The characters that so many tokens are estimated to be."""
        return int(tokens * CHARS_PER_TOKEN / self._ratio)

    def charge(self, usage: Usage | None, prompt_chars: int, answer_chars: int) -> Charge:
        """Book one answered or cut request."""
        if usage is None or usage.prompt_tokens <= 0:  # nothing is asked for nothing
            charge = Charge(self.estimate(prompt_chars), self.estimate(answer_chars), "estimate")
        else:
            charge = Charge(usage.prompt_tokens, usage.completion_tokens, "provider")
            self._calibrate(usage.prompt_tokens, prompt_chars)
        self.used += charge.prompt + charge.completion
        return charge

    def _calibrate(self, tokens: int, chars: int) -> None:
        if tokens > 0 and chars > 0:
            low, high = _CALIBRATION
            self._ratio = min(high, max(low, tokens / (chars / CHARS_PER_TOKEN)))

    def fits(self, chars: int) -> bool:
        """Whether a request of this size and a useful answer fit budget and window."""
        return self.estimate(chars) + MIN_ANSWER <= min(self.left, self.window)

    def answer_cap(self, chars: int, cap: int) -> tuple[int, bool]:
        """The most tokens an answer to a request of this size may take, and whether it is the
        run's budget that sets it."""
        prompt = self.estimate(chars)
        budget = self.left - prompt
        allowed = min(self.window - prompt, self.max_output, cap)
        return max(1, min(budget, allowed)), budget <= allowed

    def result_chars(self, prompt_chars: int, results: int) -> int:
        """How long each of a turn's results may be so that a request of `prompt_chars` still
        fits after them, with an answer."""
        sent = self.estimate(prompt_chars + results * _MESSAGE_CHARS)
        room = min(self.left, self.window) - sent - 2 * MIN_ANSWER
        share = min(int(self.limit * RESULT_SHARE), room // max(1, results))
        return min(RESULT_BYTES, max(0, self.chars(share)))

    def history_chars(self, fixed_chars: int) -> int:
        """How much history may be replayed beside what must be sent anyway.

        At most a share of the budget, and half of the room in the window: the rest is for work.
        """
        room = self.window - self.estimate(fixed_chars) - 2 * MIN_ANSWER
        return self.chars(max(0, min(room // 2, int(self.limit * HISTORY_SHARE))))


def cut_result(text: str, limit: int) -> str:
    """A tool result of at most `limit` characters and 64 KiB."""
    cut = cut_text(text, limit)
    while (size := len(cut.encode("utf-8", "replace"))) > RESULT_BYTES:
        limit = min(limit, len(cut)) * RESULT_BYTES // size - 1
        cut = cut_text(text, limit)
    return cut


def cut_text(text: str, limit: int) -> str:
    """Head and tail of a text that is longer than `limit`, with a mark where it was cut."""
    if len(text) <= limit:
        return text
    keep = limit
    for _ in range(2):  # the number of characters cut decides how long the mark is
        mark = f"\n[… {len(text) - keep:,} characters cut …]\n"
        keep = max(0, limit - len(mark))
    mark = f"\n[… {len(text) - keep:,} characters cut …]\n"
    tail = keep // 4
    return text[: keep - tail] + mark + (text[-tail:] if tail else "")


def cut_history(history: Sequence[Message], limit: int) -> list[Message]:
    """The newest whole exchanges that fit into `limit` characters, starting at a question."""
    kept: list[Message] = []
    size = 0
    for exchange in reversed(_exchanges(history)):
        if not kept:
            exchange = _shortened(exchange, limit)
        size += sum(map(message_chars, exchange))
        if size > limit:
            break
        kept[:0] = exchange
    return kept


def _shortened(exchange: list[Message], limit: int) -> list[Message]:
    """An exchange whose tool results are cut until it fits, if that is enough to make it fit."""
    over = sum(map(message_chars, exchange)) - limit
    results = [len(m["content"]) for m in exchange if m["role"] == "tool"]
    if over <= 0 or over > sum(results):
        return exchange
    each = next(
        size
        for size in range(max(results), -1, -max(1, max(results) // 64))
        if sum(min(size, result) for result in results) <= sum(results) - over
    )
    return [
        {**m, "content": cut_text(m["content"], each)} if m["role"] == "tool" else m
        for m in exchange
    ]


def _exchanges(history: Sequence[Message]) -> list[list[Message]]:
    """Messages grouped by question; what comes before the first question is left out."""
    number = 0
    numbered: list[tuple[int, Message]] = []
    for message in history:
        number += message["role"] == "user"
        numbered.append((number, message))
    groups = groupby(numbered, key=lambda entry: entry[0])
    return [[message for _, message in group] for key, group in groups if key]
