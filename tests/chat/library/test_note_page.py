"""What a page shows of a note and of what belongs to it."""

import pytest

from agents.models import Project
from chat.library import note_page
from tests.chat.library.conftest import Show
from tests.support.notes import add_note


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
