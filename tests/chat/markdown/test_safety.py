"""Whatever a model writes is text, links and a few tags; never more, and never less."""

import random
from collections.abc import Callable

import pytest
from hypothesis import given

from chat.markdown import MarkdownStream, render, rendering
from chat.markdown.rendering import sanitize
from tests.chat.markdown.samples import problems, texts
from tests.support.dom import read
from tests.support.hostile import OURS, lines, naughty

COLLECTIONS: dict[str, Callable[[], tuple[str, ...]]] = {
    "ours": lambda: tuple(OURS),
    "xss_alert": lambda: lines("xss_alert.txt"),
    "xss_jhaddix": lambda: lines("xss_jhaddix.txt"),
    "xss_rsnake": lambda: lines("xss_rsnake.txt"),
    "blns": lambda: naughty(),
}

PLACES = [
    "{}",
    "[words]({})",
    "[words](<{}>)",
    "![{}]({})",
    "<{}>",
    "https://a.example/{}",
    "[{}]",
    "[words]: {}",
    "# {}",
    "- [x] {}",
    "> {}",
    "|{}|b|\n|-|-|\n|{}|",
    "`{}`",
    "```{}\n{}\n```",
    "```html\n{}\n```",
    "*{}",
]
"""Where text of a stranger can come to stand."""


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_hostile_text_is_text(collection: str) -> None:
    for text in COLLECTIONS[collection]():
        assert problems("".join(render(text))) == [], text


@pytest.mark.parametrize("place", PLACES)
def test_hostile_text_is_text_in_every_place(place: str) -> None:
    for text in _some("ours", 20) + _some("xss_rsnake", 20) + _some("blns", 20):
        html = "".join(render(place.replace("{}", text), lambda path, line: f"/library/{path}"))
        assert problems(html) == [], (place, text)


@pytest.mark.parametrize("collection", COLLECTIONS)
def test_hostile_text_is_text_while_it_streams(collection: str) -> None:
    for text in _some(collection, 15):
        stream = MarkdownStream(lambda path, line: f"/library/{path}#{line}")
        for letter in text[:200]:
            html = "".join(stream.feed(letter)) + stream.render_open_block()
            assert problems(html) == [], text
        assert problems("".join(stream.flush())) == [], text


def _some(collection: str, count: int) -> list[str]:
    found = COLLECTIONS[collection]()
    return random.Random(7).sample(found, min(count, len(found)))


@given(texts)
def test_anything_is_safe_and_balanced(text: str) -> None:
    for block in render(text):
        assert problems(block) == []
        block.encode()


# -- the sanitiser is the last word, whatever comes before it -------------------------------------


@pytest.mark.parametrize(
    "html",
    [
        '<p id="composer" name="x" style="color:red" title="t" lang="de" dir="rtl">a</p>',
        '<p onclick="x()" hx-get="/x" hx-swap-oob="true" ws-send data-hx-get="/x" data-x="1">a</p>',
        '<p class="open block notice">a</p><div class="composer code">a</div>',
        '<code class="language-x open">a</code><span class="k visually-hidden">a</span>',
        '<a href="javascript:x" title="x" ping="/x" download class="button">a</a>',
        '<a href="/x" rel="opener" target="_top">a</a>',
        '<img src="https://a.example/b.png"><svg/onload=x><iframe src="/"></iframe>',
        '<form action="/x"><input name="a" autofocus><button>a</button></form>',
        '<td style="x" align="justify" colspan="9">a</td><ol start="3" type="a" reversed></ol>',
        "<script>x</script><style>*{}</style><template>a</template><base href='/x'><!-- a -->",
        "<details open><summary>a</summary></details><math><mi>a</mi></math><h1>a</h1>",
        "<p>a<div>b</p></div></article></main><table><tr><td>c",
    ],
)
def test_the_sanitiser_lets_nothing_else_through(html: str) -> None:
    kept = sanitize(html)
    assert problems(kept) == []
    assert not {e.attributes.get("class", "") for e in read(kept).walk()} - {"", "code", "k"}


def test_the_sanitiser_sees_what_the_parser_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Even if markdown-it let HTML through."""
    evil = '<p id="x" onclick="y">a<script>b</script></p>'
    monkeypatch.setattr(rendering._md, "render", lambda text, env: evil)
    stream = MarkdownStream()
    stream.feed("words")
    assert problems(stream.render_open_block()) == []
    assert stream.flush() == ["<p>ab</p>"]


def test_the_sanitiser_sees_what_the_lexer_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "chat.markdown.highlight.highlight_code", lambda code, name: "<img src=x onerror=y>"
    )
    assert problems("".join(render("```py\na\n```"))) == []


# -- text that breaks parsers ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "mark", [">", "[", "*", "`", "- ", "1. ", "![", "(", "<", "&", "~", "_", "#"]
)
def test_ten_thousand_marks_come_out_as_text(mark: str) -> None:
    text = mark * (10_000 // len(mark)) + "the end"
    html = "".join(render(text))
    assert problems(html) == []
    assert "the end" in read(html).text


@pytest.mark.parametrize("mark", [">", "- ", "1. ", "> - ", "  "])
def test_text_nested_beyond_what_is_read_is_shown_as_written(mark: str) -> None:
    text = mark * 30 + "the end"
    assert "the end" in read("".join(render(text))).text
    lines = "\n".join("  " * depth + "- level" + str(depth) for depth in range(30))
    assert "level29" in read("".join(render(lines))).text


@pytest.mark.parametrize(("depth", "is_plain"), [(8, False), (12, True), (300, True)])
def test_emphasis_nested_beyond_sense_is_shown_as_written(depth: int, is_plain: bool) -> None:
    html = "".join(render("*a _" * depth + "the end" + "_ a*" * depth))
    assert ("<em>" not in html) is is_plain
    assert "the end" in html


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("a\0b", "a\ufffdb"),
        ("a\ud83d\ude00b", "a\U0001f600b"),
        ("a\ud83db\ude00", "a\ufffdb\ufffd"),
        ("a\u202eb\u2066c\u200fd", "a\u202eb\u2066c\u200fd"),
        ("a\u2028b\x0bc\x0cd\x85e", "a\u2028b\x0bc\x0cd\x85e"),
    ],
)
@pytest.mark.parametrize("place", ["{}", "`{}`", "```\n{}\n```", "- {}"])
def test_odd_characters_are_shown_or_marked(text: str, shown: str, place: str) -> None:
    deltas = place.replace("{}", text)
    stream = MarkdownStream()
    blocks = [block for letter in deltas for block in stream.feed(letter)]
    html = "".join(blocks + stream.flush())
    assert read(html).text.strip() == shown
    assert html == "".join(render(deltas))


def test_a_block_that_cannot_be_rendered_is_shown_as_written(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(path: str, line: int | None) -> str:
        raise LookupError(path)

    assert render("<b> [a.md]\nmore *words*\n\nnext", broken) == [
        '<p class="plain">&lt;b&gt; [a.md]\nmore *words*</p>\n',
        "<p>next</p>\n",
    ]
    assert "could not be rendered" in caplog.text


def test_a_lexer_that_fails_leaves_the_code_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(language: str) -> None:
        raise RecursionError

    monkeypatch.setattr("chat.markdown.highlight._get_lexer", broken)
    assert '<code class="language-python">a &lt; b\n</code>' in render("```py\na < b\n```")[0]
