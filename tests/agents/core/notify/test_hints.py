"""What a model is told at once: bounded, the core first, the rest counted."""

import random

from agents.core.notify.hints import (
    MAX_HINT_CHARS,
    FittedHints,
    HintLine,
    fit_hints,
    measure_told,
)
from agents.core.notify.words import MAX_HINT_LENGTH
from agents.core.tokens import TURN_CHARS


def other(text: str, rank: int = 2, events: tuple[int, ...] = ()) -> HintLine:
    return HintLine(text, core=False, rank=rank, events=events)


def test_what_fits_is_told_in_its_order() -> None:
    lines = [HintLine("a", events=(3,)), other("b", events=(5, 6)), HintLine("c")]
    assert fit_hints(lines) == FittedHints(["a", "b", "c"], (3, 5, 6))


def test_three_that_are_not_core_are_told_the_most_urgent_first() -> None:
    lines = [other("low", 3), other("a"), other("b"), other("high", 1), other("c")]
    assert fit_hints(lines) == FittedHints(["a", "b", "high", "and 2 more"], dropped=2)


def test_three_of_the_longest_fit() -> None:
    lines = [other("x" * MAX_HINT_LENGTH) for _ in range(3)]
    assert fit_hints(lines).dropped == 0
    assert fit_hints([HintLine("x"), *lines]).dropped == 1


def test_the_core_is_told_when_others_have_to_go() -> None:
    core = [HintLine("c" * 490) for _ in range(2)]
    fitted = fit_hints([other("b" * 480), *core, other("a" * 480, 0)])
    assert fitted.texts == [*(line.text for line in core), "and 2 more"]
    assert fitted.dropped == 2


def test_where_nothing_is_told_nothing_is_counted_to_the_model() -> None:
    fitted = fit_hints([other("b" * 480, events=(7,))], 100)
    assert fitted == FittedHints([], dropped=1)


def test_before_a_last_answer_the_oldest_of_the_core_go() -> None:
    lines = [HintLine("a" * 100), HintLine("b" * 100), HintLine("c" * 100)]
    assert fit_hints(lines, 250).texts == ["b" * 100, "c" * 100]
    assert fit_hints(lines, 300).texts == [line.text for line in lines]
    assert fit_hints(lines, 0).texts == []


def test_no_request_gets_more_than_a_turn_has_room_for() -> None:
    assert MAX_HINT_CHARS <= TURN_CHARS
    for seed in range(500):
        dice = random.Random(seed)
        lines = [
            HintLine("x" * dice.randint(1, 500), core=dice.random() < 0.3, rank=dice.randrange(4))
            for _ in range(dice.randint(0, 30))
        ]
        fitted = fit_hints(lines)
        assert len("\n".join(f"[Oracle: {text}]" for text in fitted.texts)) <= MAX_HINT_CHARS
        others = [line for line in lines if not line.core]
        assert fitted.dropped >= len(others) - 3


def test_what_subscribers_tell_is_measured_as_it_will_stand_in_the_request() -> None:
    lines = [other("x" * 290, events=(n,)) for n in range(8)]
    texts = fit_hints(lines).texts
    told = "\n".join(f"[Oracle: {text}]" for text in texts)
    assert len(told) <= measure_told(lines) <= len(told) + 1
    assert measure_told([HintLine("of the loop, whose forecast has it")]) == 0
    assert measure_told([]) == 0


def test_what_is_not_core_takes_no_more_than_there_is_to_spare() -> None:
    lines = [HintLine("core"), *(other("x" * 90, events=(n,)) for n in range(3))]
    assert len(fit_hints(lines, spare=300).texts) == 4
    assert fit_hints(lines, spare=0) == FittedHints(["core", "and 3 more"], dropped=3)
