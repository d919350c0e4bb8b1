"""Properties are read line by line: nothing is guessed, nothing is changed, nothing raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.core.frontmatter import read_frontmatter, set_property
from agents.search.sections import split_lines


def values(text: str, name: str) -> list[str]:
    found = read_frontmatter(text.splitlines()).find(name)
    return found.values if found else []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("x: no", "no"),
        ("x: 12:30", "12:30"),
        ("x: 012345", "012345"),
        ("x: 1.10", "1.10"),
        ("x: [[Link]]", "[[Link]]"),
        ("x: #a", "#a"),
        ("x: @foo", "@foo"),
        ("x: a: b", "a: b"),
        ('x: "a \\"b\\""', 'a "b"'),
        ("x: 'it''s'", "it's"),
        ("X : a", "a"),
        ("x: {{date}}", "{{date}}"),
        ("x: |\n  one\n  two", "one two"),
    ],
)
def test_a_value_is_what_was_written(line: str, expected: str) -> None:
    assert values(f"---\n{line}\n---\n", "x") == [expected]


@pytest.mark.parametrize(
    ("text", "end"),
    [
        ("---\na: b\n---\ntext", 3),
        ("---\na: b\n...\ntext", 3),
        ("\ufeff---\na: b\n---\n", 3),
        ("---\n---\ntext", 2),
        ("---  \na: b\n---  \n", 3),
        ("---\n# comment\na: b\n---\n", 4),
        ("---\ntext, not a property\n\n---\nmore", 0),
        ("---\n\nA rule: above.\n\nText.\n", 0),
        ("---\n\n\n---\n", 0),
        ("---\na: b\n", 0),
        ("text\n---\na: b\n---\n", 0),
        (" ---\na: b\n---\n", 0),
        ("----\na: b\n----\n", 0),
        ("", 0),
        ("---", 0),
    ],
)
def test_only_a_block_of_properties_is_frontmatter(text: str, end: int) -> None:
    assert read_frontmatter(text.splitlines()).end == end


SETTINGS = {
    "one_line_is_changed": (
        "---\na: 1\nb: 2 #c\n---\nx\n",
        "---\na: new\nb: 2 #c\n---\nx\n",
    ),
    "a_list_becomes_a_line": ("---\na:\n  - 1\n  - 2\nb: 3\n---\n", "---\na: new\nb: 3\n---\n"),
    "it_is_added_at_the_end": ("---\nb: 2\n---\nx\n", "---\nb: 2\na: new\n---\nx\n"),
    "a_block_is_made": ("x\n", "---\na: new\n---\nx\n"),
    "line_ends_are_kept": ("---\r\na: 1\r\n---\r\nx\r\n", "---\r\na: new\r\n---\r\nx\r\n"),
    "the_mark_stays_first": ("\ufeffx\n", "\ufeff---\na: new\n---\nx\n"),
    "a_rule_is_no_block": ("---\n\nx\n", "---\na: new\n---\n---\n\nx\n"),
}


@pytest.mark.parametrize(("before", "after"), SETTINGS.values(), ids=SETTINGS)
def test_setting_a_property_changes_nothing_else(before: str, after: str) -> None:
    assert set_property(before, "a", "new") == after


def test_values_that_need_quotes_get_them() -> None:
    text = set_property("", "a", ['x, "y"', "plain", "[[z]]"])
    assert values(text, "a") == ['x, "y"', "plain", "[[z]]"]


@given(st.text(alphabet="-:.[]'\"#| \n\r\tab,{}", max_size=80), st.text(max_size=20))
def test_whatever_there_is_can_be_read_and_set(text: str, value: str) -> None:
    read_frontmatter(text.splitlines())
    written = set_property(text, "name", value)
    assert read_frontmatter(split_lines(written)).find("name") is not None
