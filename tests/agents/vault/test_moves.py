"""Moving: afterwards every link leads where it led before."""

import pytest

from agents.models import Note, NoteVersion, Project
from agents.vault import notes
from agents.vault.attachments import add_attachment
from agents.vault.author import Author
from agents.vault.errors import NoteChanged, NoteExists, NoteRefused, NoteUnavailable
from agents.vault.links import find_backlinks, unresolved_links
from agents.vault.moves import move, move_attachment, move_folder, move_note
from agents.vault.note_writer import NoteChange, write_changes
from tests.support.notes import add_note, add_notes


def read(project: Project, path: str) -> str:
    return notes.get_note(project.pk, path).text


REWRITTEN: dict[str, tuple[str, str]] = {
    "name": ("[[Old]]", "[[New]]"),
    "label_and_heading": ("[[old#A b|c]] [[Old|d]]", "[[New#A b|c]] [[New|d]]"),
    "block_and_embed": ("![[Old#^x1]]", "![[New#^x1]]"),
    "escaped_bar": ("| [[Old\\|x]] |", "| [[New\\|x]] |"),
    "with_its_suffix": ("[[Old.md]]", "[[New.md]]"),
    "whole_path": ("[[sub/Old]]", "[[dir/New]]"),
    "markdown": ("[x](sub/Old.md#h)", "[x](dir/New.md#h)"),
    "markdown_with_a_title": ('[x](sub/Old.md "t")', '[x](dir/New.md "t")'),
    "markdown_in_angle_brackets": ("[x](<sub/Old.md#a b>)", "[x](<dir/New.md#a b>)"),
    "markdown_with_a_dot": ("[x](./sub/Old.md)", "[x](./dir/New.md)"),
    "markdown_from_the_root": ("[x](/sub/Old.md)", "[x](/dir/New.md)"),
    "markdown_without_suffix": ("[x](sub/Old)", "[x](dir/New)"),
    "markdown_by_name": ("[x](Old.md)", "[x](New.md)"),
    "definition": ("[x][r]\n\n[r]: sub/Old.md#h", "[x][r]\n\n[r]: dir/New.md#h"),
    "definition_with_a_title": ('[r]:  <sub/Old.md> "t" ', '[r]:  <dir/New.md> "t" '),
    "frontmatter": ('---\nup: "[[Old]]"\n---\n', '---\nup: "[[New]]"\n---\n'),
    "line_ends_and_mark": ("\ufeffa\r\n[[Old]]\r\n", "\ufeffa\r\n[[New]]\r\n"),
    "code_is_left_alone": ("`[[Old]]`\n```\n[[Old]]\n```", "`[[Old]]`\n```\n[[Old]]\n```"),
    "picture_that_is_a_link": ("[![a](sub/Old.md)](sub/Old.md)", "[![a](dir/New.md)](dir/New.md)"),
    "alias_is_left_alone": ("[[Other name]]", "[[Other name]]"),
    "others_are_left_alone": ("[[Older]] [[x]]", "[[Older]] [[x]]"),
}  # fmt: skip


@pytest.mark.parametrize(("before", "after"), REWRITTEN.values(), ids=REWRITTEN)
def test_links_to_a_moved_note_are_rewritten_in_their_style(
    project: Project, author: Author, before: str, after: str
) -> None:
    add_note(project, "sub/Old.md", "---\naliases: [Other name]\n---\n")
    add_note(project, "from.md", before)
    move_note(project.pk, "sub/old.md", "dir/New.md", author)
    assert read(project, "from.md") == after


def test_a_name_that_is_not_unique_gets_as_much_of_its_path_as_it_needs(
    project: Project, author: Author
) -> None:
    add_note(project, "Old.md")
    add_note(project, "a/New.md")
    add_note(project, "b/c/x.md", "[[Old]]")
    add_note(project, "y.md", "[[New]]")
    move_note(project.pk, "Old.md", "b/New.md", author)
    assert read(project, "b/c/x.md") == "[[b/New]]"
    assert read(project, "y.md") == "[[New]]"


def test_links_to_others_are_qualified_where_the_new_name_takes_theirs(
    project: Project, author: Author
) -> None:
    add_note(project, "deep/down/Plan.md")
    add_note(project, "a.md", "[[Plan]] [[Old]]")
    add_note(project, "Old.md")
    move_note(project.pk, "Old.md", "Plan.md", author)
    assert read(project, "a.md") == "[[down/Plan]] [[Plan]]"


def test_links_of_the_moved_note_are_rewritten_too(project: Project, author: Author) -> None:
    add_note(project, "a/x.md")
    add_note(project, "a/y.md", "[[x]]\n[r](x.md) [[y]] [[#here]] [s](../z.md)")
    add_note(project, "z.md")
    add_note(project, "b/x.md")
    report = move_note(project.pk, "a/y.md", "b/c/w.md", author)
    assert read(project, "b/c/w.md") == ("[[x]]\n[r](../../a/x.md) [[w]] [[#here]] [s](../../z.md)")
    assert report.link_count == 3


