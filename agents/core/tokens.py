"""Token accounts of a run: what was used, what the next request will take, what must be cut.

The provider's usage is the truth, unless it cannot be true. Where it is missing, sizes in
characters are turned into tokens by a ratio that the run's last provider usage calibrated; an
absent usage is never zero.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from agents.core.chunks import UsageSource
from agents.core.messages import Message, TokenUsage, ToolSchema

CHARS_PER_TOKEN = 3.5
MIN_ANSWER_TOKENS = 128
"""Tokens below which asking for an answer is pointless."""
MAX_WRAP_UP_TOKENS = 4_096
"""Tokens that a wrap-up turn may write at most."""
TURN_CHARS = 1_500
"""What a working turn adds to the conversation at least: its calls and their shortest results."""
TURN_TOKENS = math.ceil(TURN_CHARS / CHARS_PER_TOKEN)
GROWTH_MARGIN = 1.25
"""By how much the next turn may grow more than the last ones, so that a warning is not late."""
MIN_RESULT_LENGTH = 60
"""Characters below which a result is not cut for the sake of a warning."""
FORECAST_TURNS = 3
"""How many turns the forecast of what the next ones take is made from."""
MAX_HISTORY_SHARE = 0.30
MIN_HISTORY_SHARE = 0.15
MAX_RESULT_SHARE = 0.15
MAX_RESULT_BYTES = 65_536
_MESSAGE_CHARS = 16
_CALL_CHARS = 48
_CALIBRATION_BOUNDS = (0.2, 5.0)
_MAX_TOKENS_PER_CHAR = 4
"""Tokens: one is at least a byte, and a character at most four."""
_HIDDEN_TOKENS = 16_384
"""Tokens that a provider may add out of our sight: templates, instructions for tools."""


def estimate_tokens(text: str) -> int:
    """Return about how many tokens a text is, before any provider has said."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def message_chars(message: Message) -> int:
    """Return the size of a message, near enough for an estimate and without encoding it."""
    calls = message.get("tool_calls") or ()
    called = sum(
        len(call["function"]["name"]) + len(call["function"]["arguments"]) + _CALL_CHARS
        for call in calls
    )
    return len(message.get("content") or "") + called + _MESSAGE_CHARS


def schema_chars(tools: Sequence[ToolSchema]) -> int:
    return sum(len(str(tool)) for tool in tools)


def forecast_further_turn(working: int, least: int, past: Iterable[tuple[int, int]]) -> int:
    """Return what a second working turn adds to the forecast of one: its request, an answer before
    it as long as the last ones, and growth by as much, which that request and the wrap-up carry.

    `past` are the last turns: tokens by which each made the prompt longer, tokens of its answer.
    """
    grown, answer = least, MIN_ANSWER_TOKENS
    for growth, tokens in past:
        grown, answer = max(grown, growth), max(answer, tokens)
    return working + answer + math.ceil(2 * GROWTH_MARGIN * grown)


@dataclass(frozen=True, slots=True)
class TokenCharge:
    """What one request used, and who says so."""

    prompt: int
    completion: int
    source: UsageSource


