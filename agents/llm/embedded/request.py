"""What a request says: the question, what was said before, what the tools have returned so far."""

import json
import re
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

from agents.core.messages import Message, ModelRequest
from agents.llm.embedded.passages import Passage, parse_note, split_sentences

_SYSTEM_NOTE = re.compile(r"(?:\A|\n)\[Oracle: .*\Z", re.DOTALL)
_GO_ON = re.compile(
    r"\W*(?:please |bitte )?(?:continue|go on|carry on|mach weiter|weiter)"
    r"(?: from)?(?: where you (?:stopped|left off))?(?: please| bitte)?\W*",
    re.IGNORECASE,
)
_HIT = re.compile(r"\d+\. (?P<path>[^:]+):(?P<line>\d+) \(score (?P<score>[\d.]+)\) ?(?P<in>.*)")
_ENTRY = re.compile(r"\d+\. (?P<path>.+)#(?P<line>\d+) \(score [\d.]+\) ?(?P<in>.*)")
_CODE = re.compile(
    r"(?:\d+\.|-) (?P<path>[^:]+):(?P<line>\d+) \((?:score [\d.]+|\d+ lines?)\) ?(?P<in>.*)"
)
_LINE = re.compile(r"\s*(\d+)\| ?(.*)")
_LISTED = re.compile(r"- ([^:]+\.\w{1,8}) \((.*)\)$")
_PROMPTED = re.compile(r"^- (.+\.(?:md|txt|rst))$", re.MULTILINE)
_OVER_CAP = "Refused: at most"
_CODE_LINES = 8
_CALLS = 5
"""Calls that one turn makes, unless fewer are allowed."""
CITATION = re.compile(r"\[(thread:[^\[\]\n]+?|[^\[\]\n:]+\.\w{1,8})(?:[:#](\d+))?\]")


class Step(NamedTuple):
    """A tool call of this run and what came back."""

    name: str
    arguments: dict[str, Any]
    result: str
    turn: int

    @property
    def over_cap(self) -> bool:
        return self.result.startswith(_OVER_CAP)


class NoteMatch(NamedTuple):
    """A note that a search found, with its best line."""

    path: str
    line: int
    score: float
    title: str
    heading: str
    snippet: str


class Exchange(NamedTuple):
    question: str
    answer: str


@dataclass(slots=True)
class ParsedRequest:
    """The conversation up to here, as far as it matters."""

    question: str = ""
    earlier: list[Exchange] = field(default_factory=list)
    steps: list[Step] = field(default_factory=list)
    turns: int = 0  # of this run that called tools
    warned: bool = False  # whether the system has said that a limit is near
    newest: list[str] = field(default_factory=list)  # notes that the system prompt names
    offered: frozenset[str] = frozenset()  # names of tools
    has_threads: bool = False  # whether the system prompt names some

    def get_steps(self, *names: str) -> list[Step]:
        return [step for step in self.steps if step.name in names and not step.over_cap]

    def has_made(self, name: str, arguments: dict[str, Any]) -> bool:
        """Return whether this call was run, or refused for good."""
        same = (name, arguments)
        return any((s.name, s.arguments) == same and not s.over_cap for s in self.steps)

    @property
    def cap(self) -> int:
        """How many calls of one turn are run, as far as a refusal has shown."""
        over = {step.turn for step in self.steps if step.over_cap}
        ran = [sum(s.turn == turn and not s.over_cap for s in self.steps) for turn in over]
        return max(1, min(ran)) if ran else _CALLS


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
            parsed.steps.append(Step(name, arguments, text.rstrip("\n"), parsed.turns))
        parsed.warned = (parsed.warned or noted) and role != "system"
    parsed.newest, parsed.has_threads = _PROMPTED.findall(prompt), "[thread:" in prompt
    parsed.offered = frozenset(str(tool["function"]["name"]) for tool in request.tools)
    return parsed


def _begin_exchange(parsed: ParsedRequest, question: str, answer: str) -> ParsedRequest:
    """Return a new exchange; being asked to go on is the old one, with what it had found."""
    if parsed.question and _GO_ON.fullmatch(question[:200]):
        return ParsedRequest(parsed.question, parsed.earlier, parsed.steps, parsed.turns)
    earlier = [*parsed.earlier, Exchange(parsed.question, answer)] if parsed.question else []
    return ParsedRequest(question, earlier)


