"""Merging two changes of one text by lines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agents.vault.merge import adopt_line_ends, merge_texts

CASES = {
    "only_yours": ("a\nb\n", "a\nB\n", "a\nb\n", "a\nB\n"),
    "only_theirs": ("a\nb\n", "a\nb\n", "A\nb\n", "A\nb\n"),
    "different_lines": ("a\nb\nc\n", "A\nb\nc\n", "a\nb\nC\n", "A\nb\nC\n"),
    "neighbouring_lines": ("a\nb\n", "A\nb\n", "a\nB\n", "A\nB\n"),
    "the_same_change": ("a\nb\n", "a\nx\n", "a\nx\n", "a\nx\n"),
    "both_delete": ("a\nb\nc\n", "a\nc\n", "a\nc\n", "a\nc\n"),
    "insertions_apart": ("a\nb\n", "x\na\nb\n", "a\nb\ny\n", "x\na\nb\ny\n"),
    "one_deletes_another_inserts": ("a\nb\nc\n", "b\nc\n", "a\nb\nc\nd\n", "b\nc\nd\n"),
    "line_ends_of_a_browser": ("a\nb\n", "a\r\nB\r\n", "A\nb\n", "A\nB\n"),
    "without_a_last_line_end": ("a\nb", "a\nB", "A\nb", "A\nB"),
}


@pytest.mark.parametrize(("base", "yours", "theirs", "merged"), CASES.values(), ids=CASES)
def test_changes_of_different_lines_are_both_kept(
    base: str, yours: str, theirs: str, merged: str
) -> None:
    result = merge_texts(base, yours, theirs)
    assert (result.text, result.conflict_count) == (merged, 0)


def test_changes_of_the_same_line_are_a_conflict_with_both() -> None:
    result = merge_texts("a\nb\nc\n", "a\nmine\nc\n", "a\nother\nc\n")
    assert result.conflict_count == 1
    assert result.text == "a\n<<<<<<< yours\nmine\n=======\nother\n>>>>>>> theirs\nc\n"
    assert [chunk.kind for chunk in result.chunks] == ["same", "conflict", "same"]


TEXTS = st.lists(st.sampled_from("abcd"), max_size=12).map(lambda lines: "\n".join([*lines, ""]))


@given(TEXTS, TEXTS, TEXTS)
def test_each_side_can_be_put_together_again(base: str, yours: str, theirs: str) -> None:
    chunks = merge_texts(base, yours, theirs).chunks
    assert "".join(chunk.base for chunk in chunks) == base
    assert "".join(chunk.yours for chunk in chunks) == yours
    assert "".join(chunk.theirs for chunk in chunks) == theirs


@given(TEXTS, TEXTS)
def test_a_change_of_one_side_is_taken_whole(base: str, changed: str) -> None:
    assert merge_texts(base, changed, base).text == changed
    assert merge_texts(base, base, changed).text == changed


def test_line_ends_are_those_that_are_stored() -> None:
    assert adopt_line_ends("a\r\nb\n", "x\ny") == "a\nb\n"
    assert adopt_line_ends("a\nb", "x\r\n") == "a\r\nb"
