"""Where an import comes from: a folder or a zip. Both give files one by one, in a fixed order.

Nothing outside of them is ever read: links are not followed, paths that climb are refused.
"""

import os
import stat
import struct
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Protocol

from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.paths import validate_path

MAX_FILES = 500_000
TOO_MANY_MESSAGE = "The {what} has more than {count:,} files; import parts of it."
REPEATED_MESSAGE = "the zip has this path again; the last one counts, as for programs that unpack"
MAX_RATIO = 200
"""By how much a part of a zip, or all of it, may grow when it is unpacked."""
SMALL_FILE_BYTES = 1024 * 1024
ALWAYS_ALLOWED_BYTES = 64 * 1024 * 1024
MAX_ZIP_BYTES = 4 * 1024 * 1024 * 1024
"""What a whole zip may become."""

ZIP_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    NotImplementedError,  # encrypted or packed in ways that zipfile does not know
    ValueError,  # names that are no UTF-8, places before the beginning
)
"""What reading a damaged zip can raise, besides OSError."""
_LISTED_FILE = b"PK\x01\x02"
"""How each entry begins in the list of contents of a zip."""
_CHUNK_BYTES = 1024 * 1024
_COMPRESSIONS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
"""LZMA may ask for gigabytes of memory; hardly any program writes it, or bzip2."""


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file to import. `open` is called at most once, when its turn has come."""

    path: str
    open: Callable[[], IO[bytes]]


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file that is not imported, and why not."""

    path: str
    why: str


class ImportSource(Protocol):
    def files(self) -> list[SourceFile | SkippedFile]:
        """Return what there is, in the order of paths."""


