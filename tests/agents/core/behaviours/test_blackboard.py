"""What a behaviour remembers: declared keys, each of one kind."""

from typing import Any

import pytest

from agents.core.behaviours import read_behaviour
from agents.core.behaviours.blackboard import (
    MAX_BOARD_BYTES,
    MAX_VALUE_BYTES,
    Blackboard,
    NotWritten,
)


def build(schema: str) -> Blackboard:
    behaviour = read_behaviour(f'(tree "mine" :blackboard-schema {{{schema}}} (succeed))')
    return Blackboard(behaviour.schema)


def test_a_key_begins_with_its_default() -> None:
    board = build(
        ':plan "none" :topics ["a"] :depth 3 :done false :notes {:a 1} :any nil :text string'
    )
    assert board.get_names() == {
        "plan": "none",
        "topics": ["a"],
        "depth": 3,
        "done": False,
        "notes": {"a": 1},
        "any": None,
        "text": None,
    }


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        (':a ""', "text"),
        (":a string", "text"),
        (":a []", [1, "b"]),
        (':a ["b"]', ["c"]),
        (":a 3", 0.5),
        (":a true", False),
        (":a map", {"b": []}),
        (":a nil", ["anything"]),
        (":a any", 3),
        (":a 3", None),
    ],
)
def test_a_value_of_its_kind_is_written(schema: str, value: Any) -> None:
    board = build(schema)
    board.write("a", value)
    assert board.read("a") == value


@pytest.mark.parametrize(
    ("schema", "value", "problem"),
    [
        (':a ""', 3, ":a is a text, not a number"),
        (":a 3", "3", ":a is a number, not a text"),
        (":a 3", True, ":a is a number, not true or false"),
        (":a []", {"b": 1}, ":a is a list, not a map"),
        (':a ["b"]', ["c", 1], ":a is a list, not a list"),
        (":a any", object(), "such a value cannot be kept in :a"),
        (":a any", float("nan"), "such a value cannot be kept in :a"),
        (":a any", "b" * MAX_VALUE_BYTES, "a value has at most 16,384 bytes, the one of :a more"),
        (":b 1", 3, "there is no key :a"),
    ],
)
def test_any_other_leaves_the_blackboard_as_it_was(schema: str, value: Any, problem: str) -> None:
    board = build(schema)
    before = board.get_names()
    with pytest.raises(NotWritten) as caught:
        board.write("a", value)
    assert str(caught.value) == problem
    assert board.get_names() == before


def test_all_values_together_have_a_bound() -> None:
    board = build(" ".join(f':k{number} ""' for number in range(6)))
    text = "b" * (MAX_VALUE_BYTES - 2)
    for number in range(MAX_BOARD_BYTES // MAX_VALUE_BYTES):
        board.write(f"k{number}", text)
    with pytest.raises(NotWritten, match="holds at most 65,536 bytes"):
        board.write("k5", "b")
    board.write("k0", "")
    board.write("k5", "b")


def test_an_item_is_read_before_the_keys_and_written_by_nobody() -> None:
    board = build(':item "own" :b 1')
    assert board.get_names({"item": "of a list"}) == {"item": "of a list", "b": 1}
    assert board.read("item") == "own"