def _get_content(message: Message) -> str:
    content = message.get("content")
    return content if isinstance(content, str) else ""


def _parse_calls(message: Message) -> dict[str, tuple[str, dict[str, Any]]]:
    found = {}
    for call in message.get("tool_calls") or ():
        try:
            arguments = json.loads(call["function"]["arguments"] or "{}")
        except ValueError:
            arguments = {}
        found[call["id"]] = (call["function"]["name"], arguments)
    return found


# -- what the tools returned ----------------------------------------------------------------------


def parse_hits(result: str) -> list[NoteMatch] | None:
    """Return the hits of a search, none if nothing matched, or None if the search failed."""
    found: list[NoteMatch] = []
    for line, snippet in pairwise([*result.split("\n"), ""]):
        if match := _HIT.fullmatch(line):
            title, _, heading = match["in"].partition(" > ")
            place = match["path"], int(match["line"]), float(match["score"].rstrip(".") or 0)
            found.append(NoteMatch(*place, title, heading, snippet.strip()))
    return found if found or result.startswith("No note matches") else None


@lru_cache(maxsize=32)
def parse_read(path: str, result: str, title: str) -> list[Passage]:
    """Return the passages of a note that was read; none if it could not be.

    The turns of a run look at the same notes again and again: the last ones are kept.
    """
    lines = (_LINE.fullmatch(line) for line in result.split("\n"))
    return parse_note(path, [(int(line[1]), line[2]) for line in lines if line], title)


def parse_snippet(hit: NoteMatch) -> list[Passage]:
    """Return the whole sentences of a hit, for when its note was not read."""
    found = parse_note(hit.path, [(hit.line, hit.snippet)], hit.title)
    cut_head, cut_tail = hit.snippet.startswith("…"), hit.snippet.endswith("…")
    whole = found[cut_head : len(found) - cut_tail]
    headings = tuple(filter(None, hit.heading.split(" > ")))
    told: dict[str, Any] = {"headings": headings, "block": 0, "lead": "", "before": None}
    return [replace(passage, read=False, **told) for passage in whole]


def parse_entries(result: str) -> list[Passage]:
    """Return the entries of threads that a search found, as passages."""
    return [
        Passage(m["path"], int(m["line"]), text.strip(), "item", m["path"], (m["in"],),
                source="thread")
        for line, text in pairwise([*result.split("\n"), ""])
        if (m := _ENTRY.fullmatch(line))
    ]  # fmt: skip


def parse_code(result: str) -> list[Passage]:
    """Return the places in code that a search or a look-up found, with their first lines."""
    found: list[Passage] = []
    for line in result.split("\n"):
        if head := _CODE.fullmatch(line):
            path, symbol = head["path"], tuple(filter(None, [head["in"]]))
            found.append(Passage(path, int(head["line"]), "", "code", path, symbol, source="code"))
        elif found and (shown := _LINE.fullmatch(line)):
            text = "\n".join(filter(None, [found[-1].text, shown[2]]))
            if text.count("\n") < _CODE_LINES:
                found[-1] = replace(found[-1], text=text)
    return found


def parse_listing(result: str) -> list[tuple[str, str]]:
    """Return path and title of each note of a listing."""
    found = (_LISTED.fullmatch(line) for line in result.split("\n"))
    return [(match[1], match[2]) for match in found if match]


def list_quotes(answer: str) -> list[str]:
    """Return what an earlier answer of ours quoted, in its order, without marks and citations."""
    found = []
    for line in answer.split("\n"):
        if cite := CITATION.search(line):
            found.append(re.sub(r"^(?:-|\d+[.)])\s+", "", line[: cite.start()]).strip())
    return [text for text in found if text] or [s for _, s in split_sentences(answer)][:5]


def list_cited(answer: str) -> tuple[str, ...]:
    """Return the paths that an answer cites, each once."""
    return tuple(dict.fromkeys(match[1] for match in CITATION.finditer(answer)))
