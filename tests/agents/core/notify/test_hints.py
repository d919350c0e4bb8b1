"""What a model is told at once: bounded, the core first, the rest counted."""

import random

from agents.core.notify.hints import MAX_HINT_CHARS, HintLine, fit_hints
from agents.core.notify.words import MAX_HINT_LENGTH
from agents.core.tokens import TURN_CHARS


def other(text: str, rank: int = 2) -> HintLine:
    return HintLine(text, core=False, rank=rank)


def test_what_fits_is_told_in_its_order() -> None:
    assert fit_hints([HintLine("a"), other("b"), HintLine("c")]) == (["a", "b", "c"], 0)


def test_three_that_are_not_core_are_told_the_most_urgent_first() -> None:
    lines = [other("low", 3), other("a"), other("b"), other("high", 1), other("c")]
    assert fit_hints(lines) == (["a", "b", "high", "and 2 more"], 2)


def test_three_of_the_longest_fit() -> None:
    lines = [other("x" * MAX_HINT_LENGTH) for _ in range(3)]
    assert fit_hints(lines)[1] == 0
    assert fit_hints([HintLine("x"), *lines])[1] == 1


def test_the_core_is_told_when_others_have_to_go() -> None:
    core = [HintLine("c" * 490) for _ in range(2)]
    texts, left_out = fit_hints([other("b" * 480), *core, other("a" * 480, 0)])
    assert texts == [*(line.text for line in core), "and 2 more"]
    assert left_out == 2


def test_before_a_last_answer_the_oldest_of_the_core_go() -> None:
    lines = [HintLine("a" * 100), HintLine("b" * 100), HintLine("c" * 100)]
    assert fit_hints(lines, 250)[0] == ["b" * 100, "c" * 100]
    assert fit_hints(lines, 300)[0] == [line.text for line in lines]
    assert fit_hints(lines, 0)[0] == []


def test_no_request_gets_more_than_a_turn_has_room_for() -> None:
    assert MAX_HINT_CHARS <= TURN_CHARS
    for seed in range(500):
        dice = random.Random(seed)
        lines = [
            HintLine("x" * dice.randint(1, 500), core=dice.random() < 0.3, rank=dice.randrange(4))
            for _ in range(dice.randint(0, 30))
        ]
        texts, left_out = fit_hints(lines)
        assert len("\n".join(f"[Oracle: {text}]" for text in texts)) <= MAX_HINT_CHARS
        others = [line for line in lines if not line.core]
        assert left_out >= len(others) - 3
