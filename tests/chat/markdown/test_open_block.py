"""The open block looks sensible in every frame."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.markdown import MarkdownStream
from chat.markdown.autoclose import close_open_marks
from tests.chat.markdown.samples import ANSWER, LINES, problems, texts, tokens
from tests.support.dom import read


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
    assert close_open_marks(text) == shown


def tail(text: str) -> str:
    stream = MarkdownStream()
    stream.feed(text)
    return stream.render_open_block().strip()


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
        '<pre tabindex="0">'
        "<code class=\"language-python\">x = '&lt;a&gt;'</code></pre></div>"
    )
    assert "<span" not in tail("- a\n  ```py\n  return")


def test_the_tail_goes_with_the_answer() -> None:
    """Word by word, the text of closed blocks and tail only grows, give or take half a mark."""
    stream, closed, seen = MarkdownStream(), "", ""
    for token in tokens("A plain paragraph of words, with more words. And a last sentence"):
        closed += "".join(stream.feed(token))
        now = read(closed + stream.render_open_block()).text.strip()
        assert now.startswith(seen)
        seen = now
    assert seen.endswith("a last sentence")


@given(texts)
def test_a_tail_of_anything_is_safe_and_balanced(text: str) -> None:
    stream = MarkdownStream()
    for letter in text:
        stream.feed(letter)
        assert problems(stream.render_open_block()) == []


# -- what is put in without a parser --------------------------------------------------------------


def list_tails(text: str, size: int) -> list[str]:
    """The tail after each delta, by a stream that remembers the one before."""
    stream = MarkdownStream()
    tails = []
    for at in range(0, len(text), size):
        stream.feed(text[at : at + size])
        tails.append(stream.render_open_block())
    return tails


def anew(text: str, size: int) -> list[str]:
    """The same, each by a stream of its own."""
    return [list_tails(text[: at + size], len(text))[0] for at in range(0, len(text), size)]


def _settled(tails: list[str]) -> list[object]:
    """As it is seen: white space at the ends of texts is not."""
    return [_seen(read(tail).plain) for tail in tails]


def _seen(node: object) -> object:
    if isinstance(node, str):
        return node.strip()
    assert isinstance(node, tuple)
    tag, attributes, children = node
    return (tag, attributes, [seen for child in children if (seen := _seen(child))])


@given(st.lists(st.sampled_from(LINES), min_size=1, max_size=12), st.integers(1, 7))
def test_a_tail_that_grew_is_the_tail_made_anew(lines: list[str], size: int) -> None:
    text = "\n".join(lines) + "."
    assert _settled(list_tails(text, size)) == _settled(anew(text, size))


@pytest.mark.parametrize("size", [1, 5, 12])
def test_the_tails_of_an_answer_are_those_made_anew(size: int) -> None:
    assert _settled(list_tails(ANSWER, size)) == _settled(anew(ANSWER, size))


@pytest.mark.parametrize(
    ("begin", "text"),
    [
        ("```py\na", " = 1\n<b> & 'c'\n" * 20),
        ("Words", " and more, tok1 tok2." * 20),
        ("- an item", " of words" * 20),
        ("> # A *quoted* heading", " of words - and dashes: many" * 5),
    ],
)
def test_words_and_code_need_no_parser(
    begin: str, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = MarkdownStream()
    stream.feed(begin)
    stream.render_open_block()
    monkeypatch.setattr("chat.markdown.open_block.render_block", pytest.fail)
    for token in tokens(text):
        stream.feed(token)
        tail = stream.render_open_block()
    assert text.strip() in read(tail).text


def test_nothing_of_a_closed_block_is_in_the_next_tail() -> None:
    stream = MarkdownStream()
    stream.feed("```\nwords")
    stream.render_open_block()
    assert stream.feed("\n```\nwords and more") != []
    assert stream.render_open_block() == "<p>words and more</p>\n"


@pytest.mark.parametrize("begin", ["words", "```\nwords"])
def test_odd_characters_in_a_tail_can_be_sent(begin: str) -> None:
    stream = MarkdownStream()
    stream.feed(begin)
    stream.render_open_block()
    stream.feed(" a\0b\ud83d")
    assert "words a\ufffdb\ufffd" in stream.render_open_block()
    stream.feed("\ude00")
    assert "words a\ufffdb\U0001f600" in stream.render_open_block()
