"""The paths of a project's code, to be found by what they end with. No I/O."""

from collections.abc import Iterable
from itertools import takewhile

_END_PARTS = 2
"""So many last parts of a path are looked up at once; names like `index.ts` are everywhere."""


class PathIndex:
    """Files by their path, by the end of it, and by their folder."""

    def __init__(self, paths: Iterable[str]) -> None:
        self.paths = frozenset(paths)
        self._by_end: dict[str, list[str]] = {}
        self._by_folder: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            folder, _, name = path.rpartition("/")
            self._by_folder.setdefault(folder, []).append(path)
            for end in {name, "/".join(path.split("/")[-_END_PARTS:])}:
                self._by_end.setdefault(end, []).append(path)
        self._modules = self._list_modules()
        self._folders_by_name: dict[str, list[str]] = {}
        for folder in self._by_folder:
            self._folders_by_name.setdefault(folder.rpartition("/")[2], []).append(folder)

    def _list_modules(self) -> dict[str, list[str]]:
        """Return the files of Python by the dotted names that imports can have for them.

        They begin below the first folder that is no package, or at the root.
        """
        packages = {f for f in self._by_folder if f"{f}/__init__.py".lstrip("/") in self.paths}
        modules: dict[str, list[str]] = {}
        for path in sorted(self.paths):
            if not path.endswith((".py", ".pyi")):
                continue
            folders = path.rpartition(".")[0].removesuffix("/__init__").split("/")
            start = len(folders) - 1
            while start and "/".join(folders[:start]) in packages:
                start -= 1
            for name in {".".join(folders[start:]), ".".join(folders)}:
                modules.setdefault(name, []).append(path)
        return modules

    def find_module(self, name: str, near: str) -> list[str]:
        """Return a module of Python by its dotted name, alone; of several, the nearest."""
        found = self._modules.get(name)
        return [find_nearest(found, near)] if found else []

    def list_folder(self, folder: str) -> list[str]:
        return self._by_folder.get(folder, [])

    def find_first(self, paths: Iterable[str]) -> list[str]:
        """Return the first of some paths that is there, alone."""
        return next(([path] for path in paths if path in self.paths), [])

    def find_ending(self, end: str, near: str) -> list[str]:
        """Return the file whose path ends so, alone; of several, the nearest to another file."""
        key = "/".join(end.split("/")[-_END_PARTS:])
        found = [p for p in self._by_end.get(key, ()) if p == end or p.endswith(f"/{end}")]
        return [find_nearest(found, near)] if found else []

    def find_folder(self, end: str, near: str) -> str | None:
        """Return the folder whose path ends so; of several, the nearest to a file."""
        named = self._folders_by_name.get(end.rpartition("/")[2], ())
        found = [folder for folder in named if folder == end or folder.endswith(f"/{end}")]
        return find_nearest(found, near) if found else None


def find_nearest(paths: list[str], near: str) -> str:
    """Return the path that begins most like another; of equal ones, the shortest."""
    if len(paths) == 1:
        return paths[0]
    return min(paths, key=lambda path: (-_count_shared(path, near), len(path), path))


def _count_shared(path: str, other: str) -> int:
    """Return how many folders two paths begin with."""
    pairs = zip(path.split("/"), other.split("/"), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))