class TokenBudget:
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

    def to_chars(self, tokens: int) -> int:
        """Return the characters that so many tokens are estimated to be."""
        return int(tokens * CHARS_PER_TOKEN / self._ratio)

    def charge(self, usage: TokenUsage | None, prompt_chars: int, answer_chars: int) -> TokenCharge:
        """Book one answered or cut request."""
        if usage is None or not self._is_plausible(usage, prompt_chars, answer_chars):
            charge = TokenCharge(
                self.estimate(prompt_chars), self.estimate(answer_chars), "estimate"
            )
        else:
            charge = TokenCharge(usage.prompt_tokens, usage.completion_tokens, "provider")
            self._calibrate(usage.prompt_tokens, prompt_chars)
        self.used += charge.prompt + charge.completion
        return charge

    def _is_plausible(self, usage: TokenUsage, prompt_chars: int, answer_chars: int) -> bool:
        """Return whether so many tokens can have been read and written.

        No more than the context holds, or than the characters can be if we are wrong about the
        context. Thoughts may be hidden, so an answer may be longer than what came of it.
        """
        prompt, completion = usage.prompt_tokens, usage.completion_tokens
        if type(prompt) is not int or type(completion) is not int:
            return False
        read = max(self.window, _MAX_TOKENS_PER_CHAR * prompt_chars) + _HIDDEN_TOKENS
        written = (
            max(self.window, self.max_output, _MAX_TOKENS_PER_CHAR * answer_chars) + _HIDDEN_TOKENS
        )
        return 0 < prompt <= read and 0 <= completion <= written  # nothing is asked for nothing

    def _calibrate(self, tokens: int, chars: int) -> None:
        if tokens > 0 and chars > 0:
            low, high = _CALIBRATION_BOUNDS
            self._ratio = min(high, max(low, tokens / (chars / CHARS_PER_TOKEN)))

    def has_room_for(self, chars: int) -> bool:
        """Return whether a request of this size and a useful answer fit budget and window."""
        return self.estimate(chars) + MIN_ANSWER_TOKENS <= min(self.left, self.window)

    def max_answer_tokens(self, chars: int, cap: int) -> tuple[int, bool]:
        """Return the most tokens an answer to a request of this size may take, and whether it is
        the run's budget that sets it."""
        prompt = self.estimate(chars)
        budget = self.left - prompt
        allowed = min(self.window - prompt, self.max_output, cap)
        return max(1, min(budget, allowed)), budget <= allowed

    def result_chars(self, prompt_chars: int, results: int) -> int:
        """Return how long each of a turn's results may be so that a request of `prompt_chars` still
        fits after them, with an answer."""
        sent = self.estimate(prompt_chars + results * _MESSAGE_CHARS)
        room = min(self.left, self.window) - sent - 2 * MIN_ANSWER_TOKENS
        share = min(int(self.limit * MAX_RESULT_SHARE), room // max(1, results))
        return min(MAX_RESULT_BYTES, max(0, self.to_chars(share)))

    def result_chars_for_two(self, first_chars: int, second_chars: int, results: int) -> int:
        """Return how long each of a turn's results may be so that two requests of these sizes still
        fit the budget, each with the results in it and with an answer."""
        sent = self.estimate(first_chars + second_chars + 2 * results * _MESSAGE_CHARS)
        room = self.left - sent - 4 * MIN_ANSWER_TOKENS
        return max(0, self.to_chars(room // (2 * max(1, results))))

    def history_chars(self, fixed_chars: int) -> int:
        """Return how much history may be replayed beside what must be sent anyway.

        At most a share of the budget, and half of the room in the window: the rest is for work.
        Less of it, down to a smaller share, where two working turns and the wrap-up would not fit
        and a long conversation would be warned of its tokens before it has used any.
        """
        fixed = self.estimate(fixed_chars)
        room = self.window - fixed - 2 * MIN_ANSWER_TOKENS
        two_turns = 4 * (MIN_ANSWER_TOKENS + self.estimate(TURN_CHARS))
        spare = (self.limit - two_turns) // 3 - fixed
        least, most = int(self.limit * MIN_HISTORY_SHARE), int(self.limit * MAX_HISTORY_SHARE)
        return self.to_chars(max(0, min(room // 2, most, max(least, spare))))


def truncate_result(text: str, limit: int) -> str:
    """Return a tool result of at most `limit` characters and 64 KiB."""
    cut = truncate_middle(text, limit)
    while (size := len(cut.encode("utf-8", "replace"))) > MAX_RESULT_BYTES:
        limit = min(limit, len(cut)) * MAX_RESULT_BYTES // size - 1
        cut = truncate_middle(text, limit)
    return cut


def truncate_middle(text: str, limit: int) -> str:
    """Keep head and tail of a text that is longer than `limit`, with a mark at the cut."""
    if len(text) <= limit:
        return text
    keep = limit
    for _ in range(2):  # the number of characters cut decides how long the mark is
        mark = f"\n[… {len(text) - keep:,} characters cut …]\n"
        keep = max(0, limit - len(mark))
    mark = f"\n[… {len(text) - keep:,} characters cut …]\n"
    tail = keep // 4
    return text[: keep - tail] + mark + (text[-tail:] if tail else "")


def truncate_history(history: Sequence[Message], limit: int) -> list[Message]:
    """Return the newest whole exchanges that fit `limit` characters, starting at a question."""
    kept: list[Message] = []
    size = 0
    for exchange in reversed(_group_by_question(history)):
        if not kept:
            exchange = _truncate_results(exchange, limit)
        size += sum(map(message_chars, exchange))
        if size > limit:
            break
        kept[:0] = exchange
    return kept


def _truncate_results(exchange: list[Message], limit: int) -> list[Message]:
    """Return an exchange whose tool results are cut until it fits, if that is enough."""
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
        {**m, "content": truncate_middle(m["content"], each)} if m["role"] == "tool" else m
        for m in exchange
    ]


def _group_by_question(history: Sequence[Message]) -> list[list[Message]]:
    """Return messages grouped by question; what comes before the first question is left out."""
    number = 0
    numbered: list[tuple[int, Message]] = []
    for message in history:
        number += message["role"] == "user"
        numbered.append((number, message))
    groups = groupby(numbered, key=lambda entry: entry[0])
    return [[message for _, message in group] for key, group in groups if key]
