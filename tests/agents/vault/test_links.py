"""Where links lead, and from where."""

import pytest

from agents.models import Note, Project
from agents.vault import links, notes
from agents.vault.attachments import add_attachment
from agents.vault.author import Author
from agents.vault.links import (
    MAX_SPELLINGS,
    Backlinks,
    LinkResolver,
    LinkTarget,
    find_backlinks,
    outgoing_links,
    resolve_link,
    unresolved_links,
)
from agents.vault.service import NoteEntry
from tests.support.notes import add_note, add_notes
from tests.support.rows_fetched import count_rows

PATHS = [
    "Plan.md",
    "Work/Plan.md",
    "Work/Deep/Plan.md",
    "Work/Notes.md",
    "Home/Notes.md",
    "Home/Deep/Notes.md",
    "C# and F#.md",
    "a^b|c[d].md",
    "Bu\u0308cher.md",
    "screen\u00adshot.png",
    "pictures/map.png",
    "docs/index.txt",
    "v1.2.md",
    "Same.md",
]
RESOLVER = LinkResolver(
    [LinkTarget("note", number, path) for number, path in enumerate(PATHS)],
    [
        ("roadmap", LinkTarget("note", 0, "Plan.md")),
        ("same", LinkTarget("note", 0, "Plan.md")),
        ("a/b", LinkTarget("note", 12, "v1.2.md")),
    ],
)

RESOLVED: dict[str, tuple[str, str, str, str, str | None]] = {
    "by_name": ("x.md", "wikilink", "v1.2", "", "v1.2.md"),
    "in_another_case": ("x.md", "wikilink", "V1.2", "", "v1.2.md"),
    "with_its_suffix": ("x.md", "wikilink", "v1.2.md", "", "v1.2.md"),
    "shortest_path_first": ("x.md", "wikilink", "Plan", "", "Plan.md"),
    "same_folder_before_that": ("Work/Deep/x.md", "wikilink", "plan", "", "Work/Deep/Plan.md"),
    "by_folder": ("x.md", "wikilink", "Work/Plan", "", "Work/Plan.md"),
    "by_the_last_folders": ("x.md", "wikilink", "Deep/Plan", "", "Work/Deep/Plan.md"),
    "shorter_of_two": ("x.md", "wikilink", "Notes", "", "Home/Notes.md"),
    "from_the_root": ("Work/x.md", "wikilink", "/Plan", "", "Plan.md"),
    "relative": ("Work/x.md", "wikilink", "../Plan", "", "Plan.md"),
    "by_alias": ("x.md", "wikilink", "Roadmap", "", "Plan.md"),
    "alias_with_a_slash": ("x.md", "wikilink", "A/B", "", "v1.2.md"),
    "name_before_alias": ("x.md", "wikilink", "same", "", "Same.md"),
    "heading": ("x.md", "wikilink", "v1.2", "Goals", "v1.2.md"),
    "the_note_itself": ("Work/Plan.md", "wikilink", "", "here", "Work/Plan.md"),
    "name_with_a_hash": ("x.md", "wikilink", "C", " and F#", "C# and F#.md"),
    "name_with_a_hash_in_markdown": ("x.md", "markdown", "C# and F#.md", "", "C# and F#.md"),
    "marks_in_the_name": ("x.md", "markdown", "a^b|c[d].md", "", "a^b|c[d].md"),
    "decomposed_letters": ("x.md", "wikilink", "b\u00fccher", "", "Bu\u0308cher.md"),
    "soft_hyphens": ("x.md", "embed", "screenshot.png", "", "screen\u00adshot.png"),
    "attachment": ("x.md", "embed", "Map.png", "", "pictures/map.png"),
    "other_text": ("x.md", "wikilink", "index.txt", "", "docs/index.txt"),
    "folder": ("x.md", "wikilink", "Work", "", None),
    "folder_with_a_slash": ("x.md", "wikilink", "Work/", "", None),
    "wrong_folder": ("x.md", "wikilink", "Home/Plan", "", None),
    "part_of_a_name": ("x.md", "wikilink", "lan", "", None),
    "nothing": ("x.md", "wikilink", "Nothing", "", None),
    "markdown_relative": ("Work/x.md", "markdown", "Plan.md", "", "Work/Plan.md"),
    "markdown_upwards": ("Work/Deep/x.md", "markdown", "../../Plan.md", "", "Plan.md"),
    "markdown_out_of_the_project": ("x.md", "markdown", "../../../etc/passwd", "", None),
    "markdown_from_the_root": ("Work/x.md", "markdown", "/Plan.md", "", "Plan.md"),
    "markdown_by_name": ("x.md", "markdown", "map.png", "", "pictures/map.png"),
    "markdown_without_suffix": ("Work/x.md", "markdown", "Notes", "", "Work/Notes.md"),
}


