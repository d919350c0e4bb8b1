"""Live and reloaded are the same, and blocks close as soon as they can."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chat.markdown import MarkdownStream, blocks, render
from chat.markdown.blocks import Block, ProseBlock
from chat.markdown.rendering import render_block
from chat.markdown.splitter import Splitter
from tests.chat.markdown.samples import ANSWER, LINES, cut, streamed, text_of


@contextmanager
def limits(tiny: bool) -> Iterator[None]:
    """With tiny limits, examples of a few words reach every cut that long answers reach."""
    with pytest.MonkeyPatch.context() as patch:
        if tiny:
            for name, value in {
                "SOFT_LIMIT_CHARS": 20,
                "HARD_LIMIT_CHARS": 50,
                "PART_CHARS": 8,
                "MAX_HEAD_CHARS": 20,
            }.items():
                patch.setattr(blocks, name, value)
        yield


tiny_and_real = pytest.mark.parametrize("tiny", [True, False])


@given(cut(), st.booleans())
def test_an_answer_in_any_deltas_is_the_answer_in_one(
    answer: tuple[str, list[str]], tiny: bool
) -> None:
    text, deltas = answer
    with limits(tiny):
        assert "".join(streamed(deltas)) == "".join(render(text))


@tiny_and_real
@pytest.mark.parametrize("size", [1, 2, 7, 50])
def test_an_answer_in_deltas_of_one_size_is_the_answer_in_one(tiny: bool, size: int) -> None:
    text = ANSWER * 2 + ANSWER.replace("\n", "\r\n")
    deltas = [text[at : at + size] for at in range(0, len(text), size)]
    with limits(tiny):
        assert streamed(deltas, tails=size == 50) == render(text)


@tiny_and_real
def test_an_answer_cut_in_two_anywhere_is_the_same_blocks(tiny: bool) -> None:
    def split(*deltas: str) -> list[Block]:
        splitter = Splitter()
        closed = [block for delta in deltas for block in splitter.feed(delta)]
        return closed + splitter.flush()

    with limits(tiny):
        whole = split(ANSWER)
        cuts = range(len(ANSWER))
        assert [at for at in cuts if split(ANSWER[:at], ANSWER[at:]) != whole] == []


@given(st.lists(st.sampled_from(LINES), max_size=20), st.booleans())
def test_no_word_is_lost(lines: list[str], tiny: bool) -> None:
    named = [re.sub(r"words|bold|head|item|quote", rf"\g<0>{n}", s) for n, s in enumerate(lines)]
    text = "\n".join(named)
    with limits(tiny):
        seen = text_of("".join(render(text))).replace("\n", "")
    assert [word for word in re.findall(r"[a-z]+\d+", text) if word not in seen] == []


# -- where blocks end -----------------------------------------------------------------------------

BLOCKS = [
    "some words", "two\nlines", "# head", "***", "- a\n- b", "- a\n\n- b", "* x\n  - y\n\n  z",
    "1. one\n2. two", "> q\n> r", "> - i", "```\ncode\n\n- x\n```", "~~~py\nx\n~~~",
    "a|b\n-|-\n1|2", "    code\n\n    more", "Title\n===", "+ i\n\n      code", "1) a\n\n   b",
]  # fmt: skip
AT_END = re.compile(r"\n+(?=(?:</span>)?</code>)")


def apart(text: str) -> str:
    """Empty lines at the end of code do not count."""
    return AT_END.sub("", "".join(render(text)))


def together(text: str) -> str:
    return AT_END.sub("", render_block(ProseBlock(text + "\n")))


@given(st.lists(st.tuples(st.sampled_from(BLOCKS), st.sampled_from(["\n", "\n\n"])), max_size=8))
def test_blocks_parsed_apart_read_as_they_do_together(pairs: list[tuple[str, str]]) -> None:
    text = "".join(block + end for block, end in pairs)
    assert apart(text) == together(text)


@pytest.mark.parametrize(
    "text",
    [
        "a\nb\n\nc", "# a\nb", "a\n# b", "a\n---\nb", "a\n***\nb", "a\n- b\n- c", "a\n2. b",
        "a\n1. b", "a\n-", "- a\n- b\n\n- c\n\nd", "- a\n\n  b\n\nc", "- a\n* b", "1. a\n2) b",
        "- a\n  - b\n    - c\n- d", "- a\n# b", "- a\n> b", "- a\n```\nb\n```", "- a\nlazy\n- b",
        "-     code\n- a", "10. a\n\n    b\n\nc", "- a\n\n      code\n\nb", "> a\n> b\n\n> c",
        "> a\nlazy\n\nb", "> a\n- b", ">\na", "> ```\n> a\n\nb", "    a\n\n    b\nc",
        "```\n\n\n```\na", "~~~ py\na\n```\n~~~", "````\n```\n````\na", "  ```\n  a\n ```",
        "```a`b\nc", "a|b\n-|-\n1|2\n\nc", "x\na|b\n-|-\n1|2\n> c", "a|b\n-|-\n- c", "a|b\n-",
        "a|\n--", "| a |\n| - | - |", "\\|a|b\n-|-", "[a]\n\n[a]: /b", "- a\n\n\n\n- b",
        "```\n    ```\na\n```", "-     code\n\n  b", "-\n  a\n\n  b", "a|b\n|-|-|-|\n2. c",
        "- # h\ntext\n---", "- # h\ntext\n2. b", "> # h\ntext\n---", "> # h\ntext\n2. b",
        "1. a\n1. b\n1. c", "- [x] a\n- [ ] b", "a\n    b", "- - - a",
    ],
)  # fmt: skip
def test_a_case_parsed_apart_reads_as_it_does_together(text: str) -> None:
    assert apart(text) == together(text)


@pytest.mark.parametrize(
    ("before", "delta"),
    [
        ("a paragraph\n", "\n"),
        ("# a heading", "\n"),
        ("```\ncode\n```", "\n"),
        ("a paragraph\n# a heading", "\n"),
        ("- an item\n\n", "N"),
        ("    indented\n\n", "N"),
        ("> a quote\n", "\n"),
        ("| a |\n|---|\n| 1 |\n", "\n"),
        ("Title\n---", "\n"),
    ],
)
def test_a_block_closes_with_the_first_delta_that_leaves_no_doubt(before: str, delta: str) -> None:
    stream = MarkdownStream()
    early = stream.feed(before)
    assert early == []
    assert stream.feed(delta) != []


@pytest.mark.parametrize(
    "text", ["a", "a\n", "- a\n\n", "- a\n\n- ", "```\na\n\n", "> a\n", "a|b\n"]
)
def test_a_block_that_may_go_on_stays_open(text: str) -> None:
    stream = MarkdownStream()
    assert stream.feed(text) == []
    assert stream.flush() != []


def test_each_top_level_block_is_one_of_its_own() -> None:
    assert [re.match(r"<(\w+)", block)[1] for block in render(ANSWER)] == [  # type: ignore[index]
        "h3", "p", "ul", "blockquote", "div", "div", "h3", "ol", "hr", "div", "p", "p",
    ]  # fmt: skip


def test_after_the_end_there_is_nothing() -> None:
    stream = MarkdownStream()
    stream.feed("a\r")
    assert stream.flush() == ["<p>a</p>\n"]
    assert (stream.flush(), stream.render_open_block()) == ([], "")


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n", "\r"])
def test_an_answer_of_nothing_has_no_blocks(text: str) -> None:
    assert render(text) == []
