"""Sources of code: a folder, a git checkout or a zip. Nothing outside of it is ever read.

Of a git checkout the tracked files are taken, of a folder all but hidden ones and what tools have
put there. Links are never followed, neither as a file nor as a folder on the way to it.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import IO

from agents.code.collector import pause_collector
from agents.code.commits import read_commit
from agents.code.service import CodeError, CodeRefused
from agents.code.tracked_files import (
    LINK_MODE,
    SUBMODULE_MODE,
    TrackedFile,
    list_tracked,
)
from agents.vault.errors import NoteRefused, VaultError
from agents.vault.import_sources import SkippedFile, SourceFile, open_source
from agents.vault.paths import validate_path

MAX_FILES = 100_000
LINK = "a link, which is not followed"
SUBMODULE = "a submodule, which is not read; import it by itself"
NOTHING_TRACKED = "Git tracks no files in this folder. Add them with git add, then import it again."
TOO_MANY = f"beyond the first {MAX_FILES:,} files"
FOREIGN_FOLDERS = frozenset(
    {
        *("node_modules", "bower_components", "jspm_packages", "vendor", "third_party"),
        *("__pycache__", "site-packages", "venv", "virtualenv", "env", "htmlcov", "coverage"),
        *("dist", "build", "target", "out", "obj", "_build"),
    }
)
"""What tools put into a folder: packages of others, and what is built."""
_PLAIN_PATTERN = re.compile(r"(?:[\w-]+(?:\.[\w-]+)*/){0,20}[\w-]+(?:\.[\w-]+)*", re.ASCII)
"""Most paths are so plain that they need no closer look."""
_MAX_PLAIN_CHARS = 199
_HIDDEN_PATTERN = re.compile(r"(?:^|/)\.(?!\.(?:/|$))")
_RESERVED_PATTERN = re.compile(r"/(?:con|prn|aux|nul|com\d|lpt\d)(?:[./]|$)", re.I)


@dataclass(slots=True)
class FolderFile:
    """A file of a folder, whose size can be told without reading it."""

    path: str
    _reader: "_FolderReader"
    _tracked: TrackedFile | None = None

    def open(self) -> IO[bytes]:
        return self._reader.open(self.path)

    def measure(self) -> int:
        return self._reader.look_at(self.path).st_size

    def is_untouched(self, blob_hash: str, size: int) -> bool:
        """Return whether it is as git recorded it, with this content. Nothing is read for that.

        Without a hash its size counts alone.
        """
        tracked = self._tracked
        if tracked is None or blob_hash not in (tracked.blob_hash, ""):
            return False
        found = self._reader.look_from_root(self.path)
        return found.st_size == size and tracked.fits(found)


ListedFile = SourceFile | FolderFile | SkippedFile


@dataclass(slots=True)
class CodeSource:
    """Files in the order of their paths. `origin` is a name, never a path of the machine."""

    files: list[ListedFile]
    origin: str
    commit: str = ""


@contextmanager
def open_code_source(place: Path) -> Iterator[CodeSource]:
    """Open a folder, a git checkout or a zip; raise CodeError if it is none of them."""
    if place.is_dir():
        with _FolderReader(place) as reader:
            with pause_collector():
                listed = list_tracked(place)
                if listed == []:
                    raise CodeRefused(NOTHING_TRACKED)
                found = reader.admit_tracked(listed) if listed is not None else reader.walk()
                files = _bound(found)
            commit = read_commit(place) if listed is not None else ""
            yield CodeSource(files, place.resolve().name[:200], commit)
        return
    try:
        with open_source(place) as source:
            yield CodeSource(_bound(map(_leave_out_foreign, source.files())), place.stem[:200])
    except VaultError as error:
        raise CodeError(str(error)) from None


def _bound(files: Iterable[ListedFile]) -> list[ListedFile]:
    found = sorted(files, key=attrgetter("path"))
    if len(found) <= MAX_FILES:
        return found
    more = len(found) - MAX_FILES
    return [*found[:MAX_FILES], SkippedFile(f"{more:,} files", TOO_MANY)]


def _leave_out_foreign(file: SourceFile | SkippedFile) -> SourceFile | SkippedFile:
    foreign = sorted(FOREIGN_FOLDERS.intersection(file.path.split("/")[:-1]))
    if isinstance(file, SkippedFile) or not foreign:
        return file
    return SkippedFile(file.path, _describe_foreign(foreign[0]))


def _describe_foreign(name: str) -> str:
    return f"in a folder {name!r}, which tools fill"


@dataclass(slots=True)
class _FolderReader:
    """Opens files below a folder, one folder of the path after the other, so that none is a link.

    It holds the folders of the last path, because the next one mostly shares them.
    """

    root: Path
    _held: list[tuple[str, int]] = field(default_factory=list)
    _held_path: str | None = None

    def __enter__(self) -> "_FolderReader":
        return self

    def __exit__(self, *_: object) -> None:
        self._held_path = None
        self._release(0)

    def admit_tracked(self, listed: list[TrackedFile]) -> Iterator[ListedFile]:
        for file in listed:
            if file.mode == SUBMODULE_MODE:
                yield SkippedFile(file.path, SUBMODULE)
            elif file.mode == LINK_MODE:
                yield SkippedFile(file.path, LINK)
            else:
                yield self._admit(file.path, file)

    def walk(self) -> Iterator[ListedFile]:
        folders, count = [""], 0
        while folders and count <= MAX_FILES:
            folder = folders.pop()
            try:
                entries = list(os.scandir(self.root / folder))
            except OSError as error:
                yield SkippedFile(folder or ".", f"cannot be read ({error.strerror})")
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False):
                    if skipped := _look_at_folder(path, entry):
                        yield skipped
                    else:
                        folders.append(path)
                elif entry.is_symlink():
                    yield SkippedFile(path, LINK)
                else:
                    count += 1
                    yield self._admit(path)

    def _admit(self, path: str, tracked: TrackedFile | None = None) -> ListedFile:
        if (path.startswith(".") or "/." in path) and _HIDDEN_PATTERN.search(path):
            return SkippedFile(path, "hidden")
        if not _is_allowed(path):
            return SkippedFile(path, "a path that not every system can hold")
        return FolderFile(path, self, tracked)

    def look_at(self, path: str) -> os.stat_result:
        folder, _, name = path.rpartition("/")
        found = os.stat(name, dir_fd=self._hold(folder), follow_symlinks=False)
        if not stat.S_ISREG(found.st_mode):
            raise CodeRefused("not a regular file")
        return found

    def look_from_root(self, path: str) -> os.stat_result:
        """Return the state of what a path leads to. It may be elsewhere, but is not read."""
        return os.stat(path, dir_fd=self._hold_root(), follow_symlinks=False)

    def open(self, path: str) -> IO[bytes]:
        folder, _, name = path.rpartition("/")
        parent = self._hold(folder)
        handle = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=parent)
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            os.close(handle)
            raise CodeRefused("not a regular file")
        return os.fdopen(handle, "rb", buffering=0)

    def _hold(self, path: str) -> int:
        """Return the opened folder of a path."""
        if path == self._held_path:
            return self._held[-1][1]
        self._held_path = None
        self._hold_root()
        folders = path.split("/") if path else []
        same = 0
        for (name, _), wanted in zip(self._held[1:], folders, strict=False):
            if name != wanted:
                break
            same += 1
        self._release(same + 1)
        for name in folders[same:]:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW
            self._held.append((name, os.open(name, flags, dir_fd=self._held[-1][1])))
        self._held_path = path
        return self._held[-1][1]

    def _hold_root(self) -> int:
        if not self._held:
            self._held.append(("", os.open(self.root, os.O_RDONLY | os.O_DIRECTORY)))
        return self._held[0][1]

    def _release(self, keep: int) -> None:
        while len(self._held) > keep:
            with suppress(OSError):
                os.close(self._held.pop()[1])


def _look_at_folder(path: str, entry: "os.DirEntry[str]") -> SkippedFile | None:
    """Return why a folder is left out, if it is."""
    if entry.name.startswith("."):
        return SkippedFile(path, "hidden")
    if entry.name in FOREIGN_FOLDERS:
        return SkippedFile(path, _describe_foreign(entry.name))
    if os.path.lexists(os.path.join(entry.path, ".git")):
        return SkippedFile(path, SUBMODULE)
    return None


def _is_allowed(path: str) -> bool:
    is_plain = len(path) <= _MAX_PLAIN_CHARS and _PLAIN_PATTERN.fullmatch(path)
    if is_plain and not _RESERVED_PATTERN.search(f"/{path}"):
        return True
    try:
        validate_path(path)
    except NoteRefused:
        return False
    return True
