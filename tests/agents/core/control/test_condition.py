"""Conditions: whether they hold, and which part of them did not."""

from random import Random

import pytest

from agents.core.control import InvalidExpression, Language, Unanswerable, parse_expression
from agents.core.control.condition import parse_condition
from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, RecordKind
from tests.agents.core.control import random_expressions

LANGUAGE = Language(
    names={
        "result": RecordKind("result", {"size": NUMBER, "tool_name": TEXT}),
        "failures": MapKind(NUMBER),
        "names": ListKind(TEXT),
        "state": MapKind(ANY),
    }
)
VALUES_HERE = {
    "result": {"size": 4_200, "tool_name": "vault_read"},
    "failures": {"vault_read": 2},
    "names": ["a", "b"],
    "state": {"is_late": True, "name": "Pump"},
}


def explain(text: str) -> str:
    part = parse_condition(text, LANGUAGE).find_false_part(VALUES_HERE)
    return str(part) if part else ""


def test_a_condition_that_holds_has_no_false_part() -> None:
    assert explain("result.size > 4000 and failures[result.tool_name] == 2") == ""


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("result.size > 14000", "result.size > 14000 did not hold: 4,200 and 14,000"),
        (
            "result.size > 1 and failures[result.tool_name] >= 3 and 1 == 2",
            "failures[result.tool_name] >= 3 did not hold: 2 and 3",
        ),
        ('"c" in names', '"c" in names did not hold: "c" and a list of 2'),
        ("not names", "not names did not hold: a list of 2"),
        ("state.count", "state.count did not hold: nothing"),
        (
            "any(n == result.tool_name for n in names)",
            "any(n == result.tool_name for n in names) did not hold: false",
        ),
        ("1 / 3 > 0.5", "1 / 3 > 0.5 did not hold: 0.333 and 0.500"),
        ("state.count > 3", "state.count > 3 did not hold: nothing and 3"),
        ("state.is_late > 1", "state.is_late > 1 did not hold: true and 1"),
    ],
)
def test_the_first_part_that_does_not_hold_is_told_with_what_it_compared(
    text: str, words: str
) -> None:
    assert explain(text) == words


def test_a_text_is_neither_more_nor_less_than_a_number() -> None:
    with pytest.raises(Unanswerable, match="> cannot be used on a text and a number"):
        explain("state.name > 3")


def test_what_was_compared_stays_as_it_was() -> None:
    names = ["a"]
    part = parse_condition("names == []", LANGUAGE).find_false_part({"names": names})
    names.append("b")
    assert str(part) == "names == [] did not hold: a list of 1 and a list of 0"


def test_all_parts_share_one_budget_of_steps() -> None:
    part = "any(n == 'x' for n in names)"
    condition = parse_condition(f"not {part} and not {part} and not {part}", LANGUAGE)
    assert condition.find_false_part({"names": ["a"] * 500}) is None
    with pytest.raises(Unanswerable):
        condition.find_false_part({"names": ["a"] * 1_500})


def test_a_condition_is_true_or_false() -> None:
    with pytest.raises(InvalidExpression, match="expected true or false, not a number"):
        parse_condition("result.size", LANGUAGE)


def test_random_conditions_hold_exactly_when_their_expressions_are_true() -> None:
    random, language, values = Random(18), random_expressions.LANGUAGE, random_expressions.VALUES
    for _ in range(500):
        parts = [random_expressions.write_truth(random, 2) for _ in range(random.randint(1, 3))]
        text = " and ".join(parts)
        try:
            expression = parse_expression(text, language, TRUTH)
        except InvalidExpression:
            continue
        condition = parse_condition(text, language)
        try:
            holds = bool(expression.evaluate(values))
        except Unanswerable:
            with pytest.raises(Unanswerable):
                condition.find_false_part(values)
        else:
            assert (condition.find_false_part(values) is None) == holds, text


@pytest.mark.parametrize("size", [3, 4.5, 5, 6, True, None, "7", []])
@pytest.mark.parametrize("sign", ["<", "<=", ">", ">="])
def test_a_glance_tells_nothing_that_a_look_does_not(size: object, sign: str) -> None:
    condition = parse_condition(f"result.size {sign} 5 and names", LANGUAGE)
    values = {"result": {"size": size}, "names": []}
    assert condition.glance is not None
    told = condition.glance(values)
    if type(size) in (int, float):
        missed = condition.find_false_part(values)
        assert missed is not None
        assert told == (missed if missed.text.startswith("result") else None)
    else:
        assert told is None
    assert condition.glance({"result": None}) is None


@pytest.mark.parametrize("text", ["state.count > 3", "failures.a > 3", "3 < result.size"])
def test_only_a_fact_with_a_number_behind_it_is_glanced_at(text: str) -> None:
    assert parse_condition(text, LANGUAGE).glance is None