def test_a_name_that_wikilinks_cannot_write_is_linked_by_markdown(
    project: Project, author: Author
) -> None:
    add_note(project, "Old.md")
    add_note(project, "a.md", "[[Old#h|x]] ![[Old]] [[Old]]")
    move_note(project.pk, "Old.md", "C# [draft].md", author)
    assert read(project, "a.md") == (
        "[x](C%23%20[draft].md#h) ![Old](C%23%20[draft].md) [Old](C%23%20[draft].md)"
    )
    move_note(project.pk, "C# [draft].md", "D.md", author)
    assert read(project, "a.md") == "[x](D.md#h) ![Old](D.md) [Old](D.md)"


def test_cards_of_a_canvas_follow(project: Project, author: Author) -> None:
    add_note(project, "sub/Old.md")
    text = '{"nodes":[{"type":"file", "file":"sub/Old.md"},{"type":"text","text":"[[x]]"}]}'
    change = NoteChange(Note(project=project), "b.canvas", text, NoteVersion.Action.CREATE)
    write_changes(project.pk, [change], author)
    move_note(project.pk, "sub/Old.md", 'dir/"New".md', author)
    assert '"file":"dir/\\"New\\".md"}' in read(project, "b.canvas")


def test_every_rewritten_note_has_a_version_by_the_same_author(
    project: Project, author: Author
) -> None:
    add_note(project, "Old.md")
    add_note(project, "a.md", "[[Old]]")
    add_note(project, "b.md", "[[x]]")
    report = move_note(project.pk, "Old.md", "New.md", author)
    assert (report.paths, report.rewritten, report.link_count) == (("New.md",), ("a.md",), 1)
    made = NoteVersion.objects.filter(user=author.user_id).order_by("path")
    assert [(v.path, v.number, v.action) for v in made] == [
        ("New.md", 2, "move"),
        ("a.md", 2, "edit"),
    ]


def test_a_move_over_something_is_refused_and_changes_nothing(
    project: Project, author: Author
) -> None:
    add_notes(project, Old="", New="", a="[[Old]]")
    add_attachment(project.pk, "p.md", [b"\xff"])
    for path in ("new.md", "p.md"):
        with pytest.raises(NoteExists):
            move_note(project.pk, "Old.md", path, author)
    for path in ("../x.md", "x.txt", "con.md"):
        with pytest.raises(NoteRefused):
            move_note(project.pk, "Old.md", path, author)
    with pytest.raises(NoteUnavailable):
        move_note(project.pk, "none.md", "x.md", author)
    with pytest.raises(NoteChanged):
        move_note(project.pk, "Old.md", "x.md", author, expected_version=7)
    assert NoteVersion.objects.filter(number__gt=1).count() == 0


def test_only_the_case_of_a_name_can_be_changed(project: Project, author: Author) -> None:
    add_notes(project, plan="", a="[[plan]]")
    move_note(project.pk, "plan.md", "Plan.md", author)
    assert notes.get_note(project.pk, "plan.md").path == "Plan.md"
    assert read(project, "a.md") == "[[plan]]"


def test_attachments_and_folders_move_with_their_links(project: Project, author: Author) -> None:
    add_attachment(project.pk, "in/p.png", [b"x"])
    add_note(project, "in/sub/b.md", "[up](../a.md) ![[p.png]]")
    add_note(project, "in/a.md", "![x](p.png) [[sub/b]]")
    add_note(project, "c.md", "![[in/p.png|100]] [[in/sub/b|b]]")
    move_attachment(project.pk, "in/p.png", "pics/q r.png", author)
    assert read(project, "in/a.md") == "![x](../pics/q%20r.png) [[sub/b]]"
    assert read(project, "c.md") == "![[pics/q r.png|100]] [[in/sub/b|b]]"
    assert move(project.pk, "in", "out/of", author).link_count == 2
    assert read(project, "out/of/a.md") == "![x](../../pics/q%20r.png) [[sub/b]]"
    assert read(project, "out/of/sub/b.md") == "[up](../a.md) ![[q r.png]]"
    assert read(project, "c.md") == "![[pics/q r.png|100]] [[out/of/sub/b|b]]"
    assert unresolved_links(project.pk) == []
    with pytest.raises(NoteRefused):
        move_folder(project.pk, "out", "out/in", author)
    with pytest.raises(NoteUnavailable):
        move_folder(project.pk, "nowhere", "x", author)


def check_many(project: Project, author: Author, count: int) -> None:
    add_note(project, "hub/Old.md", "# Old")
    forms = ("[[Old]]", "[[hub/Old|x]]", "[y](hub/Old.md#z)", "![[old#h]]", "`[[Old]]` [[Old]]")
    add_notes(project, **{f"n{n}": forms[n % len(forms)] for n in range(count)})
    report = move_note(project.pk, "hub/Old.md", "other/New name.md", author)
    assert len(report.rewritten) == report.link_count == count
    assert find_backlinks(notes.get_note(project.pk, "other/New name.md"), 10).count == count
    assert [link.target for link in unresolved_links(project.pk)] == []


def test_no_link_is_broken(project: Project, author: Author) -> None:
    check_many(project, author, 20)


@pytest.mark.ci
def test_no_link_of_a_thousand_is_broken(project: Project, author: Author) -> None:
    check_many(project, author, 1_000)
