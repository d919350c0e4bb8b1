"""Remove for good what was deleted 30 days ago. The record of runs stays, without their words."""

import logging

from django.db import transaction
from django.db.models import CASCADE, ManyToOneRel, QuerySet
from django.dispatch import Signal
from django.utils import timezone

from agents.audit.erasure import erase
from agents.audit.log import log_action
from agents.audit.traces import clear_traces
from agents.models import AgentRun, AuditEntry, Project, SiteSettings
from agents.projects.services import UNDO_PERIOD

logger = logging.getLogger(__name__)

project_purged = Signal()
"""Sent with `project_id` in the transaction that removes a project's rows, before they go: whoever
keeps something of it elsewhere removes that too."""


def list_due() -> QuerySet[Project]:
    """Return the projects that can no longer be restored, and still hold something."""
    before = timezone.now() - UNDO_PERIOD
    return Project.objects.filter(deleted_at__lt=before).exclude(name="").order_by("deleted_at")


def purge_due_projects() -> int:
    """Purge every project that is due; return how many there were."""
    due = list(list_due())
    for project in due:
        purge_project(project)
    return len(due)


def purge_project(project: Project) -> None:
    """Remove everything of a project but the record of its runs. Interrupted, it is begun again."""
    runs = AgentRun.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
    erase(list(runs), why="project purged")
    with transaction.atomic():
        if not list_due().select_for_update().filter(pk=project.pk).exists():
            return  # another process was quicker, or somebody restored it in the last second
        project_purged.send(Project, project_id=project.pk)
        _delete_rows(project)
        log_action(AuditEntry.Verb.PROJECT, by=None, did="purge", project=str(project.pk))
        _remove_row(project)
        transaction.on_commit(clear_traces, robust=True)
    logger.info("project %s was purged", project.pk)


def _delete_rows(project: Project) -> None:
    """Delete what would go with the project's row, whichever app it is of: that row may stay."""
    for relation in Project._meta.get_fields(include_hidden=True):
        if isinstance(relation, ManyToOneRel) and relation.on_delete is CASCADE:
            held = relation.related_model._base_manager.filter(**{relation.field.name: project})
            held.delete()


def _remove_row(project: Project) -> None:
    """Delete the row; if runs name it, keep it without a name."""
    SiteSettings.objects.filter(default_project=project).update(default_project=None)
    if not AgentRun.objects.filter(project=project).exists():
        project.delete()
        return
    slug = f"purged-{project.pk.hex}"
    Project.objects.filter(pk=project.pk).update(name="", slug=slug, is_sample=False)
