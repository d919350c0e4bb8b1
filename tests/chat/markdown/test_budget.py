"""No Markdown costs much more than prose of its size, and what is too dear is shown as written."""

import pytest

from chat.markdown import MarkdownStream, budget, render
from chat.markdown.blocks import SOFT_LIMIT_CHARS
from tests.chat.markdown.samples import problems, streamed, text_of
from tests.support.dom import read
from tests.support.long import long_answer
from tests.support.shapes import SHAPES, prose
from tests.support.timing import measure_multiple

SIZE = 200_000
MOST = 8
"""Times the CPU of prose."""


def link(path: str, line: int | None) -> str | None:
    return f"/notes/{path}#L{line}" if path.endswith(".md") else None


shapes = pytest.mark.parametrize("name", SHAPES)


@pytest.mark.ci
@shapes
def test_no_shape_costs_much_more_than_prose_of_its_size(name: str) -> None:
    text, control = SHAPES[name](SIZE), prose(SIZE)
    multiple = measure_multiple(
        lambda: render(text, link), lambda: render(control, link), enough=MOST, tries=4
    )
    assert multiple <= MOST


@pytest.mark.parametrize(
    "size", [600, *(pytest.param(each, marks=pytest.mark.ci) for each in (2_000, 9_000))]
)
def test_a_shape_in_deltas_is_the_shape_in_one_and_every_frame_is_safe(size: int) -> None:
    delta = size // 6
    for name, shape in SHAPES.items():
        text, stream, shown = shape(size), MarkdownStream(), list[str]()
        for at in range(0, len(text), delta):
            shown += stream.feed(text[at : at + delta])
            assert problems(stream.render_open_block()) == [], name
        shown += stream.flush()
        assert shown == render(text), name
        assert [problem for html in shown for problem in problems(html)] == [], name


@pytest.mark.ci
@shapes
def test_a_shape_that_uses_its_budget_up_is_live_what_it_is_on_a_reload(name: str) -> None:
    text = SHAPES[name](SIZE)
    deltas = [text[at : at + 1_499] for at in range(0, len(text), 1_499)]
    assert streamed(deltas, tails=False) == render(text)


@pytest.mark.long
@shapes
def test_a_shape_in_deltas_of_any_size_is_the_shape_in_one(name: str) -> None:
    text = SHAPES[name](40_000)
    whole = render(text)
    for size in (61, 997, 5_003):
        deltas = [text[at : at + size] for at in range(0, len(text), size)]
        assert streamed(deltas, tails=size > 61) == whole


def test_what_people_write_is_never_plain_text() -> None:
    for text in (long_answer() * 2, prose(1_000_000)):
        assert 'class="plain"' not in "".join(render(text))


def test_the_rest_of_an_answer_that_costs_too_much_is_shown_as_written() -> None:
    text = "# a & *b*\n" * 9_000
    rich, plain = list[str](), list[str]()
    for html in render(text):
        (plain if 'class="plain"' in html else rich).append(html)
    assert set(rich) == {"<h3>a &amp; <em>b</em></h3>\n"}
    assert len(rich) > 500
    shown = "\n".join(read(html).text.strip("\n") for html in plain)
    assert shown == "\n".join(["# a & *b*"] * (9_000 - len(rich)))
    assert all(len(text_of(html)) <= SOFT_LIMIT_CHARS + 1 for html in plain)


def test_a_block_that_costs_too_much_leaves_the_next_one_as_it_is() -> None:
    dear, after = render("[" * 2_000 + "\n\nand *so* on")
    assert dear == f'<p class="plain">{"[" * 2_000}</p>\n'
    assert after == "<p>and <em>so</em> on</p>\n"


@pytest.mark.parametrize(("mark", "end"), [("**a ", " b**"), ("*a _", "_ a*"), ("~~a *", "* b~~")])
def test_emphasis_that_is_nested_without_end_is_shown_as_written(mark: str, end: str) -> None:
    few, many = mark * 5 + "so" + end * 5, mark * 30 + "so" + end * 30
    assert 'class="plain"' not in "".join(render(few))
    assert render(many) == [f'<p class="plain">{many.strip()}</p>\n']


def test_code_loses_its_colours_before_words_lose_their_marks() -> None:
    code = "```python\nreturn 1\n```\n\n"
    blocks = render(code * 400 + "and *so* on")
    assert "<span" in blocks[0]
    assert "<span" not in blocks[-2]
    assert blocks[-1] == "<p>and <em>so</em> on</p>\n"


def test_the_budget_is_counted_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_ANSWER_COST", 300)
    text = "*a*\n\n" * 30
    whole = render(text)
    assert whole[0] == "<p><em>a</em></p>\n"
    assert whole[-1].startswith('<p class="plain">*a*')
    for size in range(1, 12):
        assert streamed([text[at : at + size] for at in range(0, len(text), size)]) == whole


def test_open_plain_text_grows_at_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "MAX_ANSWER_COST", 0)
    stream = MarkdownStream()
    stream.feed("first\n*so* it")
    assert stream.render_open_block() == '<p class="plain">*so* it</p>\n'
    stream.feed(" is")
    assert stream.render_open_block() == '<p class="plain">*so* it is</p>\n'
