"""What a request says: the question, what was said before, what the tools have returned so far."""

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.core.messages import Message, ModelRequest
from agents.llm.embedded.passages import Unit, sentences, units

_NOTES = re.compile(r"(?:\A|\n)\[Oracle: .*\Z", re.DOTALL)
_GO_ON = re.compile(
    r"\W*(?:please |bitte )?(?:continue|go on|carry on|weiter|mach weiter)\W*", re.I
)
_HIT = re.compile(
    r"\d+\. (?P<path>[^:]+\.md):(?P<line>\d+) \(score (?P<score>[\d.]+)\) ?(?P<in>.*)"
)
_LINE = re.compile(r"(\d+)\| ?(.*)")
_LISTED = re.compile(r"- ([^:]+\.md) \((.*)\)$")
_OVER_CAP = "Refused: at most"
_RULE = re.compile(r"[\s:|-]+")
CITATION = re.compile(r"\[([^\[\]\n:]+\.md)(?::(\d+))?\]")


@dataclass(frozen=True, slots=True)
class Step:
    """A tool call of this run and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str
    turn: int

    @property
    def over_cap(self) -> bool:
        return self.result.startswith(_OVER_CAP)


@dataclass(frozen=True, slots=True)
class Hit:
    path: str
    line: int
    score: float
    title: str
    heading: str
    snippet: str


@dataclass(frozen=True, slots=True)
class Exchange:
    question: str
    answer: str


@dataclass(slots=True)
class Talk:
    """The conversation up to here, as far as it matters."""

    question: str = ""
    earlier: list[Exchange] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    turns: int = 0
    """Turns of this run that called tools."""
    warned: bool = False
    """Whether the system has said that a limit is near."""

    def results(self, name: str) -> list[Step]:
        return [step for step in self.steps if step.name == name and not step.over_cap]

    def made(self, name: str, arguments: dict[str, Any]) -> bool:
        """Return whether this call was run, or refused for good."""
        same = (name, arguments)
        return any((s.name, s.arguments) == same and not s.over_cap for s in self.steps)

    @property
    def cap(self) -> int:
        """How many calls of one turn are run, as far as a refusal has shown."""
        over = {step.turn for step in self.steps if step.over_cap}
        ran = [sum(s.turn == turn and not s.over_cap for s in self.steps) for turn in over]
        return max(1, min(ran)) if ran else 20


def read_talk(request: ModelRequest) -> Talk:
    """Go through the messages once; each question starts an exchange anew."""
    talk, calls, answer = Talk(), {}, ""
    for message in request.messages:
        role, content = message.get("role"), _content(message)
        text = _NOTES.sub("", content)
        noted = len(text) != len(content)
        if role == "user" and text.strip():
            talk = _next_question(talk, text.strip(), answer)
            answer = ""
        elif role == "assistant":
            answer = "\n".join(filter(None, [answer, content]))
            made = _calls(message)
            talk.turns += bool(made)
            calls.update(made)
        elif role == "tool" and message.get("tool_call_id") in calls:
            name, arguments = calls.pop(message["tool_call_id"])
            talk.steps.append(Step(name, arguments, text.rstrip("\n"), talk.turns))
        talk.warned = (talk.warned or noted) and role != "system"
    return talk


def _next_question(talk: Talk, question: str, answer: str) -> Talk:
    """Return a new exchange; being asked to go on is the old one, with what it had found."""
    if talk.question and _GO_ON.fullmatch(question):
        return Talk(talk.question, talk.earlier, talk.steps, talk.turns)
    earlier = [*talk.earlier, Exchange(talk.question, answer)] if talk.question else []
    return Talk(question, earlier)


def _content(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _calls(message: Message) -> dict[str, tuple[str, dict[str, Any]]]:
    found = {}
    for call in message.get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError:
            arguments = {}
        found[call["id"]] = (call["function"]["name"], arguments)
    return found


# -- what the tools returned ----------------------------------------------------------------------


def hits(result: str) -> list[Hit] | None:
    """Return the hits of a search, none if nothing matched, or None if the search failed."""
    found: list[Hit] = []
    lines = result.split("\n")
    for line, snippet in zip(lines, [*lines[1:], ""], strict=True):
        if match := _HIT.fullmatch(line):
            title, _, heading = match["in"].partition(" > ")
            score = float(match["score"].rstrip(".") or 0)
            number = int(match["line"])
            found.append(Hit(match["path"], number, score, title, heading, snippet.strip()))
    return found if found or result.startswith("No note matches") else None


def read_units(step: Step) -> list[Unit]:
    """Return the units of a note that was read; none if it could not be."""
    lines = (_LINE.fullmatch(line) for line in step.result.split("\n"))
    path = str(step.arguments.get("path", ""))
    return units(path, [(int(line[1]), line[2]) for line in lines if line])


def snippet_units(hit: Hit) -> list[Unit]:
    """Return the whole sentences of a hit, for when its note was not read."""
    found = units(hit.path, [(hit.line, hit.snippet)])
    cut_head, cut_tail = hit.snippet.startswith("…"), hit.snippet.endswith("…")
    whole = found[cut_head : len(found) - cut_tail] if cut_head or cut_tail else found
    return [
        Unit(u.path, u.line, u.text, u.kind, hit.title, hit.heading, mark=u.mark, read=False)
        for u in whole
    ]


def listed(result: str) -> list[tuple[str, str]]:
    """Return path and title of each note of a listing."""
    found = (_LISTED.fullmatch(line) for line in result.split("\n"))
    return [(match[1], match[2]) for match in found if match]


def quoted(answer: str) -> list[str]:
    """Return what an earlier answer of ours quoted, in its order, without marks and citations."""
    found = []
    lines = answer.split("\n")
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        if line.startswith("|"):
            if not _RULE.fullmatch(line) and not _RULE.fullmatch(below):
                found.append(line.strip(" |"))
        elif cite := CITATION.search(line):
            text = line[: cite.start()].strip(" -*")
            found.append(re.sub(r"^\d+[.)] ", "", text))
    return [text for text in found if text] or [s for _, s in sentences(answer)][:5]


def cited(answers: Sequence[str]) -> list[str]:
    """Return the paths that answers cite, each once."""
    return list(dict.fromkeys(m[1] for answer in answers for m in CITATION.finditer(answer)))