class FolderSource:
    """A folder on this machine."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def files(self) -> list[SourceFile | SkippedFile]:
        found: list[SourceFile | SkippedFile] = []
        folders = [""]
        while folders:
            folder = folders.pop()
            try:
                entries = list(os.scandir(self._root / folder))
            except OSError as error:
                found.append(SkippedFile(folder or ".", f"cannot be read ({error.strerror})"))
                continue
            for entry in entries:
                path = f"{folder}/{entry.name}" if folder else entry.name
                if entry.is_dir(follow_symlinks=False) and not entry.name.startswith("."):
                    folders.append(path)
                else:
                    found.append(self._look_at(path, entry))
            if len(found) > MAX_FILES:
                raise NoteRefused(TOO_MANY_MESSAGE.format(what="folder", count=MAX_FILES))
        return sorted(found, key=lambda file: file.path)

    def _look_at(self, path: str, entry: "os.DirEntry[str]") -> SourceFile | SkippedFile:
        if entry.is_symlink():
            return SkippedFile(path, "a link, which is not followed")
        return _admit(path, lambda: _open_regular_file(self._root / path))


def _open_regular_file(file: Path) -> IO[bytes]:
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise NoteRefused("not a regular file")
    return os.fdopen(handle, "rb")


def _admit(path: str, opener: Callable[[], IO[bytes]]) -> SourceFile | SkippedFile:
    """Return the file, if a project can have something at its path."""
    if any(part.startswith(".") and part != ".." for part in path.split("/")):
        return SkippedFile(path, "hidden")
    try:
        return SourceFile(validate_path(path), opener)
    except NoteRefused as refused:
        return SkippedFile(path, f"path not allowed: {refused}")


class FilesSource:
    """Files that somebody dropped, by the paths that they shall have."""

    def __init__(self, files: Iterable[tuple[str, Callable[[], IO[bytes]]]]) -> None:
        self._files = sorted(files, key=lambda file: file[0])

    def files(self) -> list[SourceFile | SkippedFile]:
        return [_admit(path, opener) for path, opener in self._files]


class ZipSource:
    """A zip. It may have been made by anybody: what it says about itself is not believed."""

    def __init__(self, archive: zipfile.ZipFile, name: str, archive_bytes: int) -> None:
        self._archive = archive
        self._name = name
        self._bytes_left = min(MAX_ZIP_BYTES, max(ALWAYS_ALLOWED_BYTES, archive_bytes * MAX_RATIO))

    def files(self) -> list[SourceFile | SkippedFile]:
        infos = [info for info in self._archive.infolist() if not info.is_dir()]
        named = {_decode_name(info): info for info in infos}
        root = _find_outer_folder(list(named), self._name)
        found = [self._look_at(path.removeprefix(root), info) for path, info in named.items()]
        last = {id(info) for info in named.values()}
        found += [
            SkippedFile(_decode_name(info).removeprefix(root), REPEATED_MESSAGE)
            for info in infos
            if id(info) not in last
        ]
        return sorted(found, key=lambda file: file.path)

    def _look_at(self, path: str, info: zipfile.ZipInfo) -> SourceFile | SkippedFile:
        if path.startswith("__MACOSX/"):
            return SkippedFile(path, "hidden")
        if stat.S_ISLNK(info.external_attr >> 16):
            return SkippedFile(path, "a link, which is not followed")
        if info.flag_bits & 1:
            return SkippedFile(path, "encrypted")
        if info.compress_type not in _COMPRESSIONS:
            return SkippedFile(path, "compressed in a way that is not unpacked here")
        if info.file_size > max(SMALL_FILE_BYTES, MAX_RATIO * info.compress_size):
            return SkippedFile(path, "grows too much when unpacked")
        return _admit(path, lambda: self._open_member(info))

    def _open_member(self, info: zipfile.ZipInfo) -> IO[bytes]:
        self._bytes_left -= info.file_size  # it cannot give more than that
        if self._bytes_left < 0:
            raise NoteRefused("the zip grows too much when unpacked")
        return self._archive.open(info)


def _decode_name(info: zipfile.ZipInfo) -> str:
    """Return the path of a part. Old programs write UTF-8 without saying so."""
    name = info.filename
    if not info.flag_bits & 0x800:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode()
    return name


def _find_outer_folder(paths: list[str], name: str) -> str:
    """Return the folder around everything that was only made by packing it: it is the root."""
    first = paths[0].partition("/")[0] + "/" if paths else ""
    outer = [path for path in paths if not path.startswith("__MACOSX/")]
    if not outer or not all(path.startswith(first) for path in outer):
        return ""
    is_vault = any(path.startswith(f"{first}.obsidian/") for path in outer)
    return first if is_vault or first == f"{name}/" else ""


@contextmanager
def open_source(place: Path) -> Iterator[ImportSource]:
    """Open a folder or a zip; raise NoteUnavailable if it is neither."""
    if place.is_dir():
        yield FolderSource(place)
        return
    try:
        opened = place.open("rb")
    except OSError as error:
        raise NoteUnavailable(f"{place.name!r} cannot be read ({error.strerror}).") from None
    with opened, closing(_open_place(place, opened)) as archive:
        yield ZipSource(archive, place.stem, place.stat().st_size)


def open_zip(opened: IO[bytes]) -> zipfile.ZipFile:
    """Open a zip, or raise NoteRefused if it lists too many files, or one of ZIP_ERRORS.

    `zipfile` reads the whole list before anybody can count it: one upload of short names would
    take gigabytes.
    """
    if _count_listed(opened) > MAX_FILES:
        raise NoteRefused(TOO_MANY_MESSAGE.format(what="zip", count=MAX_FILES))
    return zipfile.ZipFile(opened)


def _count_listed(opened: IO[bytes]) -> int:
    """Return how many files a zip can list at most; those of a zip inside of it may be counted."""
    count, end = 0, b""
    opened.seek(0)
    while chunk := opened.read(_CHUNK_BYTES):
        count += (end + chunk).count(_LISTED_FILE)
        end = (end + chunk)[1 - len(_LISTED_FILE) :]
    return count


def _open_place(place: Path, opened: IO[bytes]) -> zipfile.ZipFile:
    try:
        return open_zip(opened)
    except ZIP_ERRORS as error:
        raise NoteUnavailable(f"{place.name!r} is not a zip that can be read ({error}).") from None
    except OSError as error:
        raise NoteUnavailable(f"{place.name!r} cannot be read ({error.strerror}).") from None
