"""Lines that use a name, and how sure it is that they mean its definition."""

import re
from collections.abc import Iterator, Sequence
from uuid import UUID

from agents.code.definitions import build_definition, find_symbols, split_symbol, symbols_for
from agents.code.imported_names import (
    Importer,
    ImportResolver,
    Wanted,
    list_certain_names,
)
from agents.code.path_index import PathIndex
from agents.code.service import Certainty, Reference, References
from agents.models import CodeFile, CodeSymbol
from agents.search.search import find_code_with

MAX_FILES = 2_000
"""Files that are looked through for one name."""
MAX_LINE_CHARS = 300
MAX_DEFINITIONS = 20
_ORDER = {certainty: place for place, certainty in enumerate(Certainty)}
_SELVES = ("self", "this", "cls", "Self", "$this")
_IMPLICIT_SELF = ("java", "csharp", "cpp", "ruby")
"""Languages in which a method may be called without naming what it belongs to."""
_HEADERS = ("pk", "path", "language", "reading", "references", "imports")


def find_references(project_id: UUID, symbol: str, limit: int) -> References:
    """Return the lines that use a name, the surest first."""
    name = split_symbol(symbol)[-1]
    wanted = find_symbols(project_id, symbol)
    search = _ReferenceSearch(project_id, name, wanted)
    found = sorted(search.run(), key=lambda each: (_ORDER[each.certainty], each.path, each.line))
    return References(
        tuple(build_definition(row) for row in wanted[:MAX_DEFINITIONS]),
        tuple(_add_texts(project_id, found[:limit])),
        len(found),
    )


def _add_texts(project_id: UUID, found: Sequence[Reference]) -> Iterator[Reference]:
    paths = {each.path for each in found}
    rows = CodeFile.objects.filter(project=project_id, path__in=paths).values_list("path", "text")
    lines = {path: text.split("\n") for path, text in rows}
    for each in found:
        text = lines[each.path][each.line - 1] if each.path in lines else ""
        yield Reference(each.path, each.line, text.strip()[:MAX_LINE_CHARS], each.certainty)


class _ReferenceSearch:
    def __init__(self, project_id: UUID, name: str, wanted: Sequence[CodeSymbol]) -> None:
        self._name = name
        self._wanted = wanted
        self._files = CodeFile.objects.filter(project=project_id)
        self._sources = find_code_with(project_id, name, MAX_FILES)
        known = symbols_for(project_id).filter(name=name)
        self._is_only = known.count() == 1
        self._importers: dict[str, Importer | None] = {}
        self._resolver = ImportResolver(
            PathIndex(self._files.values_list("path", flat=True)), self._load_importer
        )

    def run(self) -> Iterator[Reference]:
        rows = self._files.filter(pk__in=self._sources).only(*_HEADERS).order_by("path")
        for file in rows:
            yield from self._look_into(file)

    def _look_into(self, file: CodeFile) -> Iterator[Reference]:
        if file.reading != CodeFile.Reading.PARSED:
            yield from self._match_words(file)
            return
        lines: dict[int, Certainty] = {}
        certain = self._list_certain(file)
        for _, names, line in file.imports:
            if any(certain.get(name) == line for name in names):
                lines[line] = Certainty.CERTAIN
        for key, numbers in file.references.items():
            if key == self._name or key in certain or key.endswith(f".{self._name}"):
                for line in numbers:
                    _keep_surer(lines, line, self._judge(file, key, line, certain))
        for line, certainty in lines.items():
            yield Reference(file.path, line, "", certainty)

    def _match_words(self, file: CodeFile) -> Iterator[Reference]:
        pattern = re.compile(rf"(?<!\w){re.escape(self._name)}(?!\w)")
        for number, line in enumerate(file.text.split("\n"), 1):
            if pattern.search(line):
                yield Reference(file.path, number, "", Certainty.SAME_NAME)

    def _list_certain(self, file: CodeFile) -> dict[str, int]:
        """Return the names that surely mean a wanted definition, and the line of their import."""
        importer = self._importers[file.path] = _build_importer(file)
        names: dict[str, int] = {}
        for row in self._wanted:
            wanted = Wanted(row.file.path, row.name, row.container)
            if row.file_id == file.pk:
                holder = wanted.holder
                names.setdefault(f"{holder}.{row.name}" if holder else row.name, 0)
            else:
                names = list_certain_names(wanted, importer, self._resolver) | names
        return names

    def _judge(self, file: CodeFile, key: str, line: int, certain: dict[str, int]) -> Certainty:
        if key in certain or self._is_inside(file, key, line):
            return Certainty.CERTAIN
        is_other = key == self._name and _binds(file, key)
        return Certainty.LIKELY if self._is_only and not is_other else Certainty.SAME_NAME

    def _is_inside(self, file: CodeFile, key: str, line: int) -> bool:
        """Return whether a use stands in what holds the definition, and names it as its own."""
        qualifier = key.removesuffix(self._name).removesuffix(".")
        for row in self._wanted:
            if row.file_id != file.pk or not row.container:
                continue
            is_own = qualifier in _SELVES and key != f".{self._name}"
            is_bare = key == self._name and (
                file.language in _IMPLICIT_SELF or row.kind == "function"
            )
            if (is_own or is_bare) and self._holds(row, line):
                return True
        return False

    def _holds(self, row: CodeSymbol, line: int) -> bool:
        outer, _, name = row.container.rpartition(".")
        holders = CodeSymbol.objects.filter(file=row.file_id, name=name, container=outer)
        return holders.filter(line__lte=line, end_line__gte=line).exists()

    def _load_importer(self, path: str) -> Importer | None:
        if path not in self._importers:
            file = self._files.filter(path=path).only("path", "language", "imports").first()
            self._importers[path] = _build_importer(file) if file else None
        return self._importers[path]


def _build_importer(file: CodeFile) -> Importer:
    imports = [(target, names, line) for target, names, line in file.imports]
    return Importer(file.path, file.language, imports)


def _binds(file: CodeFile, name: str) -> bool:
    """Return whether a file imports something of that name."""
    return any(name in names for _, names, _ in file.imports)


def _keep_surer(lines: dict[int, Certainty], line: int, certainty: Certainty) -> None:
    known = lines.get(line)
    if known is None or _ORDER[certainty] < _ORDER[known]:
        lines[line] = certainty
