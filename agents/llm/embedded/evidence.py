"""Everything the tools have returned in this run, sorted by what it is good for."""

from functools import cached_property

from agents.llm.embedded.passages import Unit
from agents.llm.embedded.request import Hit, Talk, hits, listed, read_units, snippet_units


class Material:
    def __init__(self, talk: Talk) -> None:
        self.talk = talk

    @cached_property
    def hits(self) -> list[Hit]:
        """What searches found, best first, each note once."""
        found = [
            hit for step in self.talk.results("vault_search") for hit in hits(step.result) or ()
        ]
        first: dict[str, Hit] = {}
        for hit in sorted(found, key=lambda hit: (-hit.score, hit.path)):
            first.setdefault(hit.path, hit)
        return list(first.values())

    @cached_property
    def notes(self) -> dict[str, list[Unit]]:
        """The notes that were read, as units."""
        notes: dict[str, list[Unit]] = {}
        for step in self.talk.results("vault_read"):
            if found := read_units(step):
                notes.setdefault(found[0].path, found)
        return notes

    @cached_property
    def units(self) -> list[Unit]:
        """All there is to quote; of a note that was not read, what a search showed of it."""
        read = [unit for note in self.notes.values() for unit in note]
        rest = [u for hit in self.hits if hit.path not in self.notes for u in snippet_units(hit)]
        return [*read, *rest]

    @cached_property
    def listing(self) -> list[tuple[str, str]]:
        steps = self.talk.results("vault_list")
        return next((found for step in reversed(steps) if (found := listed(step.result))), [])

    @property
    def failure(self) -> str:
        """What a search said that failed, when none succeeded."""
        searches = self.talk.results("vault_search")
        failed = [step.result for step in searches if hits(step.result) is None]
        return failed[0] if failed and len(failed) == len(searches) else ""

    @property
    def queries(self) -> list[str]:
        searches = self.talk.results("vault_search")
        return [str(query) for step in searches for query in step.arguments.get("queries", ())]

    def result(self, name: str, **arguments: str) -> str:
        """Return what another tool returned for just these arguments."""
        steps = self.talk.results(name)
        return next((step.result for step in steps if step.arguments == arguments), "")
