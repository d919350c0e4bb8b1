"""A map of a project's code: its most used definitions, within a number of tokens."""

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple
from uuid import UUID

from agents.code.code_search import search_code
from agents.code.collector import pause_collector
from agents.code.file_paths import is_migration_path, is_test_path, normalise_code_folder
from agents.code.imported_names import Importer
from agents.code.page_rank import compute_ranks
from agents.code.reference_graph import FileUses, ReferenceGraph, build_graph, count_names
from agents.code.service import CodeRefused, Definition, MappedFile, RepoMap
from agents.core.tokens import CHARS_PER_TOKEN
from agents.models import CodeCheckout, CodeFile, CodeSymbol

SEARCHED_FILES = 20
BATCH_SIZE = 500
KEPT_GRAPHS = 2
"""Of so many projects the graph stays in memory: a large one takes tens of megabytes."""
MIN_LINE_TOKENS = 2
"""No line of a map is shorter: an indent, a number, a colon and a name."""


def build_map(project_id: UUID, scope: str, max_tokens: int) -> RepoMap:
    """Return the map of all code, of a folder, or of what a question is about."""
    symbols, graph = _find_graph(project_id)
    prefix, starts = _read_scope(project_id, scope, list(graph.edges))
    ranked = [
        each
        for each in _rank(symbols, graph, compute_ranks(graph.edges, starts))
        if each.path.startswith(prefix)
    ]
    mapped = group_by_file(_choose(ranked, max_tokens))
    return RepoMap(
        files=mapped,
        token_count=count_tokens(mapped),
        file_count=len({each.path for each in ranked}),
        definition_count=len(ranked),
    )


def render_map(files: Sequence[MappedFile]) -> str:
    """Return a map as text: a path, and below it lines with their numbers."""
    return "\n".join(line for file in files for line in _list_lines(file))


def count_tokens(files: Sequence[MappedFile]) -> int:
    return math.ceil(len(render_map(files)) / CHARS_PER_TOKEN)


def group_by_file(definitions: Sequence[Definition]) -> tuple[MappedFile, ...]:
    """Return definitions by path and line."""
    by_path: dict[str, list[Definition]] = defaultdict(list)
    for each in sorted(definitions, key=lambda each: (each.path, each.line)):
        by_path[each.path].append(each)
    return tuple(MappedFile(path, tuple(found)) for path, found in by_path.items())


def _list_lines(file: MappedFile) -> list[str]:
    return [file.path, *(f"  {each.line}: {each.signature}" for each in file.definitions)]


def _find_graph(project_id: UUID) -> tuple[list["_Symbol"], ReferenceGraph]:
    version = _read_version(project_id)
    return load_graph(project_id, version) if version else _load_graph(project_id)


def _read_version(project_id: UUID) -> tuple[object, ...]:
    """Return what is other after every import and removal; empty while one is under way."""
    checkouts = CodeCheckout.objects.filter(project=project_id).order_by("pk")
    read = tuple(checkouts.values_list("pk", "started_at", "finished_at"))
    if not read or not all(finished for _, _, finished in read):
        return ()
    return (CodeFile.objects.filter(project=project_id).count(), *read)


@lru_cache(maxsize=KEPT_GRAPHS)
def load_graph(
    project_id: UUID, version: tuple[object, ...]
) -> tuple[list["_Symbol"], ReferenceGraph]:
    """Return what is defined and who uses it, as it was in a version of the project's code."""
    return _load_graph(project_id)


def _load_graph(project_id: UUID) -> tuple[list["_Symbol"], ReferenceGraph]:
    with pause_collector():
        symbols = _load_symbols(project_id)
        return symbols, build_graph(_load_uses(project_id), _count_definers(symbols))


def _load_uses(project_id: UUID) -> list[FileUses]:
    parsed = CodeFile.objects.filter(project=project_id, reading=CodeFile.Reading.PARSED)
    rows = parsed.order_by("path").values_list("path", "language", "imports", "references")
    return [
        FileUses(Importer(path, language, imports), count_names(references))
        for path, language, imports, references in rows.iterator(BATCH_SIZE)  # counted, then gone
    ]


class _Symbol(NamedTuple):
    """A definition as it is ranked, with the columns of a `Definition`: few of many are shown."""

    path: str
    name: str
    container: str
    kind: str
    line: int
    end_line: int
    signature: str


def _load_symbols(project_id: UUID) -> list[_Symbol]:
    """Return what a map may show: no tests, no migrations."""
    files = CodeFile.objects.filter(project=project_id, reading=CodeFile.Reading.PARSED)
    paths = {
        pk: path
        for pk, path in files.values_list("pk", "path")
        if not is_test_path(path) and not is_migration_path(path)
    }
    shown = sorted(paths)
    columns = ("file_id", "name", "container", "kind", "line", "end_line", "signature")
    return [
        _Symbol(paths[file_id], *row)
        for start in range(0, len(shown), BATCH_SIZE)
        for file_id, *row in CodeSymbol.objects.filter(file__in=shown[start : start + BATCH_SIZE])
        .order_by()
        .values_list(*columns)
    ]


def _count_definers(symbols: Sequence[_Symbol]) -> Mapping[str, Mapping[str, int]]:
    definers: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for each in symbols:
        definers[each.name][each.path] += 1
    return definers


def _read_scope(
    project_id: UUID, scope: str, paths: Sequence[str]
) -> tuple[str, Mapping[str, float]]:
    """Return the folder to show, and where to begin: everywhere, or where a search leads."""
    everywhere = dict.fromkeys(paths, 1.0)
    if not scope.strip():
        return "", everywhere
    try:
        prefix = normalise_code_folder(scope)
    except CodeRefused:
        prefix = "\0"
    if any(path.startswith(prefix) for path in paths):
        return prefix, everywhere
    hits = search_code(project_id, [scope], limit=SEARCHED_FILES).hits
    starts = {hit.path: hit.score for hit in hits if hit.path in everywhere and hit.score}
    return "", starts or everywhere


def _rank(
    symbols: Sequence[_Symbol], graph: ReferenceGraph, ranks: Mapping[str, float]
) -> list[_Symbol]:
    """Return definitions by the share of the ranks of all files that use them."""
    scores: dict[tuple[str, str], float] = defaultdict(float)
    for path, uses in graph.uses.items():
        total = sum(graph.edges[path].values())
        for target, name, weight in uses:
            scores[target, name] += ranks.get(path, 0.0) * weight / total
    return sorted(
        symbols, key=lambda each: (-scores.get((each.path, each.name), 0.0), each.path, each.line)
    )


def _choose(ranked: Sequence[_Symbol], max_tokens: int) -> Sequence[Definition]:
    """Return as many of the first definitions as fit."""
    first = [Definition(*each) for each in ranked[: max_tokens // MIN_LINE_TOKENS]]
    low, high = 0, len(first)
    while low < high:
        middle = (low + high + 1) // 2
        if count_tokens(group_by_file(first[:middle])) <= max_tokens:
            low = middle
        else:
            high = middle - 1
    return first[:low]
