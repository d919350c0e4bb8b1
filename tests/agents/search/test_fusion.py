"""Several lists of hits as one."""

from agents.search.fusion import fuse


def test_what_two_lists_have_comes_before_what_one_has() -> None:
    assert fuse([["a", "b"], ["c", "b"]]) == ["b", "a", "c"]


def test_one_list_stays_as_it_is() -> None:
    assert fuse([[3, 1, 2]]) == [3, 1, 2]


def test_no_list_is_an_empty_one() -> None:
    assert fuse([]) == []
