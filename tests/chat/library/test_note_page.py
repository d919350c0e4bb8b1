"""What a page shows of a note and of what belongs to it."""

import pytest

from agents.models import Project
from agents.vault.links import LinkResolver, LinkTarget
from chat.library import note_links, note_page
from chat.library.note_page import NotePage
from tests.chat.library.conftest import Show
from tests.support.line_counts import count_lines
from tests.support.notes import add_note, add_notes


def test_properties_are_a_table_with_links(show: Show) -> None:
    page = show("---\ntags: [sea, a/b]\nsee: '[[x]]'\nempty:\n---\ntext")
    assert [found.name for found in page.properties] == ["tags", "see"]
    assert [">#sea</a>" in value for value in page.properties[0].values] == [True, False]
    assert "missing" in page.properties[1].values[0]
    assert page.blocks == ["<p>text</p>\n"]


def test_headings_lead_to_their_place(show: Show) -> None:
    page = show("Words.\n\n# One *two*\n\n### Three\n")
    assert [(h.level, h.text, h.href) for h in page.headings] == [
        (3, "One two", "#h-one-two"),
        (4, "Three", "#h-three"),
    ]


def test_a_heading_that_is_the_title_is_not_shown_twice(show: Show) -> None:
    page = show("# Title & all\n\nWords.\n")
    assert (page.title_anchor, page.blocks) == ("h-title-all", ["<p>Words.</p>\n"])
    assert page.headings == []
    assert show("---\ntitle: Other\n---\n# Title\n").title_anchor == ""
    assert show("## Deep\n", block=5).blocks == []


def test_no_level_is_skipped_below_a_title_that_is_not_shown(show: Show) -> None:
    page = show("# Title\n\n#### Deep\n\n## Less\n")
    assert [html[:3] for html in page.blocks] == ["<h3", "<h3"]
    assert [found.level for found in page.headings] == [5, 3]


def test_in_a_long_note_an_anchor_leads_to_its_page(
    show: Show, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_page, "PAGE_CHARS", 40)
    text = "".join(f"# Head {number}\n\nText {number}.\n\n" for number in range(10))
    page = show(text, anchor="h-head-7")
    assert page.headings[6].href == "?at=h-head-7#h-head-7"
    assert any('id="h-head-7"' in html for html in page.blocks)
    assert len(page.blocks) < 5
    assert show(text, anchor="h-nothing").blocks == show(text).blocks
    assert show(text, anchor='"><script>').blocks == show(text).blocks


def test_links_to_nothing_are_listed_with_where_they_would_lead(show: Show) -> None:
    page = show("[[New]] [[New]] [[a/Other]] [[x.png]] [[Up|y]]", path="plan/x.md")
    assert [(link.target, link.path) for link in page.missing] == [
        ("New", "plan/New.md"),
        ("a/Other", "a/Other.md"),
        ("x.png", ""),
        ("Up", "plan/Up.md"),
    ]


def test_a_link_is_no_longer_missing_once_there_is_the_note(show: Show, project: Project) -> None:
    assert "missing" in show("[[New]]").blocks[0]
    add_note(project, "New.md", "x")
    assert "missing" not in show("[[New]]").blocks[0]


def test_what_is_shown_inside_is_what_it_says_now(show: Show, project: Project) -> None:
    add_note(project, "In.md", "before [[Later]]")
    assert "before" in show("![[In]]").blocks[0]
    add_note(project, "Later.md", "x")
    assert "missing" not in show("![[In]]").blocks[0]


def test_text_files_are_shown_as_they_are(show: Show) -> None:
    assert show("*a*\n# b", path="x.txt").blocks == ['<p class="plain">*a*\n# b</p>\n']


def test_cards_of_a_canvas_are_shown(show: Show) -> None:
    page = show('{"nodes": [{"type": "text", "text": "**Card**"}]}', path="x.canvas")
    assert "<strong>Card</strong>" in "".join(page.blocks)


# -- more than one page resolves ------------------------------------------------------------------


def read_html(page: NotePage) -> str:
    return "".join(page.blocks)


def test_of_many_embeds_the_first_are_resolved_and_the_rest_is_text(
    show: Show, project: Project
) -> None:
    add_note(project, "x.md")
    page = show(f"{'![[x]] ' * 150}\n\n" * 2)
    assert read_html(page).count('class="wikilink"') == 200
    assert read_html(page).count("![[x]]") == 100
    assert page.remarks == ["There are more than 200 embeds: the rest are text."]
    assert show(f"{'![[x]] ' * 100}\n\n" * 2).remarks == []


