"""Large files come in pieces, because the server takes no large request. They are put together
in a file of whoever sends them, until the last piece is there. Names of such files, and of anything
else in that folder, begin with the person's id."""

import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from uuid import UUID

from django.conf import settings

from agents.vault.errors import NoteRefused

MAX_UPLOAD_BYTES = 500 * 1024 * 1024
MAX_OPEN_UPLOADS = 4
"""Of one person; the oldest gives way."""
MAX_AGE_SECONDS = 24 * 3600
OUT_OF_ORDER = "A piece of the file is missing. Upload it again."


def _get_folder() -> Path:
    folder: Path = settings.DATA_DIR / "uploads"
    folder.mkdir(exist_ok=True)
    return folder


def _get_place(user_id: int, upload_id: UUID) -> Path:
    return _get_folder() / f"{user_id}-{upload_id.hex}.part"


def append_piece(user_id: int, upload_id: UUID, offset: int, data: bytes) -> int:
    """Put a piece at the end of an upload, which must have all before it; return its size."""
    try:
        return _append(user_id, upload_id, offset, data)
    except OSError as error:
        raise NoteRefused(f"The server cannot store it ({error.strerror}).") from error


def _append(user_id: int, upload_id: UUID, offset: int, data: bytes) -> int:
    place = _get_place(user_id, upload_id)
    if offset == 0:
        _make_room(user_id)
        place.write_bytes(b"")
    size = place.stat().st_size if place.exists() else -1
    if size != offset:
        raise NoteRefused(OUT_OF_ORDER)
    if size + len(data) > MAX_UPLOAD_BYTES:
        place.unlink()
        raise NoteRefused(f"It is larger than {MAX_UPLOAD_BYTES:,} bytes.")
    try:
        with place.open("ab") as opened:
            opened.write(data)
    except OSError:
        place.unlink(missing_ok=True)
        raise
    return size + len(data)


@contextmanager
def take_upload(user_id: int, upload_id: UUID) -> Iterator[Path]:
    """Give the file that the pieces made, to one reader only; it is gone afterwards."""
    place = _get_place(user_id, upload_id)
    try:
        taken = place.rename(place.with_suffix(".taken"))
    except FileNotFoundError as error:  # its last piece came twice, or it had to give way
        raise NoteRefused(OUT_OF_ORDER) from error
    try:
        yield taken
    finally:
        taken.unlink(missing_ok=True)


def remove_uploads(user_id: int) -> None:
    """Remove everything that a person has begun to upload."""
    for place in _get_folder().glob(f"{user_id}-*"):
        _remove(place)


def remove_abandoned_uploads() -> None:
    """Remove uploads that nobody has added anything to for a day."""
    oldest = time.time() - MAX_AGE_SECONDS
    for place in _get_folder().iterdir():
        with suppress(FileNotFoundError):
            if place.stat().st_mtime < oldest:
                _remove(place)


def _remove(place: Path) -> None:
    if place.is_dir():  # of an import whose server died
        shutil.rmtree(place, ignore_errors=True)
    else:
        place.unlink(missing_ok=True)


def _make_room(user_id: int) -> None:
    """Remove what nobody finished, and the oldest of somebody who has begun too many."""
    remove_abandoned_uploads()
    own: list[tuple[float, Path]] = []
    for place in _get_folder().glob(f"{user_id}-*.part"):
        with suppress(FileNotFoundError):
            own.append((place.stat().st_mtime, place))
    for _, place in sorted(own)[: max(0, len(own) - MAX_OPEN_UPLOADS + 1)]:
        place.unlink(missing_ok=True)
