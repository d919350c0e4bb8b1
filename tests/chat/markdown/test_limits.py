"""However an answer is made, the work for it stays in proportion, and so do the frames."""

import re
from collections.abc import Callable
from typing import Any

import pytest

from chat.markdown import MarkdownStream, render, rendering
from chat.markdown.blocks import HARD_LIMIT_CHARS, PART_CHARS, SOFT_LIMIT_CHARS
from tests.chat.markdown.samples import ANSWER, problems, streamed, text_of, tokens
from tests.support.dom import read
from tests.support.timing import assert_in_proportion

SENTENCE = "The quarter closed with a small surplus, because the hire moved. "

LONG: dict[str, Callable[[int], str]] = {
    "mixed": lambda n: (ANSWER + "\n") * (n // len(ANSWER) + 1),
    "paragraph": lambda n: (SENTENCE * n)[:n],
    "paragraph of lines": lambda n: ((SENTENCE + "\n") * n)[:n],
    "marked paragraph": lambda n: ("a **bold** and `code` " * n)[:n],
    "one word": lambda n: "x" * n,
    "code": lambda n: "```python\n" + ("value = call(1)  # why\n" * n)[:n],
    "code in one line": lambda n: "```js\n" + ("a=1;" * n)[:n],
    "code in an item": lambda n: "- a\n\n  ```py\n" + ("  value = call(1)\n" * n)[:n],
    "list": lambda n: ("- some **words** of an item\n" * n)[:n],
    "loose list": lambda n: ("1. some words of an item\n\n" * n)[:n],
    "one item": lambda n: "- first\n" + ("  - nested `words`\n" * n)[:n],
    "table": lambda n: "| a | b |\n|---|---|\n" + ("| some | *words* |\n" * n)[:n],
    "table with a wide head": lambda n: "|a" * 200 + "|\n" + "|-" * 200 + "|\n" + ("|b|\n" * n)[:n],
    "quote": lambda n: ("> some *words* of a quote\n" * n)[:n],
    "heading": lambda n: "# " + ("words " * n)[:n],
    "indented": lambda n: ("    words = 1\n" * n)[:n],
    "empty lines": lambda n: "- a\n" + "\n" * n + "b",
    "brackets": lambda n: "[" * n,
    "stars": lambda n: ("*a _b " * n)[:n],
    "quotes": lambda n: ">" * n,
    "dashes": lambda n: "- " * (n // 2),
    "ticks": lambda n: ("`" * 3 + "a" + "`" * 2) * (n // 6),
    "links": lambda n: ("[a](b" * n)[:n],
    "addresses": lambda n: ("https://a.b/)))" * n)[:n],
}
long = pytest.mark.parametrize("name", LONG)


@pytest.mark.ci
@long
def test_the_work_of_a_long_answer_grows_with_its_length(name: str) -> None:
    """By the characters that the parser reads: each of a block once, of a tail a bounded many."""
    text = LONG[name](HARD_LIMIT_CHARS + SOFT_LIMIT_CHARS)
    stream, tails = MarkdownStream(), list[str]()

    def live() -> None:
        for at in range(0, len(text), 500):
            stream.feed(text[at : at + 500])
            tails.append(stream.render_open_block())
        stream.flush()

    once, _ = _read(lambda: render(text))
    whole, longest = _read(live)
    assert once <= 1.2 * len(text)
    assert longest <= HARD_LIMIT_CHARS + SOFT_LIMIT_CHARS
    assert (whole - once) / len(tails) <= 2 * SOFT_LIMIT_CHARS
    assert max(len(re.sub(r"<[^>]*>", "", tail)) for tail in tails) <= 2 * SOFT_LIMIT_CHARS + 10


def _read(work: Callable[[], object]) -> tuple[int, int]:
    """How many characters the parser was given while something was done, and the most at once."""
    sizes = [0]
    parse = rendering._md.render

    def counted(text: str, env: Any = None) -> Any:
        sizes.append(len(text))
        return parse(text, env)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rendering._md, "render", counted)
        work()
    return sum(sizes), max(sizes)


@long
def test_the_time_for_an_answer_grows_with_its_length(name: str) -> None:
    assert_in_proportion(render, LONG[name], size=28_000)


@long
def test_a_long_answer_in_deltas_is_the_answer_in_one(name: str) -> None:
    text = LONG[name](HARD_LIMIT_CHARS + SOFT_LIMIT_CHARS)
    assert streamed(tokens(text), tails=False) == render(text)


def test_a_million_characters_in_one_line_come_out_again() -> None:
    text = "x" * 1_000_000
    assert text_of("".join(streamed([text[:500_000], text[500_000:]]))).replace("\n", "") == text


def test_a_token_of_plain_text_is_only_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = MarkdownStream()
    stream.feed("first ")
    monkeypatch.setattr(stream._splitter, "_close_and_cut", pytest.fail)
    for token in tokens("some more words, and [marks]**"):
        assert stream.feed(token) == []


# -- where long blocks are cut --------------------------------------------------------------------


def test_a_long_paragraph_is_cut_after_sentences() -> None:
    text = SENTENCE * 100
    pieces = [text_of(block).strip() for block in render(text)]
    assert len(pieces) == 3
    assert all(piece.endswith("moved.") for piece in pieces)
    assert " ".join(pieces) == text.strip()


def test_a_paragraph_of_many_lines_is_cut_between_lines() -> None:
    text = (SENTENCE.strip() + "\n") * 100
    pieces = [text_of(block) for block in render(text)]
    assert len(pieces) == 3
    assert "".join(pieces) == text


def test_a_long_line_without_sentences_is_cut_before_a_word() -> None:
    pieces = render("1 - words # " * 600)
    assert len(pieces) > 1
    assert all(text_of(piece).startswith(("1 -", "words")) for piece in pieces)


def test_a_long_list_goes_on_counting() -> None:
    text = "5. some words\n" + "1. some words\n" * 600
    first, second, third = (read(block).elements[0] for block in render(text))
    assert first.attributes == {"start": "5"}
    next_number = 5 + len(first.elements)
    assert second.attributes == {"start": str(next_number), "class": "more"}
    next_number += len(second.elements)
    assert third.attributes == {"start": str(next_number), "class": "more"}
    assert next_number + len(third.elements) == 5 + 601


def test_a_long_list_of_bullets_goes_on_without_numbers() -> None:
    first, second = (read(block).elements[0] for block in render("- some words\n" * 400))
    assert (first.attributes, second.attributes) == ({}, {"class": "more"})


def test_a_long_table_repeats_its_head() -> None:
    text = "| name | size |\n|---|--:|\n" + "| some | words |\n" * 300
    tables = [read(block).elements[0].elements[0] for block in render(text)]
    assert [table.attributes.get("class") for table in tables] == [None, "more"]
    assert len({table.elements[0].text for table in tables}) == 1
    assert sum(len(table.elements[1].elements) for table in tables) == 300


def test_pieces_of_code_are_the_code_to_the_letter() -> None:
    code = "".join(f"def f{n}() -> str:\n    return '{'x' * (n % 90)}'\n\n\n" for n in range(200))
    pieces = [read(block).elements[0] for block in render(f"```python\n{code}```\nafter")][:-1]
    assert len(pieces) > 3
    assert "".join(piece.elements[-1].text for piece in pieces) == code
    assert [piece.attributes["class"] for piece in pieces[:2]] == ["code", "code more"]
    assert [len(piece.elements) for piece in pieces[:2]] == [2, 1]
    assert all(piece.text.endswith("\n\n") for piece in pieces)


def test_a_long_line_of_code_is_code_to_its_end() -> None:
    code = "x" * SOFT_LIMIT_CHARS + "```\n  y\n"
    blocks = render(f"  ```\n{code}  ```\nafter")
    assert "".join(read(block).elements[0].elements[-1].text for block in blocks[:-1]) == (
        "x" * SOFT_LIMIT_CHARS + "```\ny\n"
    )
    assert blocks[-1] == "<p>after</p>\n"


def test_the_end_of_code_that_was_just_cut_leaves_no_empty_piece() -> None:
    blocks = render("```\n" + "x" * (SOFT_LIMIT_CHARS * 2) + "\n```\n")
    assert [len(text_of(block).strip()) for block in blocks] == [SOFT_LIMIT_CHARS, SOFT_LIMIT_CHARS]


def test_the_tail_of_a_long_list_or_table_is_one_list_or_table() -> None:
    for text in (
        "1. some words\n" * 150 + "1. last",
        "|a|\n|-|\n" + "| some words |\n" * 150 + "| last",
    ):
        assert len(text) > 3 * PART_CHARS
        stream = MarkdownStream()
        stream.feed(text)
        tail = read(stream.render_open_block())
        rows = [e for e in tail.walk() if e.tag in ("li", "tr")]
        assert len(tail.elements) == 1
        assert len(rows) == text.count("\n") + (1 if text[0] == "1" else 0)
        assert rows[-1].text.strip() == "last"


@pytest.mark.parametrize(
    "last", ["- x\n" + "  - nested\n" * 600, "- " + "[" * 500, "- " * 20 + "x"]
)
def test_a_long_or_odd_last_item_leaves_the_tail_whole(last: str) -> None:
    stream = MarkdownStream()
    stream.feed("- some words\n" * 60 + last)
    tail = stream.render_open_block()
    assert problems(tail) == []
    assert [e.tag for e in read(tail).elements] == ["ul", "p"]


def test_cells_that_a_table_leaves_out_are_not_filled_in_for_ever() -> None:
    wide = "|a" * 250 + "|\n" + "|-" * 250 + "|\n"
    assert len("".join(render(wide + "|\n" * 2_000))) < 100_000
    assert len("".join(render("- x\n\n" + "".join(f"  {line}\n" for line in
        (wide + "|\n" * 2_000).splitlines())))) < 100_000  # fmt: skip
