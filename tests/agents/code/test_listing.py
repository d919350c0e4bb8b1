"""Folders of code, level by level."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.code.listing import files_below, files_in, find_code_file, has_code, list_folders
from agents.models import CodeFile, Project

PATHS = ("a/b/c.py", "a/b/d.py", "a/e.py", "a0.py", "a-b/x.py", "A/y.py", "z.py", "%/q.py")


@pytest.fixture
def filled(project: Project) -> Project:
    CodeFile.objects.bulk_create(
        CodeFile(project=project, path=path, blob_hash="0" * 40, size=0, reading="listed")
        for path in PATHS
    )
    return project


def paths(files: object) -> list[str]:
    return [file.path for file in files]  # type: ignore[attr-defined]


def test_folders_come_with_how_many_files_are_below(filled: Project) -> None:
    top = {folder.path: folder.file_count for folder in list_folders(filled.pk, "")}
    assert top == {"a": 3, "a-b": 1, "A": 1, "%": 1}
    assert [(each.path, each.name) for each in list_folders(filled.pk, "a")] == [("a/b", "b")]
    assert list_folders(filled.pk, "a/b") == []
    assert list_folders(filled.pk, "nowhere") == []


def test_files_are_those_directly_in_a_folder(filled: Project) -> None:
    assert paths(files_in(filled.pk, "")) == ["a0.py", "z.py"]
    assert paths(files_in(filled.pk, "a")) == ["a/e.py"]
    assert paths(files_in(filled.pk, "A")) == ["A/y.py"]
    assert paths(files_in(filled.pk, "%")) == ["%/q.py"]
    assert sorted(paths(files_below(filled.pk, "a"))) == ["a/b/c.py", "a/b/d.py", "a/e.py"]


def test_a_folder_is_a_range_of_the_index_on_sqlite(filled: Project) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("PostgreSQL has its own way")
    with CaptureQueriesContext(connection) as queries:
        list_folders(filled.pk, "a")
    sql = queries.captured_queries[0]["sql"]
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql}")
        plan = " ".join(row[-1] for row in cursor.fetchall())
    assert "project_id=? AND path>? AND path<?" in plan


def test_a_path_that_no_database_takes_is_not_there(filled: Project) -> None:
    assert find_code_file(filled.pk, "a\0b") is None
    assert has_code(filled.pk)
