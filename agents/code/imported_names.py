"""Which names in a file mean a certain definition, by what the file imports. No I/O.

Names are written as `CodeFile.references` has them: `name`, `qualifier.name`, or `.name` behind
something that is no name. An import may lead to a file that passes a name on, such as a package's
`__init__`: one such step is followed.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

from agents.code.import_targets import join_target, list_package, resolve_import
from agents.code.path_index import PathIndex

Imports = list[tuple[str, Mapping[str, str], int]]
"""Of each import: what it names, what each name here is called there, and its line."""
WHOLE, ALL, DEFAULT = "", "*", "default"


@dataclass(frozen=True, slots=True)
class Importer:
    """A file that imports."""

    path: str
    language: str
    imports: Imports


class ImportResolver:
    """Follows imports from file to file. `load` gives the imports of a file that was met."""

    def __init__(self, index: PathIndex, load: Callable[[str], Importer | None]) -> None:
        self.index = index
        self._load = load
        self._targets: dict[tuple[str, str, str], list[str]] = {}

    def resolve(self, importer: Importer, target: str) -> list[str]:
        """Return the files that a target means in a file."""
        folder = importer.path.rpartition("/")[0]
        key = (importer.language, folder, target)
        if importer.language == "rust":  # where a file is a module of its own
            key = (importer.language, importer.path, target)
        if key not in self._targets:
            self._targets[key] = resolve_import(
                importer.language, importer.path, target, self.index
            )
        return self._targets[key]

    def leads_to(self, files: list[str], name: str, goal: str) -> bool:
        """Return whether a name in one of these files is the one in the file `goal`."""
        return goal in files or any(self._passes_on(file, name, goal) for file in files)

    def _passes_on(self, file: str, name: str, goal: str) -> bool:
        """Return whether a file has a name from another one."""
        importer = self._load(file)
        if importer is None:
            return False
        return any(
            (names.get(name) == name or ALL in names) and goal in self.resolve(importer, target)
            for target, names, _ in importer.imports
        )


@dataclass(frozen=True)
class Wanted:
    """A definition whose uses are looked for."""

    path: str
    name: str
    container: str

    @cached_property
    def holder(self) -> str:
        """The last name of what it is defined in."""
        return self.container.rpartition(".")[2]


def list_certain_names(
    wanted: Wanted, importer: Importer, resolver: ImportResolver
) -> dict[str, int]:
    """Return the names in another file that mean a definition, and the line that imports each.

    The line is 0 where it needs no import.
    """
    names: dict[str, int] = {}
    if wanted.path in list_package(importer.language, importer.path, resolver.index):
        names[_qualify(wanted.holder, wanted.name)] = 0
    for target, bound, line in importer.imports:
        for here, there in bound.items():
            for name in _list_bound(wanted, importer, resolver, target, here, there):
                names.setdefault(name, line)
    return names


def _list_bound(  # the parts of one import
    wanted: Wanted,
    importer: Importer,
    resolver: ImportResolver,
    target: str,
    here: str,
    there: str,
) -> Iterator[str]:
    """Return the names that one imported name gives to a definition."""
    outer = wanted.holder or wanted.name
    files = resolver.resolve(importer, target)
    if there == ALL:
        if resolver.leads_to(files, outer, wanted.path):
            yield _qualify(wanted.holder, wanted.name)
        return
    if there == WHOLE:
        if not wanted.container and resolver.leads_to(files, wanted.name, wanted.path):
            yield f"{here}.{wanted.name}"
        return
    is_meant = there == outer or (there == DEFAULT and here == outer)
    if is_meant and resolver.leads_to(files, outer, wanted.path):
        yield f"{here}.{wanted.name}" if wanted.container else here
    module = resolver.resolve(importer, join_target(importer.language, target, there))
    if not wanted.container and resolver.leads_to(module, wanted.name, wanted.path):
        yield f"{here}.{wanted.name}"


def _qualify(holder: str, name: str) -> str:
    return f"{holder}.{name}" if holder else name
