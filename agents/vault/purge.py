"""Files of a project that go when it is purged: its folder, attachments that nobody else has."""

import shutil
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction

from agents.vault.attachments import collect_hashes, remove_unreferenced_files


def remove_files(*, project_id: UUID, **_: Any) -> None:
    """Remove a project's files once its rows are gone for good."""
    hashes = collect_hashes(project_id)

    def remove() -> None:
        remove_unreferenced_files(hashes)
        shutil.rmtree(settings.DATA_DIR / "projects" / str(project_id), ignore_errors=True)

    transaction.on_commit(remove, robust=True)
