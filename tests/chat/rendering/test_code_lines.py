"""Lines of code as HTML."""

import pytest

from chat.rendering.code_lines import MAX_LINE_CHARS, number_code, render_code, split_code
from tests.support.hostile import OURS
from tests.support.pages import Page


def strip(html: str) -> str:
    return "".join(Page(f"<p>{html}</p>").text("p"))


def test_lines_are_coloured_and_no_span_crosses_one() -> None:
    html = render_code(['"""One', 'two"""', "def read():"], "gauge.py")
    assert html[0] == '<span class="s">&quot;&quot;&quot;One</span>'.replace("&quot;", '"')
    assert html[1].startswith('<span class="s">two')
    assert '<span class="k">def</span>' in html[2]


@pytest.mark.parametrize("path", ["gauge", "gauge.unknown", "gauge.", ".py/x", ""])
def test_what_is_no_known_language_stays_plain(path: str) -> None:
    assert render_code(["def read(): <b>"], path) == ["def read(): &lt;b&gt;"]


@pytest.mark.parametrize("count", [0, 1, 399, 4_000])
def test_every_line_has_its_line(count: int) -> None:
    lines = [f"x{n} = {n}  # {'y' * 20}" for n in range(count)]
    assert len(render_code(lines, "a.py")) == count
    assert [line.number for line in number_code(lines, "a.py", 7)] == list(range(7, 7 + count))


def test_long_code_is_coloured_as_far_as_the_budget_goes() -> None:
    html = render_code([f"def f{n}(): return {n}" for n in range(4_000)], "a.py")
    assert "<span" in html[0]
    assert "<span" not in html[2_000]


def test_one_endless_line_leaves_the_others_coloured() -> None:
    lines = ["def f():", *["    return 1"] * 300, "x" * 1_000_000, *["def g(): pass"] * 300]
    html = render_code(lines, "a.py")
    assert "<span" in html[0]
    assert len(html[301]) < MAX_LINE_CHARS + 100


def test_lines_are_split_as_parsers_count_them() -> None:
    assert split_code("a\r\nb\x0cc\u2028d\n") == ["a", "b\x0cc\u2028d"]
    assert split_code("") == []


@pytest.mark.parametrize("payload", OURS)
def test_whatever_is_written_it_is_text(payload: str) -> None:
    for path in ("a.py", "a.js", "a.html", "a.php", "a.md", "a"):
        html = "".join(render_code(split_code(payload), path))
        tags = {tag for tag, _ in Page(f"<p>{html}</p>").elements}
        assert tags <= {"p", "span"}
