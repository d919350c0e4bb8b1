"""What a call that waits would change."""

from typing import Any

import pytest

from agents.approvals import find_note_version, preview_change
from agents.models import NoteVersion, Project
from agents.vault.author import Author
from agents.vault.notes import create_note, delete_note, save_note

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    made = Project.objects.create(name="engine")
    create_note(made.pk, "Pumps.md", "Blue.\n", Author.importer())
    create_note(made.pk, "parts/Index.md", "Mine.\n", Author.importer())
    return made


@pytest.mark.parametrize(
    ("name", "arguments", "number"),
    [
        ("vault_write", {"path": "Pumps.md"}, 1),
        ("vault_write", {"path": "pumps.MD"}, 1),
        ("vault_move", {"old_path": "Pumps.md"}, 1),
        ("vault_write", {"path": "New.md"}, 0),
        ("vault_create_index", {"folder": "parts"}, 1),
        ("vault_create_index", {"folder": ""}, 0),
        ("vault_create_index", {"folder": "../x"}, None),
        ("vault_create_index", {"folder": 7}, None),
        ("thread_push", {"thread": "power"}, None),
        ("vault_write", {"path": 7}, None),
        ("vault_write", {"path": "x" * 9_000}, None),
        ("vault_write", {}, None),
        ("thread_push", {"": "Pumps.md"}, None),
    ],
)
def test_the_version_is_that_of_the_note_which_is_changed(
    project: Project, name: str, arguments: dict[str, Any], number: int | None
) -> None:
    found = find_note_version(project.pk, name, arguments)
    assert (NoteVersion.objects.get(pk=found).number if found else found) == number


def test_another_version_is_another_also_of_another_note_with_the_same_number(
    project: Project,
) -> None:
    write = ("vault_write", {"path": "Pumps.md"})
    found = [find_note_version(project.pk, *write)]
    save_note(project.pk, "Pumps.md", "Red.\n", Author.importer(), expected_version=1)
    found.append(find_note_version(project.pk, *write))
    delete_note(project.pk, "Pumps.md", Author.importer())
    found.append(find_note_version(project.pk, *write))
    create_note(project.pk, "Pumps.md", "Blue.\n", Author.importer())
    found.append(find_note_version(project.pk, *write))
    assert found[2] == 0
    assert len(set(found)) == 4


def test_a_preview_compares_with_the_note_as_it_is(project: Project) -> None:
    change = preview_change(project.pk, "vault_write", {"path": "Pumps.md", "body": "Red.\n"})
    assert change is not None
    assert (change.is_new, change.diff.added, change.diff.removed) == (False, 1, 1)


def test_the_title_is_part_of_what_is_written(project: Project) -> None:
    arguments = {"path": "New.md", "body": "Red.\n", "title": "Pumps"}
    change = preview_change(project.pk, "vault_write", arguments)
    assert change is not None
    assert change.is_new
    words = "".join(part.text for line in change.diff.lines for part in line.parts)
    assert "title: Pumps" in words


@pytest.mark.parametrize("arguments", [{}, {"path": "a.md", "body": 7}, {"path": 3, "body": "x"}])
def test_what_is_no_note_has_no_preview(project: Project, arguments: dict[str, Any]) -> None:
    assert preview_change(project.pk, "vault_write", arguments) is None
    assert preview_change(project.pk, "thread_push", {"path": "Pumps.md", "body": "x"}) is None
