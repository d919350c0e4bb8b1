"""What a diff shows of two texts."""

from hypothesis import given
from hypothesis import strategies as st

from agents.vault.diffs import diff_texts
from tests.support.timing import assert_in_proportion


def show(before: str, after: str, context: int = 1) -> list[str]:
    marks = {"same": " ", "added": "+", "removed": "-", "gap": "~"}
    return [
        marks[line.kind]
        + "".join(f"[{part.text}]" if part.is_changed else part.text for part in line.parts)
        for line in diff_texts(before, after, context).lines
    ]


def test_words_that_changed_are_marked_in_their_line() -> None:
    assert show("a\nthe old word\nb\n", "a\nthe new word\nb\n") == [
        " a",
        "-the [old] word",
        "+the [new] word",
        " b",
    ]


def test_lines_far_from_a_change_are_left_out() -> None:
    before = "".join(f"{n}\n" for n in range(10))
    after = before.replace("5\n", "5\nnew\n")
    assert show(before, after) == ["~5", " 5", "+new", " 6", "~3"]


def test_numbers_are_those_of_both_sides() -> None:
    diff = diff_texts("a\nb\nc", "x\na\nc")
    assert [(line.kind, line.old_number, line.new_number) for line in diff.lines] == [
        ("added", None, 1),
        ("same", 1, 2),
        ("removed", 2, None),
        ("same", 3, 3),
    ]
    assert (diff.added, diff.removed) == (1, 1)


def test_equal_texts_have_nothing_to_show() -> None:
    assert diff_texts("a\r\nb", "a\nb").lines == ()


def test_texts_that_differ_everywhere_are_compared_in_proportion_to_their_length() -> None:
    def build(lines: int) -> tuple[str, str]:
        alike = "c\n"  # what is never alike is compared at once
        return ("a\n" * 99 + alike) * (lines // 100), ("b\n" * 99 + alike) * (lines // 100)

    diff = diff_texts("a\n" * 50_000, "b\n" * 50_000)
    assert (diff.added, diff.removed) == (50_000, 50_000)
    assert_in_proportion(lambda texts: diff_texts(*texts), build, size=20_000)


TEXTS = st.lists(st.sampled_from(["a", "b b", "c"]), max_size=12).map("\n".join)


@given(TEXTS, TEXTS)
def test_both_texts_can_be_read_from_a_diff(before: str, after: str) -> None:
    lines = diff_texts(before, after, context=100).lines
    old = [line for line in lines if line.kind in ("same", "removed")]
    new = [line for line in lines if line.kind in ("same", "added")]
    if lines:
        assert ["".join(p.text for p in line.parts) for line in old] == before.splitlines()
        assert ["".join(p.text for p in line.parts) for line in new] == after.splitlines()
    else:
        assert before == after
