"""Text of web pages: what is kept, in which form, and how long it takes whatever is in them."""

from collections.abc import Callable

import pytest

from agents.tools import page_text
from agents.tools.page_blocks import MAX_LINKS
from agents.tools.page_text import extract_page
from tests.support.timing import assert_in_proportion

URL = "https://docs.example/guide/tides.html"
PAGE = """<!doctype html>
<html><head><title> Tides &amp; gauges </title>
<style>p { color: red }</style><script>if (a < b) { document.write("</nav>") }</script></head>
<body><header><h1>The site</h1></header><nav><a href="/">Home</a></nav>
<main><article><header><h1>Tides</h1></header>
<p>The <b>tide</b> is <a href="gauge.html#top">high</a>.<br>Very &lt;high&gt;.</p>
<ul><li>one<li><p>two</p><ol><li>first</li><li>second</li></ol></ul>
<table><tr><th>Place<th>Height</tr><tr><td><p>Sandholm</p></td><td><p>2 m</p></td></tr></table>
<pre><code>def read():
    return 1 &lt; 2</code></pre>
<!-- <p>not this</p> --><p>1 < 2, and see <a href="https://other.example/">there</a>.</p>
</article></main>
<aside>Buy now</aside><form><p>Sign up</p></form><svg><text>x</text></svg><footer>2026</footer>
</body></html>"""
TEXT = """# Tides

The tide is high [1].
Very <high>.

- one
- two
  1. first
  2. second

Place | Height
Sandholm | 2 m

```
def read():
    return 1 < 2
```

1 < 2, and see there [2]."""


def text_of(source: str) -> str:
    return extract_page(source, URL).text


def test_a_page_becomes_its_title_its_main_text_and_its_links() -> None:
    page = extract_page(PAGE, URL)
    assert page.title == "Tides & gauges"
    assert page.text == TEXT
    assert page.links == ("https://docs.example/guide/gauge.html", "https://other.example/")


def test_without_a_main_part_articles_are_preferred_and_without_those_all_is_read() -> None:
    assert text_of("<p>a</p><article><p>b</article><p>c<article>d") == "b\n\nd"
    assert text_of("<p>a</p><div>b<div>c</div></div>") == "a\n\nb\n\nc"
    assert text_of("<main></main><p>a") == "a"


def test_a_header_is_left_out_unless_it_is_that_of_an_article() -> None:
    assert text_of("<header>Site</header><p>a") == "a"
    assert text_of("<article><header><h2>Title</h2></header>a</article>") == "## Title\n\na"


def test_a_page_that_is_one_form_is_read_all_the_same() -> None:
    assert text_of("<form><p>All of it</p></form>") == "All of it"


def test_what_is_never_closed_is_no_reason_to_leave_out_the_rest() -> None:
    assert text_of("<nav><p>a</p><nav>b") == "a\n\nb"


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("", ""),
        ("plain words", "plain words"),
        ("a < b <c", "a < b"),
        ("a<3 <> </> <!> <?x?> b", "a<3 <> b"),
        ("<p title='a>b' x=\"'>\">c</p>", "c"),
        ("<p class=a\"b>c</p> d's", "c\n\nd's"),
        ("a<!-- never closed <p>b", "a"),
        ("a<script>never closed <p>b", "a"),
        ("a<SCRIPT>x</ScRiPt >b", "ab"),
        ("a <a href='x", "a"),
        ("&#99999999999999999999; &#xffffffffff; &amp;lt; &nosuch;", "\ufffd \ufffd &lt; &nosuch;"),
        (f"&#{'9' * 5_000};", "\ufffd"),
        ("</p></li></ul></table></pre></main>a", "a"),
        ("<pre>a\n  b<br>c<div>d</div></pre>", "```\na\n  b\nc\nd\n```"),
        ("<pre>never\n  closed", "```\nnever\n  closed\n```"),
        ("<ul><li>a<ul><li>b</ul><li>c</ul>d", "- a\n  - b\n- c\n\nd"),
        ("<table><tr><td>a<td><td>b</table>", "a | | b"),
        ("<svg/><p>a", "a"),
        ("<p>a\n\n  b\tc</p>", "a b c"),
    ],
)
def test_odd_markup_is_read_as_far_as_it_can_be(source: str, text: str) -> None:
    assert text_of(source) == text


