"""A project's notes and other files, with every version of them.

Notes are the project's, not their writers': whoever wrote one may go, the note stays. Links are
kept as they are written and resolved when they are read (agents/vault/links.py), so that none can
point at a note that has gone.
"""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from agents.models.projects import Project
from agents.models.runs import AgentRun

MAX_PATH_LENGTH = 512
MAX_KEY_LENGTH = 1024
MAX_NAME_LENGTH = 400
"""Of the keys of tags and aliases."""


class Note(models.Model):
    """A text of a project, byte for byte. `deleted_at` says that it is in the trash."""

    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="notes",
        db_index=False,  # the list's index begins with it
    )
    path = models.CharField(max_length=MAX_PATH_LENGTH)
    """As given."""
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    """The path as case-insensitive file systems compare it."""
    name_key = models.CharField(max_length=MAX_KEY_LENGTH)
    """What a link calls it: the key of its name, without `.md`."""
    title = models.CharField(max_length=200)
    text = models.TextField(blank=True)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    """Of the text in UTF-8, in bytes."""
    version = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["project_id", "key", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key"],
                condition=Q(deleted_at__isnull=True),
                name="one_note_per_path",
            ),
        ]
        indexes = [
            models.Index(fields=["project", "name_key"], name="notes_by_name"),
            models.Index(fields=["project", "updated_at"], name="notes_by_change"),
        ]

    def __str__(self) -> str:
        return self.path


class NoteVersion(models.Model):
    """A note as a change left it, and who made the change. Never rewritten."""

    class Action(models.TextChoices):
        CREATE = "create", "Created"
        EDIT = "edit", "Edited"
        MOVE = "move", "Moved"
        DELETE = "delete", "Deleted"
        RESTORE = "restore", "Restored"

    class Source(models.TextChoices):
        PERSON = "person", "Person"
        RUN = "run", "Run"
        FOLDER = "folder", "Folder"
        IMPORT = "import", "Import"

    note = models.ForeignKey(
        Note,
        on_delete=models.CASCADE,
        related_name="versions",
        db_index=False,  # the unique (note, number) serves
    )
    number = models.PositiveIntegerField()
    path = models.CharField(max_length=MAX_PATH_LENGTH)
    body = models.BinaryField()
    """The whole text in UTF-8, compressed by zlib."""
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    action = models.CharField(max_length=16, choices=Action.choices)
    source = models.CharField(max_length=16, choices=Source.choices)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="note_versions",
    )
    """Who did it or asked for it; nobody once they are deleted."""
    run = models.ForeignKey(
        AgentRun, on_delete=models.SET_NULL, null=True, blank=True, related_name="note_versions"
    )
    call_id = models.CharField(max_length=200, blank=True, default="")
    """Of the tool call by which a run did it."""
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering = ["note_id", "number"]
        constraints = [
            models.UniqueConstraint(fields=["note", "number"], name="one_version_per_number"),
        ]

    def __str__(self) -> str:
        return f"{self.path} #{self.number}"


class NoteTag(models.Model):
    """A tag of a note. Of a nested one, `a/b`, the key is found by its beginning too."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="tags")
    tag = models.CharField(max_length=200)
    key = models.CharField(max_length=MAX_NAME_LENGTH)

    class Meta:
        ordering = ["project_id", "key", "note_id"]
        indexes = [models.Index(fields=["project", "key"], name="notes_by_tag")]

    def __str__(self) -> str:
        return f"#{self.tag}"


class NoteAlias(models.Model):
    """Another name that links may use for a note."""

    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    note = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="aliases")
    alias = models.CharField(max_length=200)
    key = models.CharField(max_length=MAX_NAME_LENGTH)

    class Meta:
        ordering = ["project_id", "key", "note_id"]
        indexes = [models.Index(fields=["project", "key"], name="notes_by_alias")]

    def __str__(self) -> str:
        return self.alias


class NoteLink(models.Model):
    """A link as a note has it. An empty target is the note itself."""

    class Kind(models.TextChoices):
        WIKILINK = "wikilink", "Wikilink"
        EMBED = "embed", "Embed"
        MARKDOWN = "markdown", "Markdown link"
        IMAGE = "image", "Markdown image"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, db_index=False)
    source = models.ForeignKey(Note, on_delete=models.CASCADE, related_name="links")
    line = models.PositiveIntegerField()
    kind = models.CharField(max_length=16, choices=Kind.choices)
    name_key = models.CharField(max_length=MAX_KEY_LENGTH)
    """By which it finds its target: the last part of what is written, without `.md`."""
    target = models.CharField(max_length=MAX_PATH_LENGTH)
    fragment = models.CharField(max_length=MAX_PATH_LENGTH, blank=True)
    """A heading, headings joined by `#`, or a block as `^name`."""
    label = models.CharField(max_length=200, blank=True)

    class Meta:
        ordering = ["source_id", "line", "id"]
        indexes = [models.Index(fields=["project", "name_key"], name="links_by_name")]

    def __str__(self) -> str:
        return f"{self.source_id}:{self.line} to {self.target}"


class Attachment(models.Model):
    """A file that is not a note. Its bytes lie in a file that is named by their hash."""

    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="attachments",
        db_index=False,  # the index by name begins with it
    )
    path = models.CharField(max_length=MAX_PATH_LENGTH)
    key = models.CharField(max_length=MAX_KEY_LENGTH)
    name_key = models.CharField(max_length=MAX_KEY_LENGTH)
    sha256 = models.CharField(max_length=64, db_index=True)
    size = models.PositiveBigIntegerField()
    content_type = models.CharField(max_length=100)
    created_at = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ["project_id", "key", "id"]
        constraints = [
            models.UniqueConstraint(
                fields=["project", "key"],
                condition=Q(deleted_at__isnull=True),
                name="one_attachment_per_path",
            ),
        ]
        indexes = [models.Index(fields=["project", "name_key"], name="attachments_by_name")]

    def __str__(self) -> str:
        return self.path


class FolderImport(models.Model):
    """That the folder which held a project's notes before they were rows has been read."""

    project = models.OneToOneField(Project, on_delete=models.CASCADE, primary_key=True)
    finished_at = models.DateTimeField(default=timezone.now)

    def __str__(self) -> str:
        return f"{self.project_id} at {self.finished_at:%Y-%m-%d}"