@pytest.mark.parametrize(
    ("source", "kind", "target", "fragment", "expected"), RESOLVED.values(), ids=RESOLVED
)
def test_a_link_leads_to(
    source: str, kind: str, target: str, fragment: str, expected: str | None
) -> None:
    found = RESOLVER.resolve(source, kind, target, fragment)
    assert (found.path if found else None) == expected


@pytest.fixture
def plan(project: Project) -> Note:
    return add_note(project, "Plan.md", "---\naliases: [Roadmap]\n---\n[[a]] [[Missing]]\n")


def test_backlinks_are_the_links_of_others(project: Project, plan: Note) -> None:
    add_note(project, "a.md", "x\n[[plan#Goals|it]]")
    add_note(project, "sub/b.md", "[[Roadmap]] and [x](../Plan.md) `[[Plan]]`")
    add_note(project, "sub/Plan.md", "[[Plan]]")
    assert find_backlinks(plan, 10) == Backlinks(
        (NoteEntry("a.md", "a"), NoteEntry("sub/b.md", "b")), 2
    )


def test_each_note_that_links_here_is_counted_once(project: Project, plan: Note) -> None:
    add_notes(project, **{f"n{number:02}": "[[plan]] and [x](Plan.md)" for number in range(12)})
    found = find_backlinks(plan, 3)
    assert [source.path for source in found.sources] == ["n00.md", "n01.md", "n02.md"]
    assert (found.count, found.is_estimate) == (12, False)


def test_no_more_links_are_fetched_of_a_note_that_has_many(project: Project, plan: Note) -> None:
    spellings = "".join(f"[[Plan#{n}]] [[{n}/Plan]] [[plan]]\n" for n in range(300))
    add_note(project, "many.md", spellings)
    with count_rows() as fetched:
        found = find_backlinks(plan, 10)
    assert ([source.path for source in found.sources], found.count) == (["many.md"], 1)
    assert fetched.rows < 2 * MAX_SPELLINGS


def test_where_too_many_links_have_the_name_the_number_is_estimated(
    project: Project, plan: Note, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(links, "MAX_BACKLINK_ROWS", 4)
    add_notes(project, **{f"n{number}": "[[Plan]]" for number in range(4)})
    assert (find_backlinks(plan, 3).count, find_backlinks(plan, 3).is_estimate) == (4, False)
    add_note(project, "n4.md", "[[Plan]] [[plan]]")
    found = find_backlinks(plan, 3)
    assert (len(found.sources), found.count, found.is_estimate) == (3, 5, True)


def test_a_note_of_another_project_is_never_a_target(project: Project, plan: Note) -> None:
    other = Project.objects.create(name="other")
    add_note(other, "x.md", "[[Plan]]")
    assert resolve_link(other.pk, "x.md", "Plan") is None
    assert find_backlinks(plan, 10) == Backlinks()
    assert [link.target for link in unresolved_links(other.pk)] == ["Plan"]


def test_links_of_a_note_say_where_they_lead(project: Project, plan: Note) -> None:
    add_note(project, "A.md")
    add_attachment(project.pk, "p.png", [b"x"])
    note = add_note(project, "n.md", "[[a]] ![[p.png]] [[x]] [[#h]]")
    assert [link.resolved and link.resolved.path for link in outgoing_links(note)] == [
        "A.md", "p.png", None, "n.md",
    ]  # fmt: skip


def test_unresolved_links_are_resolved_when_their_note_comes(
    project: Project, author: Author, plan: Note
) -> None:
    add_note(project, "b.md", "[[missing]]")
    found = unresolved_links(project.pk)
    assert [(link.target, link.sources) for link in found] == [
        ("a", ("Plan.md",)),
        ("missing", ("b.md", "Plan.md")),
    ]
    add_note(project, "deep/Missing.md")
    assert [link.target for link in unresolved_links(project.pk)] == ["a"]
    notes.delete_note(project.pk, "deep/missing.md", author)
    assert [link.target for link in unresolved_links(project.pk)] == ["a", "missing"]


def test_embeds_that_lead_in_a_circle_are_only_links(project: Project) -> None:
    one = add_note(project, "one.md", "![[two]]")
    two = add_note(project, "two.md", "![[one]] ![[two]]")
    assert [source.path for source in find_backlinks(one, 10).sources] == ["two.md"]
    assert [source.path for source in find_backlinks(two, 10).sources] == ["one.md"]
