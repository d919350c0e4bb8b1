"""What librarians have summarised, so that nothing is read twice that has not changed."""

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models.projects import Project


class LibrarianSummary(models.Model):
    """A summary that somebody's run got. It is good for as long as its documents stay the same."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="+",
        db_index=False,  # the index by use begins with it
    )
    task_digest = models.CharField(max_length=64)
    """Of everything that the librarian was asked."""
    text = models.TextField()
    documents = models.JSONField(default=list)
    """What it used, each as (kind, path, digest, places)."""
    signature = models.CharField(max_length=64)
    created_at = models.DateTimeField(default=timezone.now)
    used_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["user_id", "-used_at", "-id"]
        constraints = [
            models.UniqueConstraint(
                fields=["user", "project", "task_digest"], name="one_summary_per_task"
            ),
        ]
        indexes = [models.Index(fields=["user", "used_at"], name="summaries_by_use")]

    def __str__(self) -> str:
        return f"{self.task_digest[:8]} of {self.created_at:%Y-%m-%d}"
