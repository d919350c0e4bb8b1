"""What people work on, who may, and how they come in."""

import uuid
from typing import Any

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.text import slugify

from agents.models.settings import AskBeforeWriting

MAX_SLUG_LENGTH = 60
NAMELESS_SLUG = "project"
"""What the slug of a name is made of that has no letter of the Latin alphabet."""


class Project(models.Model):
    """Notes, threads, code and runs that belong together."""

    id = models.UUIDField(primary_key=True, default=uuid.uuid4, editable=False)
    name = models.CharField(max_length=200)
    """Empty once the project was purged, and its row stays for the sake of its runs."""
    slug = models.SlugField(max_length=80, unique=True, editable=False)
    """Made of the first name, and kept: addresses stay valid when a project is renamed."""
    is_sample = models.BooleanField(default=False, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(null=True, blank=True, editable=False)
    """When it was archived: read-only since then."""
    deleted_at = models.DateTimeField(null=True, blank=True, editable=False)
    """Since when nobody reaches it; some weeks later it is purged."""
    ask_before_writing = models.CharField(
        max_length=8,
        choices=AskBeforeWriting.choices,
        default=AskBeforeWriting.NEVER,
        help_text="Whether tools that change something wait for the yes of whose run it is.",
    )
    """What its owners want for all runs in it."""
    members = models.ManyToManyField(
        settings.AUTH_USER_MODEL, through="agents.Membership", related_name="projects"
    )

    class Meta:
        ordering = ["name", "id"]

    def __str__(self) -> str:
        return self.name or "(purged)"

    def save(self, *args: Any, **kwargs: Any) -> None:
        if not self.slug:
            self.slug = self.find_free_slug()
        super().save(*args, **kwargs)

    def find_free_slug(self) -> str:
        """Return a slug of the name that no project has: `notes`, else `notes-2` and so on."""
        stem = slugify(self.name)[:MAX_SLUG_LENGTH].strip("-_") or NAMELESS_SLUG
        similar = Project.objects.filter(slug__startswith=stem).values_list("slug", flat=True)
        taken, number, slug = set(similar), 1, stem
        while slug in taken:
            number += 1
            slug = f"{stem}-{number}"
        return slug

    @property
    def is_archived(self) -> bool:
        return self.archived_at is not None


class Membership(models.Model):
    """A person's place in a project."""

    class Role(models.TextChoices):
        OWNER = "owner", "Owner"
        MEMBER = "member", "Member"
        READER = "reader", "Reader"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships"
    )
    role = models.CharField(max_length=16, choices=Role.choices, default=Role.MEMBER)
    joined_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "user"], name="one_membership_per_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"


class Departure(models.Model):
    """Somebody left a project, or was removed: they are not let in again as a newcomer."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="departures"
    )
    project = models.ForeignKey(
        Project, on_delete=models.CASCADE, null=True, related_name="departures"
    )
    """Null in rows that are older than this column: it may have been any project."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "project"], name="one_departure_per_project"),
        ]

    def __str__(self) -> str:
        return f"{self.user} from {self.project}"


class Invitation(models.Model):
    """A link that lets one person into a project, once. Only a digest of it is stored."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(
        max_length=16, choices=Membership.Role.choices, default=Membership.Role.MEMBER
    )
    digest = models.CharField(max_length=64, unique=True, editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField()
    revoked_at = models.DateTimeField(null=True)
    used_at = models.DateTimeField(null=True)
    used_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )

    class Meta:
        ordering = ["-created_at", "-id"]

    def __str__(self) -> str:
        return f"{self.get_role_display()} of {self.project}"


class SiteSettings(models.Model):
    """What the administrator of the site has chosen. There is one row, or none yet."""

    default_project = models.ForeignKey(
        Project,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Newcomers who are in no project become members of this one.",
    )
    default_role = models.CharField(
        max_length=16, choices=Membership.Role.choices, default=Membership.Role.MEMBER
    )
    web_hosts = models.TextField(
        blank=True,
        default="",
        help_text="Hosts that the tool web_fetch may read, one on each line; none switches it off.",
    )

    class Meta:
        verbose_name = verbose_name_plural = "site settings"
        constraints = [models.CheckConstraint(condition=Q(pk=1), name="one_row_of_site_settings")]

    def __str__(self) -> str:
        return "Site settings"

    @classmethod
    def load(cls) -> "SiteSettings":
        """Return the row; the defaults, not stored, if there is none."""
        return cls.objects.select_related("default_project").first() or cls(pk=1)
