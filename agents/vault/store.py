"""The project's notes as the vault tools need them, and the simplest of them: a folder of Markdown.

    notes = FolderNotes(SAMPLE_PROJECT)
    notes.search(["permit for the quay"], limit=3).hits[0].path

Paths are relative to the root, with slashes. What is asked for outside of it, by dots, by links or
by absolute paths, is refused before the disk is touched.
"""

import builtins
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.search_index import Document, SearchIndex
from agents.vault.service import NoteEntry, NoteHit, Notes, NoteSearchResult

SAMPLE_PROJECT = Path(__file__).parent / "sample_project"
MAX_BYTES = 1_000_000
MAX_PATH_BYTES = 300
MAX_DEPTH = 10
MAX_NOTES = 20_000
_FORBIDDEN_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\\:\ud800-\udfff]")


def validate_path(path: str, *, note: bool = True) -> str:
    """Return the path if it can only lie within the root; else raise NoteRefused."""
    if (
        not path
        or len(path.encode("utf-8", "replace")) > MAX_PATH_BYTES
        or _FORBIDDEN_CHARACTERS.search(path)
    ):
        raise NoteRefused(
            f"{path[:80]!r} is no path of a note; pass a short path relative to the root, "
            "with slashes and without colons, such as plan/roadmap.md."
        )
    parts = path.split("/")
    if path.startswith(("/", "~")) or ".." in parts:
        raise NoteRefused(f"{path!r} is outside the vault; pass a path relative to its root.")
    if len(parts) > MAX_DEPTH or any(not part.strip() or part.startswith(".") for part in parts):
        raise NoteRefused(
            f"{path!r} has an empty or hidden part, or more than {MAX_DEPTH}; "
            "pass a path as vault_list shows it."
        )
    if note and not path.endswith(".md"):
        raise NoteRefused(f"{path!r} is not a note; only files that end in .md can be used.")
    return path


class FolderNotes(Notes):
    """A folder of Markdown files, with an index in memory that follows their changes."""

    def __init__(self, root: Path | str, *, writable: bool = False) -> None:
        self.root = Path(root).resolve()
        self.writable = writable
        self._index = SearchIndex()
        self._stamps: dict[str, tuple[int, int]] = {}
        self._lock = threading.RLock()  # tools run in threads, side by side

    def search(
        self, queries: Sequence[str], limit: int, *, folder: str = "", tag: str = ""
    ) -> NoteSearchResult:
        with self._lock:
            self._refresh()
            hits = [
                NoteHit(
                    path=found.document.path,
                    title=found.document.title,
                    heading=found.document.heading_at(found.line),
                    line=found.line + 1,
                    snippet=found.snippet,
                    score=found.score,
                    first_line=found.line + 1,
                    last_line=found.line + 1,
                )
                for found in self._index.search(" ".join(queries), limit)
            ]
        return NoteSearchResult(tuple(hits))

    def read(self, path: str) -> str:
        file = self._resolve_path(validate_path(path))
        try:
            data = _read_bytes(file)
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            raise NoteUnavailable(
                f"There is no note {path!r}.{self._suggest_similar(path)}"
            ) from None
        except OSError as error:
            raise NoteUnavailable(f"{path!r} cannot be read ({error.strerror}).") from None
        if len(data) > MAX_BYTES:
            raise NoteRefused(f"{path!r} is larger than {MAX_BYTES:,} bytes; use vault_search.")
        return data.decode("utf-8-sig", "replace")

    def list(self, folder: str = "") -> list[NoteEntry]:
        folder = folder.strip().removesuffix("/")
        prefix = "" if folder in ("", ".") else validate_path(folder, note=False) + "/"
        with self._lock:
            self._refresh()
            documents = self._index.documents
            return [
                NoteEntry(path, documents[path].title)
                for path in sorted(documents)
                if path.startswith(prefix)
            ]

    def list_recent(self, limit: int) -> builtins.list[str]:
        with self._lock:
            self._refresh()
            return sorted(self._stamps, key=lambda path: (-self._stamps[path][0], path))[:limit]

    def write(self, path: str, content: str) -> str | None:
        if not self.writable:
            raise NoteRefused("These notes can only be read; put what you found into the answer.")
        file = self._resolve_path(validate_path(path))
        data = content.encode("utf-8", "replace")
        if len(data) > MAX_BYTES:
            raise NoteRefused(f"A note may have {MAX_BYTES:,} bytes at most; write two notes.")
        with self._lock:
            try:
                before = self.read(path) if file.exists() else None
                file.parent.mkdir(parents=True, exist_ok=True)
                _write_atomically(self._resolve_path(path), data)
            except OSError as error:
                raise NoteUnavailable(f"{path!r} cannot be written ({error.strerror}).") from None
        return before

    # -- files ------------------------------------------------------------------------------------

    def _resolve_path(self, path: str) -> Path:
        """The file of a checked path; links are not followed, wherever they lead."""
        file = self.root / path
        try:
            direct = file.resolve() == file
        except (OSError, RuntimeError):  # links in a circle
            direct = False
        if not direct:
            raise NoteRefused(f"{path!r} leads over a link; pass a path as vault_list shows it.")
        return file

    def _suggest_similar(self, path: str) -> str:
        name = Path(path).stem.casefold()
        paths = (listed.path for listed in self.list())
        near = [known for known in paths if Path(known).stem.casefold() == name][:3]
        return f" Did you mean {' or '.join(near)}?" if near else " vault_list shows all paths."

    def _refresh(self) -> None:
        """Index what is new or changed, forget what is gone."""
        stamps = dict(self._walk(self.root, ""))
        for gone in self._stamps.keys() - stamps.keys():
            self._index.remove(gone)
        for path, stamp in stamps.items():
            if self._stamps.get(path) != stamp:
                with suppress(OSError):  # it went between the walk and now
                    text = _read_bytes(self.root / path)[:MAX_BYTES].decode("utf-8-sig", "replace")
                    self._index.add(Document(path, text))
        self._stamps = stamps

    def _walk(self, folder: Path, prefix: str) -> Iterator[tuple[str, tuple[int, int]]]:
        if prefix.count("/") >= MAX_DEPTH:
            return
        try:
            entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
        except OSError:
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.is_symlink():
                continue
            path = f"{prefix}{entry.name}"
            if entry.is_dir():
                yield from self._walk(folder / entry.name, f"{path}/")
            elif entry.name.endswith(".md") and not _FORBIDDEN_CHARACTERS.search(path):
                with suppress(OSError):
                    stat = entry.stat(follow_symlinks=False)
                    yield path, (stat.st_mtime_ns, stat.st_size)


def _read_bytes(file: Path) -> bytes:
    """A regular file's content, a little beyond the bound at most, without following a link."""
    handle = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(handle, "rb") as opened:
        return opened.read(MAX_BYTES + 1)


def _write_atomically(file: Path, data: bytes) -> None:
    """Write a file whole or not at all."""
    handle, temporary = tempfile.mkstemp(dir=file.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as opened:
            opened.write(data)
        os.chmod(temporary, 0o644)
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
