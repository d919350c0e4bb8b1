"""What follows when somebody may do less than before: runs end, open pages look again."""

from django.contrib.auth.models import User
from django.db import transaction
from django.dispatch import Signal
from django.utils import timezone

from agents.models import AgentRun, Membership, Project

access_changed = Signal()
"""Sent after the change is stored, with `project_id`, `run_ids` of runs that were asked to stop,
and the `note` that says why."""


def lock_members(project: Project) -> list[Membership]:
    """Return the memberships of a project, which nobody else can change until the transaction is
    over; no run of theirs can start there meanwhile. SQLite has one writer anyway."""
    return list(Membership.objects.select_for_update().filter(project=project).order_by("pk"))


def stop_runs(project: Project, note: str, user: User | None = None) -> None:
    """Ask the runs of a project, or those of one person there, to stop: an administrator's stop.

    To be called in the transaction that changes the right, after the change.
    """
    active = AgentRun.objects.filter(project=project, outcome__isnull=True)
    if user is not None:
        active = active.filter(user=user)
    run_ids = list(active.values_list("pk", flat=True))
    asked = active.filter(pk__in=run_ids, cancel_requested_at__isnull=True)
    asked.update(cancel_requested_at=timezone.now(), cancel_note=note)

    def announce() -> None:
        access_changed.send(Project, project_id=project.pk, run_ids=run_ids, note=note)

    transaction.on_commit(announce, robust=True)
