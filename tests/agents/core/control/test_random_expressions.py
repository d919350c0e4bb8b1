"""Whatever somebody writes is refused with a place, answered, or has no value: nothing else."""

import math
from collections import Counter
from random import Random
from typing import Any

import pytest

from agents.core.control import InvalidExpression, PlacedProblem, Unanswerable, parse_expression
from agents.core.control.functions import FUNCTIONS
from tests.agents.core.control.random_expressions import (
    LANGUAGE,
    VALUES,
    write_any,
    write_number,
    write_text,
    write_truth,
)
from tests.support.seeds import COUNTED, RecordProperty, in_slices


class Dotted(dict[str, Any]):
    """A record as Python reads it: its entries as attributes."""

    __getattr__ = dict.get


def as_python(value: Any) -> Any:
    if isinstance(value, dict):
        return Dotted({key: as_python(one) for key, one in value.items()})
    return [as_python(one) for one in value] if isinstance(value, list) else value


PYTHON: dict[str, Any] = {
    **{name: function.call for name, function in FUNCTIONS.items()},
    **as_python(VALUES),
    "min": min,
    "max": max,
    "true": True,
    "__builtins__": {},
}


def answer(text: str) -> str:
    """What becomes of a text. Every problem stands in it."""
    found: list[PlacedProblem] = []
    try:
        parse_expression(text, LANGUAGE).evaluate(VALUES)
    except InvalidExpression as error:
        found.extend(error.problems)
        what = "refused"
    except Unanswerable as error:
        found.append(error.problem)
        what = "without a value"
    else:
        return "answered"
    assert found
    for problem in found:
        assert_is_in(problem, text)
    return what


def assert_is_in(problem: PlacedProblem, text: str) -> None:
    lines = text.split("\n")
    assert 1 <= problem.line <= len(lines)
    assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1
    assert problem.message


def count_answers(seed: int, texts: int) -> Counter[str]:
    random = Random(seed)
    return Counter(answer(write_any(random)) for _ in range(texts))


def test_random_texts_are_refused_with_a_place_or_answered() -> None:
    counts = count_answers(seed=18, texts=2_000)
    assert counts.total() == 2_000
    assert min(counts.values()) > 20, counts


@pytest.mark.long
@in_slices(100_000, size=5_000)
def test_a_hundred_thousand_random_texts_are_refused_with_a_place_or_answered(
    seeds: range, record_property: RecordProperty
) -> None:
    counts = count_answers(seed=1 + seeds.start, texts=len(seeds))
    record_property(COUNTED, dict(counts))
    assert counts.total() == len(seeds)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_answered_is_what_python_answers(seed: int) -> None:
    random = Random(seed)
    for _ in range(25):
        text = random.choice([write_number, write_text, write_truth])(random, random.randint(0, 4))
        try:
            value = parse_expression(text, LANGUAGE).evaluate(VALUES)
        except (InvalidExpression, Unanswerable):
            continue
        wanted = eval(text, dict(PYTHON))  # noqa: S307 - a text of our own, above
        assert value == wanted or math.isclose(value, wanted), text


def test_most_that_is_well_formed_is_answered() -> None:
    random = Random(3)
    counts = Counter(answer(write_truth(random, 3)) for _ in range(500))
    assert counts["answered"] > 300, counts
    assert counts["refused"] < 100, counts
