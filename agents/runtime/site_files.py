"""What the operator has put into a folder of the data folder: one text in each file.

Files may change while the site runs. Of one that breaks, the last good version stays in force, and
what is wrong with it is told.
"""

import logging
import os
import stat
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from django.conf import settings

from agents.core.control.problems import InvalidText, PlacedProblem
from agents.core.control.toml_places import TomlPlaces
from agents.core.notify import Subscriber
from agents.core.rules.rule import Rule

logger = logging.getLogger(__name__)
T = TypeVar("T")
MAX_FILES = 200
MAX_FILE_SIZE = 16_384
"""In bytes: more than the longest text that is allowed takes."""
_Version = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class SiteFile(Generic[T]):
    """A file that is in force, maybe as it was before it broke."""

    path: str
    """From the data folder on."""
    text: str
    value: T


@dataclass(frozen=True, slots=True)
class FileProblem:
    """What is wrong with a file."""

    path: str
    problem: PlacedProblem
    is_in_force: bool = False
    """Whether an earlier version of it is."""

    def __str__(self) -> str:
        kept = " (the version before is in force)" if self.is_in_force else ""
        return f"{self.path}:{self.problem}{kept}"


@dataclass(slots=True)
class _KnownFile(Generic[T]):
    path: str
    version: _Version
    good: SiteFile[T] | None
    problems: tuple[PlacedProblem, ...] = ()


class SiteFolder(Generic[T]):
    """The files of one folder. Those that have not changed are not read again."""

    suffix = ".toml"
    max_size = MAX_FILE_SIZE
    name_each_other = False
    """Whether a text may name another of them: all are read again when one has changed."""

    def __init__(self, name: str, read: Callable[[str], T]) -> None:
        self.name = name
        self._read = read
        self._known: dict[Path, _KnownFile[T]] = {}
        self._lock = Lock()
        self._is_crowded = False
        self._unreadable = ""
        """Why the folder could not be looked at, if it could not."""

    def load(self) -> list[SiteFile[T]]:
        """Return what is in force, in the order of the names."""
        return [file.good for file in self._refresh() if file.good is not None]

    def find_problems(self) -> list[FileProblem]:
        """Return everything that is wrong, with its place."""
        found = [
            FileProblem(file.path, problem, file.good is not None)
            for file in self._refresh()
            for problem in file.problems
        ]
        if self._unreadable:
            text = f"this cannot be read: {self._unreadable}"
            found.append(FileProblem(self.name, PlacedProblem(1, 1, text), bool(self._known)))
        if self._is_crowded:
            text = f"only the first {MAX_FILES} files are read"
            found.append(FileProblem(self.name, PlacedProblem(1, 1, text)))
        return found

    def _refresh(self) -> list[_KnownFile[T]]:
        with self._lock:
            versions = dict(self._list_versions())
            if versions != {path: file.version for path, file in self._known.items()}:
                others = self._load_texts(versions) if self.name_each_other else {}
                self._known = {
                    path: self._look_at(path, version, others) for path, version in versions.items()
                }
            return list(self._known.values())

    def _look_at(self, path: Path, version: _Version, others: Mapping[str, str]) -> _KnownFile[T]:
        known = self._known.get(path)
        if known is not None and known.version == version and not others:
            return known
        name, last_good = f"{self.name}/{path.name}", known.good if known else None
        try:
            text = _read_text(path, version, self.max_size)
            good = SiteFile(name, text, self._read_file(path.stem, text, others))
        except InvalidText as error:
            logger.warning("%s: %s", name, error)
            return _KnownFile(name, version, last_good, error.problems)
        return _KnownFile(name, version, good)

    def _read_file(self, stem: str, text: str, others: Mapping[str, str]) -> T:
        """Read a file that may name `others`, which are known by the names of their files."""
        return self._read(text)

    def _load_texts(self, versions: Mapping[Path, _Version]) -> dict[str, str]:
        found = {}
        for path, version in versions.items():
            with suppress(InvalidText):  # which is told of that file
                found[path.stem] = _read_text(path, version, self.max_size)
        return found

    def _list_versions(self) -> Iterator[tuple[Path, _Version]]:
        folder: Path = settings.DATA_DIR / self.name
        self._unreadable = ""
        try:
            names = sorted(each for each in os.listdir(folder) if self._is_meant(each))
        except FileNotFoundError:  # it need not be there
            names = []
        except OSError as error:  # what was read stays in force
            self._unreadable = str(error.strerror)
            yield from ((path, file.version) for path, file in self._known.items())
            return
        self._is_crowded = len(names) > MAX_FILES
        for name in names[:MAX_FILES]:
            try:
                about = os.stat(folder / name)
            except OSError:  # removed meanwhile
                continue
            if stat.S_ISREG(about.st_mode):
                yield folder / name, (about.st_mtime_ns, about.st_size, about.st_ino)

    def _is_meant(self, name: str) -> bool:
        return name.endswith(self.suffix) and not name.startswith(".")


def find_twins(
    files: Iterable[SiteFile[Rule] | SiteFile[Subscriber]], table: str, taken: Mapping[str, str]
) -> Iterator[FileProblem]:
    """Yield the files that do not hold, because something before them has their id. `taken` are
    ids that are taken already, each with by what; `table` is that in which a file says its own."""
    known = dict(taken)
    for file in files:
        name = file.value.id
        if (first := known.setdefault(name, file.path)) != file.path:
            places = TomlPlaces(file.text.replace("\r\n", "\n"))
            place = places.locate(places.values.get((table, "id"), 0))
            message = f"this is not in force: {first} has the id {name!r} too"
            yield FileProblem(file.path, PlacedProblem(*place, message))


def _read_text(path: Path, version: _Version, max_size: int) -> str:
    if version[1] > max_size:
        raise InvalidText([PlacedProblem(1, 1, f"this is longer than {max_size:,} bytes")])
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InvalidText([PlacedProblem(1, 1, "this is not a text in UTF-8")]) from None
    except OSError as error:
        raise InvalidText([PlacedProblem(1, 1, f"this cannot be read: {error.strerror}")]) from None
