"""Text of others inside our Markdown."""

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from chat.export.markdown_escape import (
    contain_markdown,
    escape_markdown,
    format_code_block,
    format_code_span,
    format_quote,
)

MARKS = st.text(st.sampled_from("`~<>!-#*_[]()\\ \n\r\t&|a1.?/"), max_size=60)


def parsed(text: str) -> list[Token]:
    return MarkdownIt("commonmark").parse(text)


@given(MARKS)
def test_a_fence_holds_any_text_as_it_is(text: str) -> None:
    tokens = parsed(f"{format_code_block(text, 'text')}\n\nafter")
    assert [token.type for token in tokens] == [
        "fence", "paragraph_open", "inline", "paragraph_close",
    ]  # fmt: skip
    assert tokens[0].content == text.replace("\r\n", "\n").replace("\r", "\n") + "\n"
    assert tokens[0].info == "text"


@given(MARKS)
def test_a_code_span_holds_any_text_on_one_line(text: str) -> None:
    words = " ".join(text.split())
    (inline,) = [token for token in parsed(f"x {format_code_span(text)}") if token.type == "inline"]
    spans = [child for child in inline.children or () if child.type == "code_inline"]
    assert [span.content for span in spans] == ([words] if words else [])


@given(MARKS)
def test_escaped_text_is_read_as_the_words_it_is(text: str) -> None:
    words = " ".join(text.split())
    (inline,) = [
        token for token in parsed(f"# x {escape_markdown(text)}") if token.type == "inline"
    ]
    shown = "".join(child.content for child in inline.children or ())
    assert shown == f"x {words}".strip()


@given(MARKS)
def test_what_comes_after_a_quote_is_not_in_it(text: str) -> None:
    assert ends_with_a_heading(format_quote(text))


@given(MARKS)
def test_what_comes_after_contained_text_is_not_in_it(text: str) -> None:
    assert ends_with_a_heading(contain_markdown(text))


def ends_with_a_heading(text: str) -> bool:
    *_, opening, words, _ = parsed(f"{text}\n\n## after")
    return (opening.type, opening.level, words.content) == ("heading_open", 0, "after")


def test_harmless_markdown_is_left_alone() -> None:
    text = "# Title\n\n```py\nprint(1)\n```\n\n- a\n- b <br>\n\n~~~\nx\n~~~"
    assert contain_markdown(text) == text
