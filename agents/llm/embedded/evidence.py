"""Everything the tools have returned in this run, sorted by what it is good for."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath

from agents.core.stemming import fold
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.request import (
    NoteMatch,
    ParsedRequest,
    parse_code,
    parse_entries,
    parse_hits,
    parse_listing,
    parse_read,
    parse_snippet,
)
from agents.llm.embedded.scoring import rate_title


@dataclass(frozen=True, slots=True)
class Answer:
    passages: Sequence[Passage] = ()
    is_certain: bool = False
    sides: Sequence[tuple[str, "Answer"]] = ()
    """What is compared, each with what there is about it."""


class Evidence:
    def __init__(self, request: ParsedRequest) -> None:
        self.request = request
        self.answers: dict[Question, Answer] = {}
        """What was found for each question so far."""

    @cached_property
    def hits(self) -> list[NoteMatch]:
        """What searches found, best first, each note once."""
        searches = self.request.get_steps("vault_search")
        found = [hit for step in searches for hit in parse_hits(step.result) or ()]
        first: dict[str, NoteMatch] = {}
        for hit in sorted(found, key=lambda hit: (-hit.score, hit.path)):
            first.setdefault(hit.path, hit)
        return list(first.values())

    @cached_property
    def notes(self) -> dict[str, list[Passage]]:
        """The notes that were read, as passages."""
        titles = {h.path: h.heading.split(" > ")[0] for h in self.hits if not h.path.endswith("md")}
        notes: dict[str, list[Passage]] = {}
        for step in self.request.get_steps("vault_read"):
            path = str(step.arguments.get("path", ""))
            if found := parse_read(path, step.result, titles.get(path, "")):
                notes.setdefault(path, found)
        return notes

    @cached_property
    def entries(self) -> list[Passage]:
        steps = self.request.get_steps("thread_seek")
        return list(dict.fromkeys(entry for s in steps for entry in parse_entries(s.result)))

    @cached_property
    def code(self) -> list[Passage]:
        """Places in the code: definitions first, then what a search found."""
        steps = self.request.get_steps("find_definition") + self.request.get_steps("search_code")
        found = [passage for step in steps for passage in parse_code(step.result)]
        return list({passage.place: passage for passage in reversed(found)}.values())[::-1]

    @cached_property
    def passages(self) -> list[Passage]:
        """All there is to quote; of a note that was not read, what a search showed of it."""
        read = [passage for note in self.notes.values() for passage in note]
        unread = [hit for hit in self.hits if hit.path not in self.notes]
        return [*read, *(p for hit in unread for p in parse_snippet(hit)), *self.entries]

    @cached_property
    def listing(self) -> list[tuple[str, str]]:
        steps = self.request.get_steps("vault_list")
        found = (entry for step in steps for entry in parse_listing(step.result))
        return list(dict.fromkeys(found))

    @property
    def failure(self) -> str:
        """What a search said that failed, when none succeeded."""
        searches = self.request.get_steps("vault_search")
        failed = [step.result for step in searches if parse_hits(step.result) is None]
        return failed[0] if failed and len(failed) == len(searches) else ""

    @property
    def queries(self) -> list[str]:
        searches = self.request.get_steps("vault_search")
        return [str(query) for step in searches for query in step.arguments.get("queries", ())]

    def get_result(self, name: str, **arguments: str) -> str:
        """Return what another tool returned for just these arguments."""
        steps = self.request.get_steps(name)
        return next((step.result for step in steps if step.arguments == arguments), "")

    def find_folder(self, question: Question) -> tuple[str, str]:
        """Return a folder whose list or summary is asked for, and the word that names it."""
        if question.kind not in (Kind.LIST, Kind.SUMMARY) or any(
            len(hit.title.split()) > 1 and rate_title(question, hit.title) == 1.0
            for hit in self.hits  # then a note is meant
        ):
            return "", ""
        paths = [*(hit.path for hit in self.hits), *self.request.newest]
        for folder in (folder for path in paths for folder in PurePosixPath(path).parents):
            for word in question.words:
                if folder.name and _is_same_noun(fold(word), fold(folder.name)):
                    return str(folder), word
        return "", ""


def _is_same_noun(first: str, second: str) -> bool:
    """Return whether two words are one, but for their number: `decisions` and `decision`."""
    short, long = sorted((first, second), key=len)
    return long.startswith(short) and long[len(short) :] in ("", "s", "es", "e", "n", "en", "er")