def test_only_links_into_the_web_are_numbered_and_each_address_once() -> None:
    page = extract_page(
        "<a href='/a'>1</a> <a href='javascript:alert(1)'>2</a> <a href='#x'>3</a> "
        "<a HREF = \"/a#b\">4</a> <a href='data:text/html,x'>5</a> <a href='http://[::1'>6</a> "
        "<a href='//other.example/&quot;'>7</a>",
        URL,
    )
    assert page.links == ("https://docs.example/a", 'https://other.example/"')
    assert page.text == "1 [1] 2 3 4 [1] 5 6 7 [2]"


def test_of_very_many_links_only_the_first_are_numbered() -> None:
    source = "".join(f"<a href='/{number}'>x</a> " for number in range(MAX_LINKS + 50))
    assert len(extract_page(source, URL).links) == MAX_LINKS


@pytest.mark.parametrize(
    ("source", "text"),
    [
        ("<p>one" * 4, "one\n\none"),
        ("<b>on</b>e " + "x" * 200, "one " + "x" * 16),
        ("x" * 200, "x" * 20),
        ("<p>" + "x" * 20 + "<p>y", "x" * 20),
    ],
)
def test_a_page_of_very_much_is_read_up_to_a_bound_and_says_so(
    source: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page_text, "MAX_TAGS", 3)
    monkeypatch.setattr(page_text, "MAX_CHARS", 20)
    page = extract_page(source, URL)
    assert (page.text, page.is_cut) == (text, True)


def test_a_page_that_is_read_to_its_end_is_not_cut() -> None:
    assert not extract_page(PAGE, URL).is_cut


ATOMS = [
    *("<div>", "<nav>", "<nav></nav>", "<form><nav>", "<a ", "<", "< ", "<!--", "<!", "</", "<?"),
    *("<script>", "<script></script>", "<title>", '<a ="', '<a b=">"', "<a b='\">", "<p>x"),
    *("&#99999999999999", "&" + "a" * 32, "&", "<a x x x=>", "<a====", "<a = = =", "<a href='"),
    *('<a href="b">x</a>', "<ul><li>", "<pre>", "<td>", "<td> ", "<tr> <p> ", "<tr><td>x<p>"),
    *("<a href=x> </a><td>", "<main>x", "<article><header>x", "<b>x</b>", " \n", "<svg/>", "<br>"),
    *("<a " + "x" * 997 + ">", "<a x" + " " * 996 + ">", "</ul></li></pre></main>", "<h1>", "-->"),
]
WHOLES: list[Callable[[int], str]] = [
    lambda size: "<a " + "x" * size + ">",
    lambda size: "<a x" + " " * size + "=>",
    lambda size: "<a " + "=" * size + ">",
    lambda size: "<a " + "href='" * (size // 6) + ">",
    lambda size: "&#" + "9" * size + ";",
    lambda size: "<div>" * (size // 10) + "x" + "</div>" * (size // 12),
]
SIZE = 48_000


def repeat(atom: str) -> Callable[[int], str]:
    return lambda size: (atom * (size // len(atom) + 1))[:size]


@pytest.mark.ci
@pytest.mark.parametrize("build", [*map(repeat, ATOMS), *WHOLES], ids=[*ATOMS, *"abcdef"])
def test_a_page_eight_times_as_long_takes_about_eight_times_as_long(
    build: Callable[[int], str],
) -> None:
    """With a tree, or a pattern that goes back, it would take sixty times as long."""
    assert_in_proportion(lambda source: extract_page(source, URL), build, size=SIZE)
