"""Whatever is done to a behaviour's text: it is refused with a place that is in it, or read."""

import random

import pytest

from agents.core.behaviours import BehaviourVocabulary, InvalidBehaviour, read_behaviour
from agents.core.behaviours.drawing import draw_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from tests.agents.core.behaviours.mutations import mutate
from tests.agents.core.behaviours.stand_in_words import register_stand_ins
from tests.agents.core.behaviours.test_reader import MIGRATION
from tests.support.seeds import COUNTED, RecordProperty, in_slices


def try_mutations(count: int, seed: int) -> tuple[int, int]:
    """Return how many were refused, and how many read."""
    rng = random.Random(seed)
    migration = MIGRATION.read_text()
    texts = [*load_shipped_texts().values(), migration]
    vocabulary = BehaviourVocabulary(
        words=register_stand_ins(migration),
        tools=["delegate_librarian", "vault_read"],
        behaviours=load_shipped_texts(),
    )
    refused = 0
    for _ in range(count):
        text = mutate(rng.choice(texts), rng)
        try:
            behaviour = read_behaviour(text, vocabulary)
        except InvalidBehaviour as error:
            check_places(text, error)
            refused += 1
        else:
            nodes = list(behaviour.walk())
            assert [node.number for node in nodes] == list(range(1, len(nodes) + 1))
            assert len(list(draw_behaviour(behaviour))) > len(nodes)
    return refused, count - refused


def check_places(text: str, error: InvalidBehaviour) -> None:
    lines = text.split("\n")
    assert error.problems
    for problem in error.problems:
        assert 1 <= problem.line <= len(lines), f"{problem} in {text!r}"
        assert 1 <= problem.column <= len(lines[problem.line - 1]) + 1, f"{problem} in {text!r}"


def test_mutated_texts_are_refused_with_a_place_or_read() -> None:
    refused, read = try_mutations(300, seed=1)
    assert refused > 100
    assert read > 10


@pytest.mark.long
@in_slices(10_000)
def test_ten_thousand_mutated_texts_are_refused_with_a_place_or_read(
    seeds: range, record_property: RecordProperty
) -> None:
    refused, read = try_mutations(len(seeds), seed=2 + seeds.start)
    record_property(COUNTED, {"refused": refused, "read": read})
    assert refused > 0.3 * len(seeds)
    assert read > 0.03 * len(seeds)
