"""The code of one project, as the tools of a run use it."""

from collections.abc import Sequence
from itertools import chain, zip_longest
from uuid import UUID

from agents.code.code_search import search_code
from agents.code.definitions import find_definitions
from agents.code.languages import PARSED_LANGUAGES, get_label
from agents.code.line_search import get_pattern, search_lines
from agents.code.references import find_references
from agents.code.repo_map import build_map
from agents.code.service import (
    Code,
    CodeHit,
    CodeRefused,
    CodeSearchResult,
    Definition,
    References,
    RepoMap,
)
from agents.code.worker.grammars import list_installed
from agents.projects.queries import can_read_by_id


class ProjectCode(Code):
    """Code in rows. The rights of the person who asks are looked at again with every call."""

    def __init__(self, project_id: UUID, user_id: int | None = None) -> None:
        self.project_id = project_id
        self._user_id = user_id

    def search(self, queries: Sequence[str], limit: int, *, language: str = "") -> CodeSearchResult:
        self._check_can_read()
        return search_words_and_lines(self.project_id, queries, limit, language)

    def find_definitions(self, symbol: str, scope: str = "") -> list[Definition]:
        self._check_can_read()
        return find_definitions(self.project_id, symbol, scope)

    def find_references(self, symbol: str, limit: int) -> References:
        self._check_can_read()
        return find_references(self.project_id, symbol, limit)

    def build_map(self, scope: str, max_tokens: int) -> RepoMap:
        self._check_can_read()
        return build_map(self.project_id, scope, max_tokens)

    def explain_limits(self) -> str:
        return explain_limits()

    def _check_can_read(self) -> None:
        if self._user_id is not None and not can_read_by_id(self._user_id, self.project_id):
            raise CodeRefused("The person who asked is no longer in this project.")


def search_words_and_lines(
    project_id: UUID, queries: Sequence[str], limit: int, language: str
) -> CodeSearchResult:
    """Return what fits the expressions among the queries, then what has the words of the others."""
    patterns = list(filter(None, map(get_pattern, queries)))
    found = [
        search_lines(project_id, each, limit=limit, language=language, share=1 / len(patterns))
        for each in patterns
    ]
    in_turns = chain.from_iterable(zip_longest(*(each.hits for each in found)))
    hits = list(filter(None, in_turns))
    words = [query for query in queries if not get_pattern(query)]
    missing: tuple[str, ...] = ()
    if words:
        by_words = search_code(project_id, words, limit=limit, language=language)
        hits += by_words.hits
        missing = by_words.missing_words
    chosen: dict[str, CodeHit] = {}
    for hit in hits:
        chosen.setdefault(hit.path, hit)
    note = " ".join(each.note for each in found if each.note)
    return CodeSearchResult(tuple(chosen.values())[:limit], missing, note)


def explain_limits() -> str:
    """Return a sentence about what cannot be found here; "" if every grammar is installed."""
    missing = [get_label(name) for name in PARSED_LANGUAGES if name not in list_installed()]
    if not missing:
        return ""
    names = "any language" if len(missing) == len(PARSED_LANGUAGES) else ", ".join(missing)
    return (
        f"The grammars of {names} are not installed here (the extra `code`), so definitions, "
        "references and maps are missing, and code is found by its words alone."
    )
