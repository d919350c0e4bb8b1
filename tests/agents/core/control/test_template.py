"""Templates: words with fields, and nothing of Python's formatting that could be misused."""

import random

import pytest

from agents.core.control.kinds import NUMBER, TEXT
from agents.core.control.template import InvalidTemplate, parse_template

FIELDS = {"tool": TEXT, "error": TEXT, "size": NUMBER}


def render(text: str, **values: object) -> str:
    return parse_template(text, FIELDS).render(values)


def refuse(text: str) -> str:
    with pytest.raises(InvalidTemplate) as caught:
        parse_template(text, FIELDS)
    return "; ".join(map(str, caught.value.problems))


def test_fields_are_filled_in() -> None:
    assert render("{tool} failed: {error}", tool="look", error="No.") == "look failed: No."
    assert render("No fields.") == "No fields."
    assert render("{tool}") == ""


def test_numbers_have_formats() -> None:
    assert render("{size:,}", size=14_000) == "14,000"
    assert render("{size:g} {size:.1f} {size}", size=2.50) == "2.5 2.5 2.5"


@pytest.mark.parametrize("how", ["", ":,", ":g", ":.1f"])
@pytest.mark.parametrize("digits", [400, 5_000])
def test_a_number_of_any_length_is_shown_within_the_length_of_a_field(
    how: str, digits: int
) -> None:
    assert 0 < len(render(f"{{size{how}}}", size=10**digits)) <= 120


def test_a_text_stays_on_its_line_and_within_its_length() -> None:
    assert render("{error}!", error="a\nb\r\n  c") == "a b c!"
    assert len(render("{error}", error="x" * 900)) == 120


def test_unknown_fields_are_refused_with_their_place_and_the_nearest_name() -> None:
    assert refuse("A\n {tol}") == "2:2: there is no field 'tol'; did you mean 'tool'?"


@pytest.mark.parametrize(
    "text",
    ["{tool.x}", "{tool[0]}", "{x.__class__}", "{tool!r}", "{0}", "{}", "{size:>999999999}"],
)
def test_what_python_would_allow_is_refused(text: str) -> None:
    assert refuse(text).startswith("1:1: ")


def test_a_text_has_no_format() -> None:
    assert refuse("{tool:,}") == "1:1: tool is a text, and only numbers have a format"


def test_brackets_without_partners_are_refused() -> None:
    assert refuse("a { b") == "1:3: this bracket has no partner"
    assert refuse("a }") == "1:3: this bracket has no partner"
    assert refuse("{{tool}}").count("no partner") == 2


def test_any_text_is_refused_or_rendered() -> None:
    rng = random.Random(1)
    for _ in range(3_000):
        text = "".join(rng.choices("{}tol:,g.1f[]!r_ \nä", k=rng.randrange(20)))
        try:
            template = parse_template(text, FIELDS)
        except InvalidTemplate as error:
            lines = text.split("\n")
            for problem in error.problems:
                assert 1 <= problem.column <= len(lines[problem.line - 1])
        else:
            template.render({"tool": "look", "size": 1})
