"""Files of a project that are not notes. Their bytes lie in one file per content.

A file is written before its row and removed after its last row, so a row always has its bytes. Who
removes looks for rows once more with the file out of the way, and who adds looks for the file once
the row is stored: one of them sees the other.
"""

import hashlib
import mimetypes
import os
import tempfile
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents.models import Attachment
from agents.vault.errors import NoteRefused, NoteUnavailable
from agents.vault.notes import refuse_taken_path
from agents.vault.paths import make_key, make_name_key, validate_path

MAX_ATTACHMENT_BYTES = 100 * 1024 * 1024
DEFAULT_CONTENT_TYPE = "application/octet-stream"
GONE_MESSAGE = "could not be kept at this moment; add it again"
MAX_PART_AGE_SECONDS = 24 * 3600
_TEMPORARY = ".part"


def get_file(sha256: str) -> Path:
    """Return where the bytes with this hash lie."""
    root: Path = settings.DATA_DIR / "attachments"
    return root / sha256[:2] / sha256


def store_bytes(chunks: Iterable[bytes]) -> tuple[str, int]:
    """Write a file that is named by its content; return its hash and size.

    Raises NoteRefused if it is too large, OSError if the disk does not take it.
    """
    root = get_file("00").parent.parent
    root.mkdir(parents=True, exist_ok=True)
    digest, size = hashlib.sha256(), 0
    handle, temporary = tempfile.mkstemp(dir=root, suffix=_TEMPORARY)
    try:
        with os.fdopen(handle, "wb") as opened:
            for chunk in chunks:
                size += len(chunk)
                if size > MAX_ATTACHMENT_BYTES:
                    raise NoteRefused(f"larger than {MAX_ATTACHMENT_BYTES:,} bytes")
                digest.update(chunk)
                opened.write(chunk)
        file = get_file(digest.hexdigest())
        file.parent.mkdir(exist_ok=True)
        os.replace(temporary, file)
    except BaseException:
        with suppress(OSError):
            os.unlink(temporary)
        raise
    return digest.hexdigest(), size


def build_attachment(project_id: UUID, path: str, sha256: str, size: int) -> Attachment:
    """Return a row for bytes that are stored."""
    return Attachment(
        project_id=project_id,
        path=path,
        key=make_key(path),
        name_key=make_name_key(path),
        sha256=sha256,
        size=size,
        content_type=(mimetypes.guess_type(path)[0] or DEFAULT_CONTENT_TYPE)[:100],
    )


def add_attachment(project_id: UUID, path: str, chunks: Iterable[bytes]) -> Attachment:
    """Add a file to a project; raise NoteExists if something is at its path."""
    validate_path(path)
    sha256, size = store_bytes(chunks)
    row = build_attachment(project_id, path, sha256, size)
    try:
        with transaction.atomic():
            refuse_taken_path(project_id, path)
            row.save()
    except IntegrityError:
        raise NoteRefused(f"There is something at {path!r} already.") from None
    if drop_rows_without_files([row]):
        raise NoteRefused(GONE_MESSAGE)
    return row


def drop_rows_without_files(rows: Iterable[Attachment]) -> list[Attachment]:
    """Delete those of these new rows whose bytes a purge has removed meanwhile; return them."""
    dropped = [row for row in rows if not get_file(row.sha256).exists()]
    Attachment.objects.filter(pk__in=[row.pk for row in dropped]).delete()
    # A purge that has seen a row brings its bytes back, perhaps after the row was given up.
    remove_unreferenced_files(row.sha256 for row in dropped)
    return dropped


def get_attachment(project_id: UUID, path: str) -> Attachment:
    """Return the attachment at a path, or raise NoteUnavailable."""
    rows = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    found = rows.filter(key=make_key(validate_path(path))).first()
    if found is None:
        raise NoteUnavailable(f"There is no file {path!r}.")
    return found


def delete_attachment(attachment: Attachment) -> None:
    """Move an attachment to the trash."""
    attachment.deleted_at = timezone.now()
    attachment.save(update_fields=["deleted_at"])


def trashed_attachments_for(project_id: UUID) -> QuerySet[Attachment]:
    """Return the files in the trash, newest first."""
    trashed = Attachment.objects.filter(project=project_id, deleted_at__isnull=False)
    return trashed.order_by("-deleted_at", "-pk")


def restore_attachment(project_id: UUID, attachment_id: int) -> Attachment:
    """Bring a file back from the trash; raise NoteExists if something is at its path."""
    with transaction.atomic():
        rows = trashed_attachments_for(project_id).select_for_update()
        row = rows.filter(pk=attachment_id).first()
        if row is None:
            raise NoteUnavailable("This file is not in the trash.")
        refuse_taken_path(project_id, row.path)
        row.deleted_at = None
        row.save(update_fields=["deleted_at"])
    return row


def iterate_chunks(attachment: Attachment, chunk_bytes: int = 1024 * 1024) -> Iterator[bytes]:
    """Yield the bytes of an attachment; raise NoteUnavailable if they are gone."""
    try:
        with get_file(attachment.sha256).open("rb") as opened:
            while chunk := opened.read(chunk_bytes):
                yield chunk
    except OSError as error:
        raise NoteUnavailable(f"{attachment.path!r} cannot be read ({error.strerror}).") from None


def remove_unreferenced_files(hashes: Iterable[str]) -> int:
    """Remove the files of these hashes that no project has any more; return how many.

    For whoever deletes a project: collect the hashes of its attachments before, call this after.
    """
    return sum(_remove_file(get_file(sha256)) for sha256 in set(hashes) if not _is_used(sha256))


def remove_abandoned_parts() -> None:
    """Remove what a process that died was writing, or removing, more than a day ago."""
    oldest = time.time() - MAX_PART_AGE_SECONDS
    root = get_file("00").parent.parent
    for part in chain(root.glob(f"*{_TEMPORARY}"), root.glob(f"*/*{_TEMPORARY}")):
        with suppress(OSError):
            if part.stat().st_mtime < oldest and not _is_used(part.name.partition("-")[0]):
                part.unlink()


def _is_used(sha256: str) -> bool:
    return Attachment.objects.filter(sha256=sha256).exists()


def _remove_file(file: Path) -> bool:
    """Remove a file, unless a row for it has come meanwhile; return whether it was removed."""
    aside = file.with_name(f"{file.name}-{uuid4().hex}{_TEMPORARY}")
    try:
        file.rename(aside)
        try:
            is_used = _is_used(file.name)
        except BaseException:
            aside.rename(file)  # whoever cannot ask whether it is used must keep it
            raise
        if is_used:
            aside.rename(file)
            return False
        aside.unlink()
    except OSError:
        return False
    return True


def collect_hashes(project_id: UUID) -> list[str]:
    """Return the hashes of all attachments of a project, those in the trash too."""
    return list(Attachment.objects.filter(project=project_id).values_list("sha256", flat=True))
