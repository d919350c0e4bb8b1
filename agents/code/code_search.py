"""Search over the code of a project: files that fit, with the line that says why."""

import re
from collections.abc import Sequence
from uuid import UUID

from django.db.models import QuerySet

from agents.code.languages import find_language
from agents.code.service import CodeHit, CodeRefused, CodeSearchResult
from agents.models import CodeFile, CodeSymbol, SearchDocument
from agents.search.code_analysis import analyse_code
from agents.search.search import SearchHit, SearchRefused, SearchResult, search
from agents.search.snippets import find_terms

MAX_SNIPPET_CHARS = 480
MAX_WEIGHED_CHARS = 1_000
_EXACT_BONUS = 1.5
"""How much more a line counts that has a query as it was written."""


def search_code(
    project_id: UUID,
    queries: Sequence[str],
    *,
    limit: int,
    language: str = "",
    as_typed: bool = False,
) -> CodeSearchResult:
    """Return the best files for one to four phrasings, of one language if given."""
    files = choose_files(project_id, language)
    chosen = list(files.values_list("pk", flat=True)) if language.strip() else None
    try:
        found = search(
            project_id,
            queries,
            limit=limit,
            kinds=[SearchDocument.Kind.CODE],
            source_ids=chosen,
            as_typed=as_typed,
        )
    except SearchRefused as error:
        raise CodeRefused(str(error)) from None
    rows = files.only("path", "language", "text").in_bulk([hit.source_id for hit in found.hits])
    hits = (
        build_code_hit(hit, rows[hit.source_id], found, queries)
        for hit in found.hits
        if hit.source_id in rows
    )
    return CodeSearchResult(tuple(hits), found.missing_words)


def choose_files(project_id: UUID, language: str) -> QuerySet[CodeFile]:
    """Return the files to look at: those of one language, or all."""
    files = CodeFile.objects.filter(project=project_id)
    if not language.strip():
        return files
    name = find_language(language)
    if name is None:
        raise CodeRefused(f"{language!r} is not a language that is known here; leave it out.")
    return files.filter(language=name)


def build_code_hit(
    hit: SearchHit, file: CodeFile, found: SearchResult, queries: Sequence[str]
) -> CodeHit:
    """Return a hit as tools and pages show it: the best line of its best part."""
    lines = file.text.split("\n")
    weigh = _LineWeigher(found, queries)
    last = min(hit.last_line, len(lines))
    numbers = range(min(hit.first_line, last), last + 1)
    line = max(numbers, key=lambda number: weigh(lines[number - 1]), default=1)
    snippet = lines[line - 1].strip() if line <= len(lines) else ""
    return CodeHit(
        path=file.path,
        language=file.language,
        symbol=find_symbol_around(file.pk, line),
        line=line,
        snippet=snippet[:MAX_SNIPPET_CHARS],
        score=hit.score,
        first_line=hit.first_line,
        last_line=last,
    )


def find_symbol_around(file_id: int, line: int) -> str:
    """Return the dotted name of the innermost definition around a line; "" outside of all."""
    around = CodeSymbol.objects.filter(file=file_id, line__lte=line, end_line__gte=line)
    row = around.order_by("-line", "end_line").values_list("container", "name").first()
    return ".".join(filter(None, row)) if row else ""


class _LineWeigher:
    """Says how much of the queries a line has."""

    def __init__(self, found: SearchResult, queries: Sequence[str]) -> None:
        self._weights = found.weights
        self._exact = [re.compile(rf"(?<!\w){re.escape(query.strip())}(?!\w)") for query in queries]
        self._bonus = _EXACT_BONUS * sum(found.weights.values())

    def __call__(self, line: str) -> float:
        part = line[:MAX_WEIGHED_CHARS]
        present = find_terms(analyse_code(part), self._weights)
        exact = any(pattern.search(part) for pattern in self._exact)
        return sum(self._weights[term] for term in present) + self._bonus * exact
