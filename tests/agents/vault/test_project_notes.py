"""Notes as the tools of a run use them: nothing is overwritten that was not read as it is."""

import pytest
from django.contrib.auth.models import User

from agents.models import Membership, Note, NoteVersion, Project
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.errors import NoteExists, NoteRefused, NoteUnavailable, VaultRefused
from agents.vault.project_notes import ProjectNotes


@pytest.fixture
def vault(project: Project, author: Author) -> ProjectNotes:
    Membership.objects.create(project=project, user=User.objects.get(username="ada"))
    return ProjectNotes(project.pk, author)


def text(project: Project, path: str) -> str:
    return notes.get_note(project.pk, path).text


def test_a_new_note_is_written_with_its_title(vault: ProjectNotes, project: Project) -> None:
    written = vault.write("a/b.md", "One\nTwo\n", title="Kites: a list")
    assert (written.path, written.is_new, written.added) == ("a/b.md", True, 5)
    assert text(project, "a/b.md") == '---\ntitle: "Kites: a list"\n---\nOne\nTwo\n'
    assert notes.get_note(project.pk, "a/b.md").title == "Kites: a list"


def test_a_note_that_was_not_read_is_not_replaced(
    vault: ProjectNotes, project: Project, author: Author
) -> None:
    notes.create_note(project.pk, "a.md", "old", author)
    with pytest.raises(NoteRefused, match="read it with vault_read first"):
        vault.write("A.md", "new")
    vault.read("a.md")
    assert vault.write("A.md", "new").version == 2
    assert vault.write("a.md", "newer").version == 3  # what it wrote itself it knows
    assert text(project, "a.md") == "newer"


def test_a_note_that_changed_since_it_was_read_is_not_replaced_and_the_change_is_told(
    vault: ProjectNotes, project: Project, author: Author
) -> None:
    notes.create_note(project.pk, "a.md", "one\ntwo\n", author)
    vault.read("a.md")
    notes.save_note(project.pk, "a.md", "one\nTWO\n", author)
    with pytest.raises(NoteRefused, match="changed since it was read") as refused:
        vault.write("a.md", "three")
    assert str(refused.value).endswith("What changed:\n- two\n+ TWO")
    vault.read("a.md")
    assert vault.write("a.md", "three").version == 3


def test_the_same_text_is_no_change(vault: ProjectNotes) -> None:
    vault.write("a.md", "same")
    again = vault.write("a.md", "same")
    assert (again.version, again.added, again.removed) == (1, 0, 0)


def test_without_an_author_notes_can_only_be_read(project: Project) -> None:
    vault = ProjectNotes(project.pk)
    for change in (
        lambda: vault.write("a.md", "x"),
        lambda: vault.move("a.md", "b.md"),
        lambda: vault.create_index("", "All", {}),
    ):
        with pytest.raises(VaultRefused, match="can only be read"):
            change()
    assert not Note.objects.exists()


def test_a_move_takes_links_along_and_what_was_rewritten_must_be_read_again(
    vault: ProjectNotes, project: Project
) -> None:
    vault.write("a.md", "A")
    vault.write("b.md", "See [[a]].")
    moved = vault.move("a.md", "sub/c.md")
    assert (moved.paths, moved.rewritten, moved.link_count) == (("sub/c.md",), ("b.md",), 1)
    assert text(project, "b.md") == "See [[c]]."
    with pytest.raises(NoteRefused, match="read it"):
        vault.write("b.md", "other")


def test_what_is_not_there_cannot_be_moved(vault: ProjectNotes) -> None:
    with pytest.raises(NoteUnavailable):
        vault.move("a.md", "b.md")


def test_an_index_links_to_every_note_with_its_summary(
    vault: ProjectNotes, project: Project
) -> None:
    for path in ("plan/b.md", "plan/sub/c [x].md", "plan/a.md", "else.md"):
        vault.write(path, f"# Note {path.rpartition('/')[2][0]}|")
    written = vault.create_index("plan", "Plans", {"plan/A.md": "What\ncomes first."})
    assert written.path == "plan/Index.md"
    assert text(project, "plan/Index.md") == (
        "---\ntitle: Plans\ngenerated: index\n---\n# Plans\n\n"
        "- [[plan/a|Note a]]: What comes first.\n- [[plan/b|Note b]]\n\n"
        "## sub\n\n- [Note c](<plan/sub/c [x].md>)\n"
    )


def test_an_index_is_made_again_but_a_note_of_that_name_is_kept(
    vault: ProjectNotes, project: Project, author: Author
) -> None:
    vault.write("plan/a.md", "# A")
    vault.create_index("plan", "Plans", {})
    again = ProjectNotes(project.pk, author)
    again.write("plan/b.md", "# B")
    assert again.create_index("plan", "Plans", {}).version == 2
    notes.create_note(project.pk, "own/Index.md", "mine", author)
    notes.create_note(project.pk, "own/a.md", "a", author)
    with pytest.raises(NoteExists, match="not made as an index"):
        again.create_index("own", "Own", {})
    assert text(project, "own/Index.md") == "mine"


def test_an_index_of_nothing_and_summaries_of_no_note_are_refused(vault: ProjectNotes) -> None:
    with pytest.raises(NoteRefused, match="no notes"):
        vault.create_index("plan", "Plans", {})
    vault.write("plan/a.md", "# A")
    with pytest.raises(NoteRefused, match=r"'plan/x\.md'"):
        vault.create_index("plan", "Plans", {"plan/x.md": "?"})


def test_every_change_has_a_version(vault: ProjectNotes) -> None:
    vault.write("a.md", "1")
    vault.write("a.md", "2")
    vault.move("a.md", "b.md")
    actions = NoteVersion.objects.order_by("number").values_list("action", flat=True)
    assert list(actions) == ["create", "edit", "move"]
