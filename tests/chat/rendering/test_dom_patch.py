"""HTML that has grown at its end, and HTML that has changed otherwise."""

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.markdown import MarkdownStream
from chat.rendering.dom_patch import DomPatch, TextAppend, build_patch, find_appended_text
from tests.support.dom import Dom, difference, read
from tests.support.long import long_answer


@pytest.mark.parametrize(
    ("old", "new", "grown"),
    [
        ("<p>a</p>", "<p>a b</p>", TextAppend(1, " b")),
        ("<p>a</p>\n", "<p>a b</p>\n", TextAppend(1, " b")),
        ("<p>x <b>a</b></p>", "<p>x <b>ab</b></p>", TextAppend(1, "b")),
        ("<p><i>x</i> a</p>", "<p><i>x</i> ab</p>", TextAppend(2, "b")),
        ("<p>a &amp;</p>", "<p>a &amp; &lt;b</p>", TextAppend(3, " <b")),
        ("<ul>\n<li>a</li>\n</ul>\n", "<ul>\n<li>ab</li>\n</ul>\n", TextAppend(1, "b")),
        ("a", "ab", TextAppend(1, "b")),
        ("", "a", None),
        ("<p></p>", "<p>a</p>", None),
        ("<p> </p>", "<p> a</p>", None),
        ("<p>a</p>", "<p>a</p>", None),
        ("<p>a</p>", "<p>b c</p>", None),
        ("<p>a</p>", "<p>a <b>c</b></p>", None),
        ("<p>a</p>", "<h3>a b</h3>", None),
        ("<p>a <b>x</b></p>", "<p>a <b>x</b> y</p>", None),
        ("<p>a <b>x</b></p>", "<p>a <b>x</b></p><p>y</p>", None),
        ("<p>a<br>", "<p>a<br>b", None),
    ],
)
def test_only_text_at_the_very_end_is_growth(old: str, new: str, grown: TextAppend | None) -> None:
    assert find_appended_text(old, new) == grown


@pytest.mark.parametrize(
    ("old", "new", "patched"),
    [
        ("<p>a</p>", "<p>a <b>x</b></p>", DomPatch(1, 0, "a <b>x</b>")),
        ("<p>a <b>x</b></p>", "<p>a <b>x</b> y</p>", DomPatch(1, 1, " y")),
        ("<p>a <b>x</b> y</p>", "<p>a <b>x</b> <i>y</i></p>", DomPatch(1, 1, " <i>y</i>")),
        ("<p>a<br>b</p>", "<p>a<br>b<br>c</p>", DomPatch(1, 1, "b<br>c")),
        ("<p>a</p>\n", "<p>a</p>\n<p>b</p>\n", DomPatch(0, 1, "\n<p>b</p>\n")),
        (
            "<ul>\n<li>a</li>\n</ul>\n",
            "<ul>\n<li>a</li>\n<li>b</li>\n</ul>\n",
            DomPatch(1, 1, "\n<li>b</li>\n"),
        ),
        (
            "<ul>\n<li>a</li>\n</ul>\n",
            "<ul>\n<li>ab</li>\n<li>c</li>\n</ul>\n",
            DomPatch(1, 0, "\n<li>ab</li>\n<li>c</li>\n"),
        ),
        (
            "<ul><li>a</li></ul>",
            "<ul><li>a<ul><li>b</li></ul></li></ul>",
            DomPatch(2, 0, "a<ul><li>b</li></ul>"),
        ),
        ("<p>a</p>", "<h3>a</h3>", DomPatch(0, 0, "<h3>a</h3>")),
        ("<p>a <b>x</b></p>", "<p>a</p>", DomPatch(1, 0, "a")),
        ("", "<p>a</p>", DomPatch(0, 0, "<p>a</p>")),
        ("<p>a</p>", "", DomPatch(0, 0, "")),
        (
            '<p><a href="x">a</a> b</p>',
            '<p><a href="y">a</a> b</p>',
            DomPatch(1, 0, '<a href="y">a</a> b'),
        ),
    ],
)
def test_everything_else_replaces_as_little_as_it_can(
    old: str, new: str, patched: DomPatch
) -> None:
    assert build_patch(old, new) == patched


def frames(text: str, sizes: list[int]) -> Iterator[tuple[str, str]]:
    """Every frame of the open block of a text that comes in pieces, with what it makes of it."""
    stream, old, at, turn = MarkdownStream(), "", 0, 0
    while at < len(text):
        size = sizes[turn % len(sizes)]
        stream.feed(text[at : at + size])
        at, turn, new = at + size, turn + 1, stream.render_open_block()
        yield str(find_appended_text(old, new) or build_patch(old, new)), new
        old = new


PIECES = (
    "word", " ", " ", "\n", "\n", "\n\n", "- ", "1. ", "> ", "  ", "| a | b |\n|---|:-:|\n",
    "| ", "**", "*", "`", "```", "```py\n", "~~", "[x](https://a.example/?b=1&c)", "[[note.md]]",
    "# ", "---\n", "&", "<b>", "\N{WATER WAVE}", "- [x] ", "\\", "https://a.example ",
)  # fmt: skip


@given(st.lists(st.sampled_from(PIECES), max_size=60), st.lists(st.integers(1, 9), min_size=1))
def test_a_page_makes_of_the_frames_what_the_server_has(
    pieces: list[str], sizes: list[int]
) -> None:
    page = Dom('<div id="x-tail"></div>')
    for frame, html in frames("".join(pieces), sizes):
        page.apply(frame)
        page.apply(frame)  # it may come twice
        now = read(f'<div id="x-tail">{html}</div>').elements[0]
        assert difference(page.get("x-tail"), now) == "", frame


ITEMS = "".join(f"- item {n} with `code` and **bold** words\n" for n in range(250))
ROWS = "| a | b |\n|---|---|\n" + "".join(
    f"| row {n} of it | **more** of {n} |\n" for n in range(250)
)
LINES = "```\n" + "".join(f"x{n} = f({n})\n" for n in range(800))
PARAGRAPH = " ".join(f"word{n} *x{n}* and `c{n}`," for n in range(400))


@pytest.mark.parametrize("size", [*(pytest.param(n, marks=pytest.mark.ci) for n in (8, 16)), 32])
@pytest.mark.parametrize("text", [long_answer()[:12_000], ITEMS, ROWS, LINES, PARAGRAPH])
def test_the_bytes_of_frames_grow_with_the_answer_however_it_comes(text: str, size: int) -> None:
    """Of the open block; the closed ones are sent once more each."""
    stream = MarkdownStream()
    whole = "".join([*stream.feed(text), *stream.flush()])
    sent = sum(len(frame.encode()) for frame, _ in frames(text, [size]))
    assert sent <= 2.5 * len(whole.encode())