def test_sixty_thousand_embeds_of_itself_are_resolved_a_few_times(
    show: Show, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    resolved = []
    resolve = LinkResolver.resolve

    def count(self: LinkResolver, *link: str) -> LinkTarget | None:
        resolved.append(link)
        return resolve(self, *link)

    monkeypatch.setattr(LinkResolver, "resolve", count)
    text = "![[x]]\n\n" * 60_000
    add_note(project, "x.md", text)
    page = show(text)
    assert page.remarks == [
        "There are more than 200 embeds: the rest are text.",
        "Not all notes are shown inside this one (at most 20, together 2 MB): the rest are links.",
        "This note has more Markdown than one page shows: its end is plain text.",
    ]
    assert len(resolved) < 10


def test_of_many_tags_the_first_are_links_and_the_rest_is_text(show: Show) -> None:
    page = show("".join(f"#tag{number} " for number in range(1_200)))
    assert read_html(page).count('class="tag"') == 1_000
    assert "#tag1199" in read_html(page)
    assert page.remarks == ["There are more than 1,000 tags: the rest are text."]


def test_of_many_properties_the_first_are_listed(show: Show) -> None:
    lines = "".join(f"p{number}: '[[x]]'\n" for number in range(1_100))
    page = show(f"---\n{lines}---\n{'#a ' * 1_001}")
    assert [len(page.properties), page.properties[-1].name] == [1_000, "p999"]
    assert page.remarks == [
        "There are more than 1,000 tags: the rest are text.",
        "Only the first 1,000 properties are listed. All of them are under Lines.",
    ]


def test_a_list_of_properties_that_is_dear_to_show_is_shown_as_it_is_written(show: Show) -> None:
    values = ", ".join(f"'{'[' * 200}<b>{number}'" for number in range(100))
    (listed,) = show(f"---\nmany: [{values}]\n---\n").properties
    assert len(listed.values) == 100
    assert listed.values[-1] == f"{'[' * 200}&lt;b&gt;99"


def test_of_many_different_links_the_first_are_resolved(
    show: Show, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_links, "MAX_LINKS", 3)
    add_note(project, "a.md")
    page = show("[[a]] [[b]] [[c]] [[a]] [[d]] [e](a.md) ![f](a.png)")
    assert read_html(page).count('class="wikilink"') == 2
    assert "[[d]] <a" in read_html(page)
    assert 'href="#"' not in read_html(page)
    assert [link.target for link in page.missing] == ["b", "c"]
    assert page.remarks == ["There are more than 3 links: the rest are text."]


def test_a_note_that_shows_itself_counts_its_links_once(show: Show, project: Project) -> None:
    there = {f"there{number}": "" for number in range(30)}
    add_notes(project, **there)
    add_note(project, "other.md", " ".join(f"[[{name}]]" for name in there))
    links = " ".join(f"[[gone{number}]]" for number in range(1_100))
    text = f"![[itself]]\n\n![[other]]\n\n{links}\n"
    add_note(project, "itself.md", text)
    page = show(text, path="itself.md")
    assert [f"?path={name}.md" in read_html(page) for name in there] == [False] * 30
    assert [f"/{name}.md" in read_html(page) for name in there] == [True] * 30
    assert page.remarks == []


def test_a_note_that_shows_itself_is_parsed_once(show: Show, project: Project) -> None:
    text = "![[itself]]\n\n" + "[[gone]] words\n" * 2_000

    def measure() -> int:
        show(text, path="itself.md")  # fills the caches
        return count_lines(lambda: show(text, path="itself.md"))

    without = measure()
    add_note(project, "itself.md", text)
    assert "wikilink" in read_html(show(text, path="itself.md"))
    assert measure() < 1.5 * without


def test_an_unsaved_note_that_shows_itself_shows_what_is_saved(
    show: Show, project: Project
) -> None:
    add_note(project, "itself.md", "Saved words.")
    page = show("![[itself]]\n\nNew words.\n", path="itself.md")
    assert "Saved words." in read_html(page)


def test_a_page_without_all_notes_inside_names_both_bounds(show: Show, project: Project) -> None:
    add_note(project, "people.md", "Short words.")
    for name in ("long", "longer"):
        add_note(project, f"{name}.md", f"{name} words.\n" + "word " * 250_000)
    page = show("![[long]]\n\n![[longer]]\n\n![[people]]\n")
    assert "long words." in read_html(page)
    assert "longer words." not in read_html(page)
    assert page.remarks == [
        "Not all notes are shown inside this one (at most 20, together 2 MB): the rest are links."
    ]


def test_notes_that_are_too_long_to_be_read_for_another_are_linked(
    show: Show, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(note_links, "MAX_SHOWN_BYTES", 100)
    add_note(project, "short.md", "Short words.")
    add_note(project, "long.md", "Long words. " * 10)
    page = show("![[short]]\n\n![[long]]\n")
    assert "Short words." in read_html(page)
    assert "Long words." not in read_html(page)
    assert len(page.remarks) == 1


def test_many_notes_of_one_name_are_hardly_more_work_than_a_few(
    show: Show, project: Project
) -> None:
    links = "".join(f"[[x#{number}]]\n\n" for number in range(300))

    def measure() -> int:
        show(links, path="y.md")  # caches of the parser, and of the text
        return count_lines(lambda: show(links, path="y.md"))

    add_notes(project, **{f"{number}/x": "" for number in range(100)})
    few = measure()
    add_notes(project, **{f"more {number}/x": "" for number in range(100)})
    assert measure() < 1.5 * few
