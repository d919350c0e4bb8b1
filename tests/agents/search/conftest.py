"""A project to index and search in."""

from collections.abc import Callable

import pytest
from django.db import connection

from agents.models import Project
from agents.search.index import SearchableText, index_documents

IndexNotes = Callable[..., None]


@pytest.fixture
def project(db: None) -> Project:
    return Project.objects.create(name="Harbour")


@pytest.fixture
def index_notes(project: Project) -> IndexNotes:
    """Index texts by their paths; the first one is note 1."""

    def index(**texts: str) -> None:
        index_documents(
            project.id,
            [
                SearchableText("note", number, f"{name}.md", name, text=text)
                for number, (name, text) in enumerate(texts.items(), 1)
            ],
        )

    return index


def check_integrity() -> None:
    """Raise if what FTS5 holds is not what the rows hold."""
    if connection.vendor == "sqlite":
        with connection.cursor() as cursor:
            for table in ("agents_searchdocument_fts", "agents_searchsection_fts"):
                cursor.execute(f"INSERT INTO {table}({table}, rank) VALUES ('integrity-check', 1)")  # noqa: S608  # our own names
