"""A request as the embedded reader understands it:
the question, what was said before, which tools were called so far."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from agents.core.messages import Message, ModelRequest
from agents.llm.embedded.passages import split_sentences
from agents.llm.embedded.phrases import NOTHING

_SYSTEM_NOTE = re.compile(r"(?:\A|\n)\[Oracle: .*\Z", re.DOTALL)
_GO_ON = re.compile(
    r"\W*(?:please |bitte )?(?:continue|go on|carry on|mach weiter|weiter)"
    r"(?: from)?(?: where you (?:stopped|left off))?(?: please| bitte)?\W*",
    re.IGNORECASE,
)
_PROMPTED = re.compile(r"^- (.+\.(?:md|txt|rst))$", re.MULTILINE)
_OVER_CAP = "Refused: at most"
"""How a call is refused that was one too many of its turn: it is made later."""
READ_EXCHANGES = 5
"""How many earlier questions are read, the last ones: one may lean on the one before it."""
CITATION = re.compile(r"\[(thread:[^\[\]\n]+?|[^\[\]\n:]+\.\w{1,8})(?:[:#](\d+))?\]")


Call = tuple[str, dict[str, Any]]


class Step(NamedTuple):
    """A tool call of this run and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str


class Exchange(NamedTuple):
    question: str
    answer: str


@dataclass(slots=True)
class ParsedRequest:
    """The conversation up to here, as far as it matters."""

    question: str = ""
    given: str = ""  # what was answered to it by the runs that this one continues
    earlier: list[Exchange] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    put_off: list[Call] = field(default_factory=list)  # calls that were too many of their turn
    turns: int = 0  # of this run that called tools
    warned: bool = False  # whether the system has said that a limit is near
    newest: list[str] = field(default_factory=list)  # notes that the system prompt names
    offered: frozenset[str] = frozenset()  # names of tools
    has_threads: bool = False  # whether the system prompt names some

    def get_steps(self, *names: str) -> list[Step]:
        return [step for step in self.steps if step.name in names]

    def get_result(self, name: str, arguments: dict[str, Any]) -> str | None:
        """Return what this call returned, or why it was refused for good; None if not made."""
        same = (name, arguments)
        return next((s.result for s in self.steps if (s.name, s.arguments) == same), None)


def parse_request(request: ModelRequest) -> ParsedRequest:
    """Go through the messages once; each question starts an exchange anew."""
    parsed, calls, answer = ParsedRequest(), {}, ""
    prompt = "\n".join(_get_content(m) for m in request.messages if m.get("role") == "system")
    for message in request.messages:
        role, content = message.get("role"), _get_content(message)
        text = _SYSTEM_NOTE.sub("", content)
        noted = len(text) != len(content)
        if role == "user" and text.strip():
            parsed = _begin_exchange(parsed, text.strip(), answer)
            answer = ""
        elif role == "assistant":
            answer = "\n".join(filter(None, [answer, content]))
            made = _parse_calls(message)
            parsed.turns += bool(made)
            calls.update(made)
        elif role == "tool" and message.get("tool_call_id") in calls:
            name, arguments = calls.pop(message["tool_call_id"])
            if text.startswith(_OVER_CAP):
                parsed.put_off.append((name, arguments))
            else:
                parsed.steps.append(Step(name, arguments, text.rstrip("\n")))
        parsed.warned = (parsed.warned or noted) and role != "system"
    parsed.newest, parsed.has_threads = _PROMPTED.findall(prompt), "[thread:" in prompt
    parsed.offered = frozenset(str(tool["function"]["name"]) for tool in request.tools)
    return parsed


def _begin_exchange(parsed: ParsedRequest, question: str, answer: str) -> ParsedRequest:
    """Return a new exchange; being asked to go on is the old one, with what it had found."""
    if parsed.question and asks_to_go_on(question):
        given = "\n".join(filter(None, [parsed.given, answer]))
        return ParsedRequest(
            parsed.question, given, parsed.earlier, parsed.steps, turns=parsed.turns
        )
    earlier = [*parsed.earlier, Exchange(parsed.question, answer)] if parsed.question else []
    return ParsedRequest(question, earlier=earlier[-READ_EXCHANGES:])


def asks_to_go_on(question: str) -> bool:
    """Return whether a question is no new one, but says to continue."""
    return bool(_GO_ON.fullmatch(question[:200]))


def recall(history: Sequence[Message], question: str) -> list[Message]:
    """Return what is read of a conversation: its last questions and answers, and the results of
    the run only that the question asks to go on with."""
    asked = [
        at
        for at, message in enumerate(history)
        if message.get("role") == "user" and not asks_to_go_on(_get_content(message))
    ]
    whole = asked.pop() if asked and asks_to_go_on(question) else len(history)
    first = asked[-READ_EXCHANGES:][0] if asked else whole
    said: list[Message] = [
        {"role": message["role"], "content": content}
        for message in history[first:whole]
        if message.get("role") in ("user", "assistant") and (content := _get_content(message))
    ]
    return [*said, *history[whole:]]


def _get_content(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _parse_calls(message: Message) -> dict[str, Call]:
    found = {}
    for call in message.get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError:
            arguments = {}
        found[call["id"]] = (call["function"]["name"], arguments)
    return found


def list_quotes(answer: str) -> list[str]:
    """Return what an earlier answer quoted, in its order, without marks and citations."""
    if answer.startswith(NOTHING):
        return []
    found = []
    for line in answer.split("\n"):
        if cite := CITATION.search(line):
            found.append(re.sub(r"^(?:-|\d+[.)])\s+", "", line[: cite.start()]).strip())
    return [text for text in found if text] or [s for _, s in split_sentences(answer)][:5]


def list_cited(answer: str) -> tuple[str, ...]:
    """Return the paths that an answer cites, each once."""
    return tuple(dict.fromkeys(match[1] for match in CITATION.finditer(answer)))
