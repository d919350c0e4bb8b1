"""A project's code: a read-only mirror of folders and checkouts, with the names defined in it.

Files are known by the hash that git gives their content, so that reading a folder again looks at
what has changed alone.
"""

from django.conf import settings
from django.db import models
from django.utils import timezone

from agents.models.projects import Project
from agents.models.vault import MAX_PATH_LENGTH

MAX_SYMBOL_LENGTH = 200
MAX_SIGNATURE_LENGTH = 400


class CodeCheckout(models.Model):
    """A folder or checkout that was read into a folder of the project's code; empty is the root."""

    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="checkouts",
        db_index=False,  # the unique (project, folder) serves
    )
    folder = models.CharField(max_length=MAX_PATH_LENGTH, blank=True)
    origin = models.CharField(max_length=200, blank=True)
    """The name of what was read; never a path of the machine it was read on."""
    commit = models.CharField(max_length=64, blank=True)
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    started_at = models.DateTimeField(default=timezone.now)
    finished_at = models.DateTimeField(null=True, blank=True)
    report = models.JSONField(default=dict, blank=True)

    class Meta:
        ordering = ["project_id", "folder"]
        constraints = [
            models.UniqueConstraint(fields=["project", "folder"], name="one_checkout_per_folder"),
        ]

    def __str__(self) -> str:
        return self.folder or self.origin


class CodeFile(models.Model):
    """A file of code as it was read."""

    class Reading(models.TextChoices):
        PARSED = "parsed", "Definitions and words"
        WORDS = "words", "Words only"
        LISTED = "listed", "Name only"

    project = models.ForeignKey(
        Project,
        on_delete=models.CASCADE,
        related_name="code_files",
        db_index=False,  # the unique (project, path) serves
    )
    path = models.CharField(max_length=MAX_PATH_LENGTH)
    blob_hash = models.CharField(max_length=40, blank=True)
    """What `git hash-object` says of it; "" of what is only listed by its name and size."""
    size = models.PositiveBigIntegerField()
    line_count = models.PositiveIntegerField(default=0)
    language = models.CharField(max_length=20, blank=True)
    reading = models.CharField(max_length=16, choices=Reading.choices)
    reading_note = models.CharField(max_length=200, blank=True)
    """Why it was not parsed."""
    parser_version = models.PositiveIntegerField(default=0)
    """Of what parsed it: another version parses it again."""
    references = models.JSONField(default=dict, blank=True)
    """The lines on which each name is used, by the name and what stands before it."""
    imports = models.JSONField(default=list, blank=True)
    """Of each import: what it names, what each name here is called there, and its line."""
    updated_at = models.DateTimeField(default=timezone.now)
    text = models.TextField(blank=True)
    """The last column: who asks for the others need not read past it."""

    class Meta:
        ordering = ["project_id", "path"]
        constraints = [
            models.UniqueConstraint(fields=["project", "path"], name="one_code_file_per_path"),
        ]

    def __str__(self) -> str:
        return self.path

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


class CodeSymbol(models.Model):
    """A name that a file defines."""

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    file = models.ForeignKey(CodeFile, on_delete=models.CASCADE, related_name="symbols")
    name = models.CharField(max_length=MAX_SYMBOL_LENGTH)
    container = models.CharField(max_length=MAX_SYMBOL_LENGTH, blank=True)
    """What it is defined in, such as a class, by its dotted name."""
    kind = models.CharField(max_length=16)
    line = models.PositiveIntegerField()
    end_line = models.PositiveIntegerField()
    signature = models.CharField(max_length=MAX_SIGNATURE_LENGTH, blank=True)

    class Meta:
        ordering = ["file_id", "line", "id"]
        indexes = [models.Index(fields=["project", "name"], name="symbols_by_name")]

    def __str__(self) -> str:
        return f"{self.name} in {self.file_id}:{self.line}"
