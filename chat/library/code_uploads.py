"""A zip of code that somebody uploads, read into the project; how far it is can be seen."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO
from uuid import UUID

from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError

from agents.code.importer import CodeImportReport, import_code
from agents.code.service import CodeRefused
from agents.code.sources import open_code_source
from agents.ledger import describe_database_error

PROGRESS_SECONDS = 3_600
PROGRESS_STEP = 25
"""Files between two notes of how far it is."""
MAX_NAME_BYTES = 200
"""Disks take names of 255."""


def import_uploaded(
    project_id: UUID, user_id: int, place: Path, name: str, folder: str, upload_id: UUID
) -> CodeImportReport:
    """Make a folder of the project's code what a zip holds. The file is taken away."""

    def note(done: int, total: int, path: str) -> None:
        if done % PROGRESS_STEP == 0 or done == total:
            cache.set(_get_key(user_id, upload_id), (done, total), PROGRESS_SECONDS)

    try:
        with _named_zip(user_id, place, name) as archive, open_code_source(archive) as source:
            if not source.files:
                raise CodeRefused("There are no files in it.")
            return import_code(project_id, source, folder=folder, user_id=user_id, progress=note)
    except (OSError, OperationalError) as error:
        raise CodeRefused(
            f"{_describe(error)} Files imported so far are kept; upload it again later."
        ) from error
    finally:
        place.unlink(missing_ok=True)


def get_progress(user_id: int, upload_id: UUID) -> tuple[int, int] | None:
    """Return how many files of how many are read, if this process reads them."""
    found: tuple[int, int] | None = cache.get(_get_key(user_id, upload_id))
    return found


def store_upload(user_id: int, content: IO[bytes]) -> Path:
    """Return a file of one's own with what was sent in one request.

    Raises CodeRefused if the disk does not take it.
    """
    place: Path | None = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=_get_folder(), prefix=f"{user_id}-", suffix=".zip", delete=False
        ) as made:
            place = Path(made.name)
            shutil.copyfileobj(content, made)
    except OSError as error:
        if place is not None:
            place.unlink(missing_ok=True)
        raise CodeRefused(f"{_describe(error)} Upload it again later.") from error
    return place


def _describe(error: OSError | OperationalError) -> str:
    """Say that the server cannot store a file, and why if that is known."""
    if isinstance(error, OSError):
        why = error.strerror or str(error)
    else:
        why = describe_database_error(error)
    reason = f" ({why.rstrip('.')})" if why else ""
    return f"The server cannot store it{reason}."


@contextmanager
def _named_zip(user_id: int, place: Path, name: str) -> Iterator[Path]:
    """Give the file the name that it had: a folder of that name is not part of its paths."""
    stem = PurePosixPath(name.replace("\\", "/").replace("\0", "")).stem
    stem = stem.encode(errors="ignore")[:MAX_NAME_BYTES].decode(errors="ignore")
    with tempfile.TemporaryDirectory(dir=_get_folder(), prefix=f"{user_id}-") as folder:
        named = Path(folder) / f"{stem.strip('. ') or 'code'}.zip"
        place.rename(named)
        yield named


def _get_folder() -> Path:
    folder: Path = settings.DATA_DIR / "uploads"
    folder.mkdir(exist_ok=True)
    return folder


def _get_key(user_id: int, upload_id: UUID) -> str:
    return f"code-upload:{user_id}:{upload_id.hex}"
