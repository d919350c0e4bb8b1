"""The text of notes as HTML: what Obsidian has besides Markdown, and what nobody may put there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.models import Project
from agents.vault.attachments import add_attachment
from chat.library.note_rendering import remove_comments
from tests.chat.library.conftest import Show
from tests.support.dom import Dom
from tests.support.hostile import COLLECTIONS, OURS
from tests.support.notes import add_note

LIBRARY = "/library/project-of-ada"
REL = ' rel="noopener noreferrer nofollow"'


@pytest.fixture(autouse=True)
def vault(project: Project) -> None:
    add_note(project, "Harbour.md", "---\na: b\n---\n# Harbour\n\n![[x]]\n\n## Deep\n\nBlue. ^b1\n")
    add_note(project, "x.md", "![[Harbour]]")
    add_attachment(project.pk, "img/pic.png", [b"x"])
    add_attachment(project.pk, "plan.pdf", [b"x"])


@pytest.mark.parametrize(
    ("text", "href", "label"),
    [
        ("[[Harbour]]", "/notes/Harbour.md", "Harbour"),
        ("[[harbour|the port]]", "/notes/Harbour.md", "the port"),
        ("[[Harbour#Deep]]", "/notes/Harbour.md?at=h-deep#h-deep", "Harbour &gt; Deep"),
        ("[[Harbour#Harbour#Deep]]", "/notes/Harbour.md?at=h-deep#h-deep", None),
        ("[[Harbour#^b1]]", "/notes/Harbour.md?at=b-b1#b-b1", "Harbour &gt; b1"),
        ("[port](Harbour.md)", "/notes/Harbour.md", "port"),
        ("[port](<Harbour.md#Deep>)", "/notes/Harbour.md?at=h-deep#h-deep", "port"),
        ("[[plan.pdf]]", "/files/plan.pdf", "plan.pdf"),
        ("![[plan.pdf]]", "/files/plan.pdf", "plan.pdf"),
        ("[[Nothing]]", "/new/?path=Nothing.md", "Nothing"),
        ("#water/deep", "/tags/?tag=water%2Fdeep", "#water/deep"),
    ],
)
def test_links_lead_to_pages_of_the_library(
    show: Show, text: str, href: str, label: str | None
) -> None:
    (html,) = show(text).blocks
    assert f'href="{LIBRARY}{href}"' in html
    assert label is None or f">{label}</a>" in html


def test_links_by_reference_lead_where_their_label_is_defined(show: Show) -> None:
    text = "[port][p], [p], ![img][i] and [out][o]\n\n[p]: Harbour.md#Deep\n[i]: img/pic.png\n"
    html = "".join(show(f"{text}[o]: https://example.org\n[bad]: javascript:alert(1)\n").blocks)
    assert html.count(f'href="{LIBRARY}/notes/Harbour.md?at=h-deep#h-deep"') == 2
    assert f'src="{LIBRARY}/files/img/pic.png"' in html
    assert 'href="https://example.org"' in html
    assert "]: Harbour" not in html
    assert "[bad]: javascript:alert(1)" in html  # what is no link stays as it is written


@pytest.mark.parametrize("text", ["`[[Harbour]]`", "\\[[Harbour]]", "    [[Harbour]]", "[[ ]]"])
def test_what_is_no_link_stays_text(show: Show, text: str) -> None:
    assert "<a" not in "".join(show(text).blocks)


def test_a_reader_is_not_offered_to_make_what_is_missing(show: Show) -> None:
    (html,) = show("[[Nothing]]", can_write=False).blocks
    assert html.strip() == '<p><span class="missing">Nothing</span></p>'


@pytest.mark.parametrize(
    ("text", "attributes"),
    [
        ("![[pic.png]]", 'alt="pic.png" loading="lazy"'),
        ("![[pic.png|300]]", 'alt="pic.png" loading="lazy" width="300"'),
        ("![[pic.png|Quay|300x200]]", 'alt="Quay" loading="lazy" width="300" height="200"'),
        ("![Quay](img/pic.png)", 'alt="Quay" loading="lazy"'),
        ("![Quay|50](img/pic.png)", 'alt="Quay" loading="lazy" width="50"'),
    ],
)
def test_pictures_are_shown_with_their_size(show: Show, text: str, attributes: str) -> None:
    (html,) = show(text).blocks
    assert html.strip() == f'<p><img src="{LIBRARY}/files/img/pic.png" {attributes}></p>'


@pytest.mark.parametrize("text", ["![x](https://e.example/p.png)", "![x](//e.example/p.png)"])
def test_a_picture_of_another_site_is_only_linked(show: Show, text: str) -> None:
    (html,) = show(text).blocks
    assert "<img" not in html
    assert "e.example" in html


def test_a_note_is_shown_inside_another_one_level_deep(show: Show) -> None:
    (html,) = show("![[Harbour]]").blocks
    assert html.count('<aside class="embed">') == 1
    assert "Blue." in html
    assert "a: b" not in html
    assert f'href="{LIBRARY}/notes/x.md"' in html


@pytest.mark.parametrize("fragment", ["Deep", "^b1", "Harbour#Deep"])
def test_a_part_of_a_note_is_shown_inside_another(show: Show, fragment: str) -> None:
    (html,) = show(f"![[Harbour#{fragment}]]").blocks
    assert "Blue." in html
    assert "notes/x.md" not in html


def test_a_note_within_a_line_is_only_linked(show: Show) -> None:
    (html,) = show("see ![[Harbour]] there").blocks
    assert "<aside" not in html
    assert f'href="{LIBRARY}/notes/Harbour.md"' in html


def test_many_notes_inside_one_are_not_all_shown(show: Show, project: Project) -> None:
    for number in range(30):
        add_note(project, f"n{number}.md", "words")
    html = "".join(show("\n\n".join(f"![[n{number}]]" for number in range(30))).blocks)
    assert html.count("<aside") == 20
    assert html.count("<a ") == 30


def test_callouts_are_boxes_with_a_title(show: Show) -> None:
    text = "> [!warning]- Mind *this*\n> body\n> > [!tip]\n> > inner\n"
    (html,) = show(text).blocks
    assert html.replace("\n", "") == (
        '<details class="callout bad"><summary class="callout-title">Mind <em>this</em></summary>'
        '<p>body</p><div class="callout good"><p class="callout-title">Tip</p><p>inner</p></div>'
        "</details>"
    )
    assert "<details open" in show("> [!x]+ t\n> b").blocks[0].replace(' class="callout info"', "")
    assert "<blockquote>" in show("> [!] t\n> b").blocks[0]


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("==so *it* is==", "<mark>so <em>it</em> is</mark>"),
        ("a == b == c", "a == b == c"),
        ("$a_b_c$ and $5 or $6", "$a_b_c$ and $5 or $6"),
        ("#123 and #fff", "#123 and #fff"),
        ("a ^b1", 'a <span id="b-b1"></span>'),
        ("x[^1]", f'x<sup><a href="#fn-1" class="wikilink"{REL}>1</a></sup>'),
        ("[^1]: said", '<sup id="fn-1">1</sup> said'),
        ("a %%b%% c", "a  c"),
        ("%% a", "%% a"),
        ("`%%a%%`", "<code>%%a%%</code>"),
    ],
)
def test_marks_within_a_line(show: Show, text: str, html: str) -> None:
    assert show(text).blocks[0].strip() == f"<p>{html}</p>"


def test_headings_have_ids_of_their_own(show: Show) -> None:
    html = "".join(show("Words.\n\n# A b\n\n## A b\n\n# Ä!\n").blocks)
    assert [f'id="{each}"' in html for each in ("h-a-b", "h-a-b-2", "h-ä")] == [True] * 3


def test_comments_over_many_lines_are_hidden_and_lines_stay_as_many() -> None:
    lines = ["a %%b", "c", "d%% e", "```", "%%", "```", "%% f"]
    assert list(remove_comments(lines)) == ["a ", "", " e", "```", "%%", "```", "%% f"]


@given(st.lists(st.text(st.sampled_from("%a`$\x01 "), max_size=8), max_size=8))
def test_no_line_is_lost_with_the_comments(lines: list[str]) -> None:
    assert len(list(remove_comments(lines))) == len(lines)


SAFE = {
    "a", "aside", "blockquote", "br", "code", "details", "div", "em", "h3", "h4", "h5", "h6", "hr",
    "img", "li", "mark", "ol", "p", "pre", "s", "span", "strong", "summary", "sup", "table",
    "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def check_hostile(show: Show, payload: str) -> None:
    shapes = f"{payload}\n\n[[{payload}]]\n\n![[{payload}|{payload}]]\n\n> [!{payload}] {payload}"
    text = (
        f"---\ntags: {payload}\nk: {payload}\n---\n{shapes}\n\n=={payload}== #{payload} %%{payload}"
    )
    page = show(text.replace("\0", ""))
    html = "".join([*page.blocks, *(v for p in page.properties for v in p.values)])
    for element in Dom(f"<div>{html}</div>").root.walk():
        assert element.tag in SAFE
        assert not [name for name in element.attributes if name.startswith(("on", "hx-", "style"))]
        address = element.attributes.get("href", "") or element.attributes.get("src", "")
        assert not address.strip().lower().startswith(("javascript:", "data:", "vbscript:"))
        assert element.tag != "img" or address.startswith("/library/")


@pytest.mark.parametrize("payload", OURS)
def test_hostile_text_makes_no_element_and_no_handler(show: Show, payload: str) -> None:
    check_hostile(show, payload)


@pytest.mark.ci
@pytest.mark.parametrize("name", sorted(COLLECTIONS))
def test_collected_hostile_texts_make_no_element_and_no_handler(show: Show, name: str) -> None:
    for payload in COLLECTIONS[name]():
        check_hostile(show, payload)


@pytest.mark.parametrize(
    "text",
    ["[[" * 20_000, "![[x]]\n\n" * 5_000, "==" * 20_000, "> [!note]\n" * 3_000, "$" * 30_000,
     "[^1]" * 10_000, "#a" * 20_000, "> " * 5_000 + "[!note]", "^" * 30_000, "%%" * 20_000],
)  # fmt: skip
def test_texts_that_are_meant_to_be_slow_are_not(show: Show, text: str) -> None:
    assert show(text).lines
