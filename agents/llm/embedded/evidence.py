"""Everything the tools have returned in this run, sorted by what it is good for."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from agents.core.stemming import fold
from agents.llm.embedded.passages import (
    Passage,
    PassageKind,
    PassageSource,
    parse_note,
)
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import ParsedRequest

_PLACE = re.compile(
    r"(?:\d+\.|-) (?P<path>.+?)[:#](?P<line>\d+)"
    r" \((?:score (?P<score>[\d.]+)|\d+ lines?)\) ?(?P<within>.*)"
)
_LINE = re.compile(r"\s*(\d+)\| ?(.*)")
_ENTRY = re.compile(r"^#(\d+) (\w+, \d{4}-\d\d-\d\d).*$", re.MULTILINE)
"""How an entry of a thread begins: each line of its text stands behind a bar."""
_LISTED = re.compile(r"- ([^:]+\.\w{1,8}) \((.*)\)$")
_MANY, _FIRST, _EVEN, _EVEN_BEHIND = 4, 2, 0.75, 0.6
"""A search is even where the one behind so many hits has this share of the first one's score, or
this for a note that is none of the first two."""
_MAX_LINES = 8
"""What is shown of a place in the code."""


@dataclass(frozen=True, slots=True)
class Answer:
    passages: Sequence[Passage] = ()
    is_certain: bool = False
    lacks_word: bool = False
    """Whether it lacks a word of the question: another note may say it better."""
    sides: Sequence[tuple[str, "Answer"]] = ()
    """What is compared, each with what there is about it."""


class Evidence:
    def __init__(self, request: ParsedRequest) -> None:
        self.request = request
        self.answers: dict[Question, Answer] = {}
        """What was found for each question so far."""

    @cached_property
    def hits(self) -> list[Passage]:
        """What searches found, best first, each note once."""
        return _sort_notes(self._find_places("vault_search"))

    def is_even(self, path: str) -> bool:
        """Return whether a search found many notes that are nearly as near as the first: none
        stands out, least of all one that is not among the first."""
        results = [step.result for step in self.request.get_steps("vault_search")]
        searches = [_sort_notes(parse_places(result, "vault")) for result in results]
        found = [hits for hits in searches if path in [hit.path for hit in hits]]
        return bool(found) and all(_is_even(hits, path) for hits in found)

    @cached_property
    def notes(self) -> dict[str, list[Passage]]:
        """The notes and threads that were read, as passages."""
        titles = {hit.path: hit.headings[:1] for hit in self.hits if not hit.path.endswith("md")}
        notes: dict[str, list[Passage]] = {}
        for step in self.request.get_steps("vault_read"):
            path = str(step.arguments.get("path", ""))
            if found := parse_read(path, step.result, "".join(titles.get(path, ()))):
                notes.setdefault(path, found)
        for step in self.request.get_steps("thread_read"):
            thread = str(step.arguments.get("thread", ""))
            if found := parse_thread(thread, step.result):
                notes.setdefault(found[0].key, found)
        return notes

    @cached_property
    def known(self) -> dict[str, frozenset[str]]:
        """The stems of each note that was read."""
        return {key: collect_stems(note) for key, note in self.notes.items()}

    @cached_property
    def entries(self) -> list[Passage]:
        """What a search found in threads, without those that were read."""
        found = dict.fromkeys(self._find_places("thread_seek", "thread"))
        return [entry for entry in found if entry.key not in self.notes]

    @cached_property
    def openings(self) -> list[Passage]:
        """How each entry of a thread begins, of those that were found or read."""
        read = (p for note in self.notes.values() for p in note if p.source == "thread")
        first = {passage.place: replace(passage, score=1.0) for passage in reversed(list(read))}
        return [*self.entries, *list(first.values())[::-1]]

    @cached_property
    def code(self) -> list[Passage]:
        """Places in the code: definitions first, then what a search found."""
        found = self._find_places("find_definition", "code")
        found += self._find_places("search_code", "code")
        return list({passage.place: passage for passage in reversed(found)}.values())[::-1]

    @cached_property
    def passages(self) -> list[Passage]:
        """All there is to quote; where no note was read, what searches showed."""
        found = [passage for note in self.notes.values() for passage in note]
        if not any(passage.source == "vault" for passage in found):
            found += [
                replace(passage, read=False, headings=hit.headings)
                for hit in self.hits
                for passage in parse_note(hit.path, [(hit.line, hit.text)], hit.title)
            ]
        return [*found, *self.entries]

    @cached_property
    def blocks(self) -> list[list[Passage]]:
        """The lists and tables of the notes that were read."""
        found: dict[tuple[str, int], list[Passage]] = {}
        for passage in (p for note in self.notes.values() for p in note):
            if passage.kind in ("item", "row"):
                found.setdefault((passage.path, passage.block), []).append(passage)
        return list(found.values())

    @cached_property
    def listing(self) -> list[tuple[str, str]]:
        """Path and title of each note that was listed."""
        lines = "\n".join(step.result for step in self.request.get_steps("vault_list"))
        found = map(_LISTED.fullmatch, lines.split("\n"))
        return list(dict.fromkeys((match[1], match[2]) for match in found if match))

    @property
    def failure(self) -> str:
        """What a search said that failed, when none succeeded."""
        results = [step.result for step in self.request.get_steps("vault_search")]
        worked = any(_PLACE.match(text) or text.startswith("No note matches") for text in results)
        return "" if worked else next(iter(results), "")

    @property
    def queries(self) -> list[str]:
        """What was looked for, as the question has it: synonyms come after it, and are folded."""
        asked = [step.arguments.get("queries") for step in self.request.get_steps("vault_search")]
        return [str(queries[0]) for queries in asked if isinstance(queries, list) and queries]

    @cached_property
    def folders(self) -> dict[str, str]:
        """The folders of what was found, innermost first, with their folded names."""
        found: dict[str, str] = {}
        for path in (*(hit.path for hit in self.hits), *self.request.newest):
            while path := path.rpartition("/")[0]:
                found.setdefault(path, fold(path.rpartition("/")[2]))
        return found

    def find_folder(self, question: Question) -> str:
        """Return a folder whose list or summary is asked for."""
        if question.kind not in (Kind.LIST, Kind.SUMMARY):
            return ""
        words = [fold(word) for word in question.words]
        words = words[:1] if question.kind is Kind.LIST else words  # of what there is a list
        named = (
            f for f, name in self.folders.items() if any(_is_same_noun(name, w) for w in words)
        )
        return next(named, "")

    def _find_places(self, tool: str, source: PassageSource = "vault") -> list[Passage]:
        steps = self.request.get_steps(tool)
        return [place for step in steps for place in parse_places(step.result, source)]


def parse_places(result: str, source: PassageSource) -> list[Passage]:
    """Return the places that a search or a look-up found, with what it shows of them."""
    found: list[Passage] = []
    for line in result.split("\n"):
        if head := _PLACE.fullmatch(line):
            path, names = head["path"], tuple(filter(None, head["within"].split(" > ")))
            title, names = (names[0], names[1:]) if source == "vault" and names else (path, names)
            kind: PassageKind = "code" if source == "code" else "item"
            place = Passage(path, int(head["line"]), "", kind, title, names, source=source)
            found.append(replace(place, score=float(head["score"] or 0)))
        elif found and line[:1] == " " and found[-1].text.count("\n") < _MAX_LINES:
            numbered = _LINE.fullmatch(line) if source == "code" else None
            text = numbered[2] if numbered else line.strip()
            found[-1] = replace(found[-1], text=f"{found[-1].text}\n{text}".removeprefix("\n"))
    return found


@lru_cache(maxsize=32)
def parse_thread(name: str, result: str) -> list[Passage]:
    """Return the passages of a thread that was read: each entry is a section of it."""
    found: list[Passage] = []
    block = 0
    parts = _ENTRY.split(result)[1:]
    for number, head, body in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        lines = [line[4:] for line in body.split("\n") if line.startswith("  | ")]
        moved: dict[int, Passage] = {}
        for passage in parse_note(name, enumerate(lines, start=1), name):
            cited = replace(passage, line=int(number), headings=(f"#{number} {head}",))
            cited = replace(
                cited, source="thread", title=name, labels="", block=block + cited.block
            )
            moved[id(passage)] = replace(cited, before=moved.get(id(passage.before)))
        found += moved.values()
        block = found[-1].block if found else 0
    return found


def _sort_notes(places: Sequence[Passage]) -> list[Passage]:
    """Return places best first, each note once."""
    found = sorted(places, key=lambda hit: (-hit.score, hit.path))
    return list({hit.path: hit for hit in reversed(found)}.values())[::-1]


def _is_even(hits: Sequence[Passage], path: str) -> bool:
    share = _EVEN if path in [hit.path for hit in hits[:_FIRST]] else _EVEN_BEHIND
    return len(hits) > _MANY and hits[_MANY].score >= share * hits[0].score


def collect_stems(passages: Sequence[Passage]) -> frozenset[str]:
    """Return the stems of passages of one note, and of what stands around the first."""
    return passages[0].named.union(passages[0].around, *(p.stems for p in passages))


def _is_same_noun(name: str, word: str) -> bool:
    """Return whether two folded words are one, but for number: `decisions` and `decision`."""
    short, long = sorted((name, word), key=len)
    is_number = long.removeprefix(short) in ("", "s", "es", "e", "n", "en", "er")
    return bool(short) and long.startswith(short) and is_number


@lru_cache(maxsize=32)
def parse_read(path: str, result: str, title: str) -> list[Passage]:
    """Return the passages of a note that was read; none if it could not be.

    The turns of a run look at the same notes again and again: the last ones are kept.
    """
    lines = map(_LINE.fullmatch, result.split("\n"))
    return parse_note(path, [(int(line[1]), line[2]) for line in lines if line], title)
