"""Whatever a behaviour says: its run keeps every promise that a run without it keeps."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from agents.core.behaviours import (
    Behaviour,
    BehaviourVocabulary,
    InvalidBehaviour,
    read_behaviour,
)
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.chunks import OracleStreamChunk
from agents.core.decisions import TREES
from agents.core.loop import Control
from agents.core.replay.engine import replay
from tests.agents.core.behaviours.generated import write_behaviour
from tests.agents.core.behaviours.mutations import mutate
from tests.agents.core.factories import done
from tests.agents.core.recorded_runs import recording_of
from tests.support.histories import find_history_problems
from tests.support.scenarios import AlwaysYes, Scenario, play
from tests.support.seeds import COUNTED, RecordProperty, in_slices
from tests.support.virtual import run_virtual

RUNS = 60
CI_RUNS = 300
LONG_RUNS = 10_000


def play_behaviour(behaviour: Behaviour, seed: int) -> str:
    """Return the reason for which a random run ended that a behaviour drove."""
    chunks: list[OracleStreamChunk] = []
    control = Control(behaviour=behaviour)
    verdict = run_virtual(play(seed, chunks, control=control), thread_grace=0.002)
    verdict.problems += find_history_problems(chunks)
    assert verdict.problems == [], f"seed {seed}: {verdict.problems}\n{behaviour.text}"
    check_replay(chunks, seed)
    return verdict.reason


def check_replay(chunks: Sequence[OracleStreamChunk], seed: int) -> None:
    """What was recorded of the run is enough to decide the same again."""
    scenario = Scenario.of(seed)
    if not isinstance(scenario.tree, AlwaysYes):
        (tree,) = (name for name, cls in TREES if cls is type(scenario.tree))
        again = replay(recording_of(chunks, scenario.config, tree))
        assert (again.kind, again.why_unknown) == ("same", ""), f"seed {seed}"
        assert again.turn == done(chunks).turns_used


def play_generated(seeds: Sequence[int]) -> Counter[str]:
    reasons: Counter[str] = Counter()
    for seed in seeds:
        behaviour = read_behaviour(write_behaviour(random.Random(seed)))
        reasons[play_behaviour(behaviour, seed)] += 1
    return reasons


def play_mutated(seeds: Sequence[int]) -> Counter[str]:
    """Those that can be read are played; that the others are refused is tested elsewhere."""
    reasons: Counter[str] = Counter()
    texts = load_shipped_texts()
    vocabulary = BehaviourVocabulary(behaviours=texts)
    for seed in seeds:
        rng = random.Random(seed)
        text = mutate(rng.choice(list(texts.values())), rng)
        try:
            behaviour = read_behaviour(text, vocabulary)
        except InvalidBehaviour:
            reasons["refused"] += 1
        else:
            reasons[play_behaviour(behaviour, seed)] += 1
    return reasons


@pytest.mark.parametrize("name", load_shipped_texts())
def test_a_shipped_behaviour_keeps_every_promise(name: str) -> None:
    behaviour = read_behaviour(load_shipped_texts()[name])
    for seed in range(20):
        play_behaviour(behaviour, seed)


def test_a_behaviour_that_nobody_would_write_keeps_every_promise() -> None:
    assert len(play_generated(range(RUNS))) > 4


def test_a_mutated_behaviour_is_refused_or_keeps_every_promise() -> None:
    reasons = play_mutated(range(RUNS))
    assert reasons["refused"] < RUNS


@pytest.mark.ci
def test_hundreds_of_behaviours_keep_every_promise() -> None:
    reasons = play_generated(range(1_000, 1_000 + CI_RUNS))
    assert {"needs_approval", "behaviour_ended", "completed"} <= set(reasons)
    play_mutated(range(1_000, 1_000 + CI_RUNS))


@pytest.mark.long
@in_slices(LONG_RUNS, first=100_000, size=2_500)
def test_ten_thousand_behaviours_keep_every_promise(
    seeds: range, record_property: RecordProperty
) -> None:
    reasons = play_generated(seeds)
    record_property(COUNTED, dict(reasons))
    assert {"needs_approval", "behaviour_ended", "completed"} <= set(reasons)


@pytest.mark.long
@in_slices(LONG_RUNS, first=100_000)
def test_ten_thousand_mutated_behaviours_are_refused_or_keep_every_promise(
    seeds: range, record_property: RecordProperty
) -> None:
    reasons = play_mutated(seeds)
    record_property(COUNTED, dict(reasons))
    assert reasons["refused"] < len(seeds)
