"""Which files use which definitions of others, by names that their imports make plausible. No I/O.

A use counts by the square root of how often it occurs, shared among the definitions that it may
mean; a tenth for private names, and less in tests.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import sqrt

from agents.code.file_paths import is_test_path
from agents.code.import_targets import join_target, list_package
from agents.code.imported_names import ALL, WHOLE, Importer, ImportResolver
from agents.code.path_index import PathIndex

PRIVATE_SHARE = 0.1
TEST_SHARE = 0.3


@dataclass(frozen=True, slots=True)
class FileUses:
    """A file: what it imports, and how often it uses each name."""

    importer: Importer
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class ReferenceGraph:
    """Weights of uses: from file to file, and of each definition by file and place in `names`."""

    edges: Mapping[str, Mapping[str, float]]
    uses: Mapping[str, Sequence[tuple[str, str, float]]]
    """Of each using file: the file and the name that it uses, and the weight of that."""


def count_names(references: Mapping[str, Sequence[int]]) -> dict[str, int]:
    """Return how often each name is used, whatever stands before it."""
    counts: dict[str, int] = {}
    for key, lines in references.items():
        name = key[key.rfind(".") + 1 :]
        counts[name] = counts.get(name, 0) + len(lines)
    return counts


def build_graph(
    files: Sequence[FileUses], definers: Mapping[str, Mapping[str, int]]
) -> ReferenceGraph:
    """Return who uses what; `definers` has for each name how often which files define it."""
    importers = {file.importer.path: file.importer for file in files}
    resolver = ImportResolver(PathIndex(importers), importers.get)
    reach = {path: _list_imported(importer, resolver) for path, importer in importers.items()}
    edges: dict[str, dict[str, float]] = {}
    uses: dict[str, list[tuple[str, str, float]]] = {}
    for file in files:
        path = file.importer.path
        near = reach[path].union(*(reach.get(each, ()) for each in _list_hops(reach[path])))
        near.update(list_package(file.importer.language, path, resolver.index))
        near.discard(path)
        found = list(_weigh_uses(file, near, definers))
        targets: dict[str, float] = defaultdict(float)
        for target, _, weight in found:
            targets[target] += weight
        edges[path], uses[path] = targets, found
    return ReferenceGraph(edges, uses)


def _list_imported(importer: Importer, resolver: ImportResolver) -> set[str]:
    """Return the files that a file imports itself."""
    found: set[str] = set()
    for target, names, _ in importer.imports:
        found.update(resolver.resolve(importer, target))
        for there in names.values():
            if there not in (WHOLE, ALL):
                module = join_target(importer.language, target, there)
                found.update(resolver.resolve(importer, module))
    return found


def _list_hops(paths: Iterable[str]) -> list[str]:
    """Return those of the files that pass on what others define."""
    return [path for path in paths if path.rpartition("/")[2].partition(".")[0] in _PASSING]


_PASSING = ("__init__", "index", "mod", "lib")


def _weigh_uses(
    file: FileUses, near: set[str], definers: Mapping[str, Mapping[str, int]]
) -> Iterable[tuple[str, str, float]]:
    share = TEST_SHARE if is_test_path(file.importer.path) else 1.0
    for name in file.counts.keys() & definers.keys():
        places = definers[name]
        if len(places) < len(near):
            targets = [path for path in places if path in near]
        else:
            targets = [path for path in near if path in places]
        if targets:
            weight = share * sqrt(file.counts[name]) / sum(places[path] for path in targets)
            weight *= PRIVATE_SHARE if name.startswith("_") else 1.0
            for path in targets:
                yield path, name, weight * places[path]
