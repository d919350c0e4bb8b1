"""Checkouts that are taken out of a project again."""

from django.db import transaction

from agents.audit.traces import clear_traces
from agents.code.file_rows import delete_files
from agents.code.listing import files_below
from agents.code.service import CodeRefused
from agents.models import CodeCheckout
from agents.projects.queries import hold_write_access

BATCH_SIZE = 500


def remove_checkout(checkout: CodeCheckout, *, user_id: int) -> int:
    """Remove what was read from a checkout; return how many files. Those of others inside stay."""
    ids = _list_files(checkout)
    for start in range(0, len(ids), BATCH_SIZE):
        with transaction.atomic():
            _check_can_write(checkout, user_id)
            delete_files(checkout.project_id, ids[start : start + BATCH_SIZE])
    with transaction.atomic():
        _check_can_write(checkout, user_id)
        checkout.delete()
        transaction.on_commit(clear_traces, robust=True)
    return len(ids)


def _list_files(checkout: CodeCheckout) -> list[int]:
    others = CodeCheckout.objects.filter(project=checkout.project_id).exclude(pk=checkout.pk)
    outside = f"{checkout.folder}/" if checkout.folder else ""
    inner = tuple(
        f"{folder}/"
        for folder in others.values_list("folder", flat=True)
        if folder and f"{folder}/".startswith(outside)
    )
    below = files_below(checkout.project_id, checkout.folder).values_list("pk", "path")
    return [pk for pk, path in below if not path.startswith(inner)]


def _check_can_write(checkout: CodeCheckout, user_id: int) -> None:
    if not hold_write_access(user_id, checkout.project_id):
        raise CodeRefused("You may no longer change this project.")
