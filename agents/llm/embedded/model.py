"""The embedded model: drives the same loop as any other, without a key and without a network.

It searches and reads the notes by the tools of the request and answers with what they say, word
for word. It keeps nothing between requests: the same messages always get the same answer.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Sequence

from agents.core.messages import Finished, ModelEvent, ModelRequest, RawCall, TextDelta
from agents.llm.embedded.analysis import analyse_all
from agents.llm.embedded.compose import compose, is_given
from agents.llm.embedded.delegation import get_report, plan_delegation
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.planner import plan_calls
from agents.llm.embedded.request import Call, asks_to_go_on, parse_request, recall

PACE = 0.03
"""Seconds between two pieces, so that an answer is seen to be written."""
_MOST_SECONDS = 4.0
_CHARS_PER_TOKEN = 3
"""Low, so that an answer never takes more tokens than it may."""
_MIN_TOKENS = 160
"""With less than this for an answer there is no room to look things up."""
_PIECE = re.compile(r"[\s\S]{1,10}\S*\s*")
"""A few words: each piece costs what a chunk of a run costs."""


class OfflineModel:
    """A deterministic reader of notes, as the loop's ChatModel."""

    name = "embedded"
    window = 64_000
    max_output = 2_048
    goes_on = staticmethod(asks_to_go_on)
    recall = staticmethod(recall)
    """What it reads of a conversation: the rest is not sent, and counts for nothing."""

    def __init__(self, pace: float = PACE) -> None:
        self._pace = pace

    def stream(self, request: ModelRequest) -> "OfflineStream":
        return OfflineStream(request, self._pace)


class OfflineStream:
    """One answer. It is thought out when it is first iterated, then written bit by bit."""

    def __init__(self, request: ModelRequest, pace: float) -> None:
        self._request = request
        self._pace = pace

    async def __aiter__(self) -> AsyncIterator[ModelEvent]:
        text, calls, cut = reply(self._request)
        pieces = _PIECE.findall(text)
        pause = min(self._pace, _MOST_SECONDS / max(1, len(pieces)))
        for piece in pieces:
            yield TextDelta(piece)
            await asyncio.sleep(pause)
        reason = "tool_calls" if calls else "length" if cut else "stop"
        yield Finished(calls=calls, finish_reason=reason)

    def undelivered(self) -> Sequence[ModelEvent]:
        return ()

    async def aclose(self) -> None:
        """Nothing is open."""


def reply(request: ModelRequest) -> tuple[str, tuple[RawCall, ...], bool]:
    """Return the answer or calls that follow from a request, and whether it was cut."""
    parsed = parse_request(request)
    questions = analyse_all(parsed.question, parsed.earlier)
    evidence = Evidence(parsed)
    may_call = request.tool_choice == "auto" and request.max_tokens >= _MIN_TOKENS
    report = get_report(parsed)
    calls = plan_delegation(parsed) or ([] if report else plan_calls(questions, evidence))
    if may_call and calls:
        return "", tuple(_build_call(c, parsed.turns, at) for at, c in enumerate(calls)), False
    can_search = not may_call or "vault_search" in parsed.offered
    room = min(request.max_tokens, OfflineModel.max_output) * _CHARS_PER_TOKEN
    report = "" if report and is_given(report, parsed.given) else report
    text = report or compose(questions, evidence, room, can_search=can_search)
    return text[:room], (), len(text) > room


def _build_call(call: Call, turn: int, at: int) -> RawCall:
    name, arguments = call
    encoded = json.dumps(arguments, ensure_ascii=False)
    return RawCall(id=f"embedded-{turn + 1}-{at + 1}", name=name, arguments=encoded)
