"""What search looks through: analysed texts of whole documents and of their sections.

A document is named by its kind and the id of what it was made from, never by a foreign key, so
notes, threads and code share one index. The `*_terms` columns hold what `agents.search.analysis`
made of the text, with a space before and after every term. FTS5 tables on SQLite and a `tsv`
column on PostgreSQL stand beside these tables; the migration makes them.
"""

from django.db import models

from agents.models.projects import Project


class AnalysedText(models.Model):
    """The columns that both tables are searched by. `scope` names the project and the kind."""

    scope = models.CharField(max_length=64)
    title_terms = models.TextField(blank=True)
    heading_terms = models.TextField(blank=True)
    extra_terms = models.TextField(blank=True)
    body_terms = models.TextField(blank=True)
    length = models.PositiveIntegerField()

    class Meta:
        abstract = True


class SearchDocument(AnalysedText):
    """A whole note, or another text, in the index of its project."""

    class Kind(models.TextChoices):
        NOTE = "note", "Note"
        THREAD = "thread", "Thread"
        CODE = "code", "Code"

    id = models.BigAutoField(primary_key=True)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    kind = models.CharField(max_length=16, choices=Kind.choices)
    source_id = models.BigIntegerField()
    path = models.TextField()
    title = models.TextField(blank=True)
    is_template = models.BooleanField(default=False)
    section_count = models.PositiveIntegerField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["project", "kind", "source_id"], name="one_search_document_per_source"
            ),
        ]
        indexes = [
            models.Index(fields=["scope", "length", "section_count"], name="search_document_sizes"),
        ]

    def __str__(self) -> str:
        return self.path


class SearchSection(AnalysedText):
    """A part of a document under one heading; `heading_path` has a heading on each line."""

    id = models.BigAutoField(primary_key=True)
    document = models.ForeignKey(SearchDocument, on_delete=models.CASCADE, related_name="sections")
    heading_path = models.TextField(blank=True)
    first_line = models.PositiveIntegerField()
    last_line = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.heading_path or 'beginning'} in {self.document}"
