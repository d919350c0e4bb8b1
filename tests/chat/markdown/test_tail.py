"""The open block looks sensible in every frame."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat.markdown import Stream
from chat.markdown.mending import mended
from tests.chat.markdown.answers import ANSWER, LINES, problems, texts, tokens
from tests.support.dom import Element, read


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("**bold", "**bold**"),
        ("**bold ", "**bold**"),
        ("**bold*", "**bold**"),
        ("a *b **c", "a *b **c***"),
        ("***a", "***a***"),
        ("*a* b", "*a* b"),
        ("a **", "a"),
        ("a **b** *", "a **b**"),
        ("_a", "_a_"),
        ("snake_case_name", "snake_case_name"),
        ("2 * 3", "2 * 3"),
        ("~~a", "~~a~~"),
        ("`co", "`co`"),
        ("``a`b", "``a`b``"),
        ("a `", "a"),
        ("**a `b", "**a `b`**"),
        ("`**` a", "`**` a"),
        ("\\*a", "\\*a"),
        ("[wor", "[wor"),
        ("[words](https://exa", "words"),
        ("![words](https://exa", "words"),
        ("**[words](", "**words**"),
        ("[words](/a) *b", "[words](/a) *b*"),
        ("[a.md:3] b", "[a.md:3] b"),
        ("words\n-", "words"),
        ("words\n==", "words"),
        ("- a\n1.", "- a"),
        ("| a |\n|--", "| a |"),
        ("42", "42"),
        ("#", ""),
        ("- *a\n- b", "- *a\n- b"),
        ("*a\nb", "*a\nb*"),
        ("- ```\n  *a", "- ```\n  *a"),
        ("*a " * 30, ("*a " * 30).rstrip()),
    ],
)
def test_what_is_half_written_is_mended(text: str, shown: str) -> None:
    assert mended(text) == shown


def tail(text: str) -> str:
    stream = Stream()
    stream.feed(text)
    return stream.tail().replace(' class="open"', "").replace("open ", "").strip()


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("a **b", "<p>a <strong>b</strong></p>"),
        ("closed\n\n- a\n- b", "<ul>\n<li>a</li>\n<li>b</li>\n</ul>"),
        ("a\n\n", ""),
        ("- a\n\nN", "<p>N</p>"),
        ("Title\n-", "<p>Title</p>"),
    ],
)
def test_the_tail_is_the_open_block_alone(text: str, html: str) -> None:
    assert tail(text) == html


def test_open_code_is_plain_until_it_closes() -> None:
    assert tail("```py\nx = '<a>'") == (
        '<div class="code"><div class="code-head">py</div>'
        "<pre><code class=\"language-python\">x = '&lt;a&gt;'</code></pre></div>"
    )
    assert "<span" not in tail("- a\n  ```py\n  return")


def test_the_tail_goes_with_the_answer() -> None:
    """Word by word, the text of closed blocks and tail only grows, give or take half a mark."""
    stream, closed, seen = Stream(), "", ""
    for token in tokens("A plain paragraph of words, with more words. And a last sentence"):
        closed += "".join(stream.feed(token))
        now = read(closed + stream.tail()).text.strip()
        assert now.startswith(seen)
        seen = now
    assert seen.endswith("a last sentence")


@given(texts)
@settings(max_examples=150, deadline=None)
def test_a_tail_of_anything_is_safe_and_balanced(text: str) -> None:
    stream = Stream()
    for letter in text:
        stream.feed(letter)
        assert problems(stream.tail()) == []


# -- more -----------------------------------------------------------------------------------------


class Page:
    """What a socket's page shows of the tail, by frames of `tail` and of `more`."""

    def __init__(self) -> None:
        self.root = read("")
        self.small = 0

    def show(self, stream: Stream) -> None:
        more = stream.more()
        if more is None:
            self.root = read(stream.tail())
            return
        self.small += 1
        for child in read(more).children:
            self._open().add(child)

    def _open(self) -> Element:
        (found,) = [e for e in self.root.walk() if "open" in e.attributes.get("class", "").split()]
        return found

    @property
    def plain(self) -> object:
        return _shown(self.root.plain)


def _shown(node: object) -> object:
    """Without the class, and without white space at the ends of texts: neither is seen."""
    if isinstance(node, str):
        return node.strip()
    assert isinstance(node, tuple)
    tag, attributes, children = node
    classes = {"class": attributes.get("class", "").replace("open", "").strip()}
    kept = [shown for child in children if (shown := _shown(child))]
    return (tag, {**attributes, **classes}, kept)


def fresh(text: str) -> object:
    page = Page()
    stream = Stream()
    stream.feed(text)
    page.root = read(stream.tail())
    return page.plain


@given(st.lists(st.sampled_from(LINES), max_size=12), st.integers(1, 7))
@settings(max_examples=150, deadline=None)
def test_a_page_that_was_sent_only_more_shows_the_tail(lines: list[str], size: int) -> None:
    _follow("\n".join(lines), size)


@pytest.mark.parametrize("size", [1, 5, 12])
def test_a_page_follows_an_answer_by_small_frames(size: int) -> None:
    assert _follow(ANSWER, size) > 5


def _follow(text: str, size: int) -> int:
    page, stream = Page(), Stream()
    for at in range(0, len(text), size):
        if stream.feed(text[at : at + size]):
            page.root = read("")
        page.show(stream)
        assert page.plain == fresh(text[: at + size]), text[: at + size]
    return page.small


def test_code_and_words_are_followed_by_small_frames_alone() -> None:
    for begin, text in [
        ("```py\na", " = 1\n<b> & 'c'\n" * 20),
        ("Words", " and more, tok1 tok2." * 20),
    ]:
        stream = Stream()
        stream.feed(begin)
        stream.tail()
        sent = ""
        for token in tokens(text):
            stream.feed(token)
            more = stream.more()
            assert more is not None
            sent += more
        assert read(sent).text == text


def test_a_new_part_of_a_list_is_more_than_words() -> None:
    stream = Stream()
    stream.feed("- some")
    stream.tail()
    stream.feed(" words\n" + "- some words\n" * 60 + "- some words")
    assert stream.more() is None


def test_a_closed_block_takes_the_tail_with_it() -> None:
    stream = Stream()
    stream.feed("words")
    stream.tail()
    assert stream.feed("\n\nwords")
    assert stream.more() is None
