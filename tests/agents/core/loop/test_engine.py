"""One turn engine, two ways to string turns: nobody can tell which one drives a run."""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from django.conf import settings

from agents.core.behaviours import Behaviour, BehaviourVocabulary, read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.chunks import Decision, OracleStreamChunk, SystemMessage
from agents.core.loop import Control, choose_default_behaviour
from tests.agents.core.behaviours.stand_in_words import register_stand_ins
from tests.support.scenarios import play
from tests.support.seeds import COUNTED, RecordProperty, in_slices
from tests.support.virtual import run_virtual

SHIPPED = load_shipped_texts()["oracle-agent"]
SPINNING = "(repeater :max-iterations 1000 (repeater :max-iterations 1000 (fail)))"
RUNS = 40
CI_RUNS = 60
LONG_RUNS = 10_000


@pytest.fixture(autouse=True)
def _without_behaviour() -> Iterator[None]:
    """Whatever drives runs on this site: here they are driven by the plain string."""
    choose_default_behaviour("plain")
    yield
    choose_default_behaviour(settings.ORACLE_DRIVER)


def record(seed: int, control: Control) -> list[OracleStreamChunk]:
    chunks: list[OracleStreamChunk] = []
    verdict = run_virtual(play(seed, chunks, control=control), thread_grace=0.002)
    assert verdict.problems == [], f"seed {seed}: {verdict.problems}"
    return chunks


def compare_drivers(seeds: Sequence[int]) -> int:
    """Return how many chunks were compared, with numbers and times."""
    behaviour = read_behaviour(SHIPPED)
    compared = 0
    for seed in seeds:
        plain = record(seed, Control())
        driven = record(seed, Control(behaviour=behaviour))
        assert strip_paths(driven) == plain, f"seed {seed} differs"
        asked = [one for one in driven if isinstance(one, Decision) and not one.parent]
        assert all(one.path for one in asked if one.checkpoint not in ("start", "wrap_up"))
        compared += len(plain)
    return compared


def build_broken(visits: int, spins: bool) -> Behaviour:
    """The shipped behaviour with a word before each node that raises after so many visits, or
    after which it goes round and round."""
    left = [visits]
    words = register_stand_ins("")

    @words.condition("still-good?")
    def is_still_good(run: object) -> bool:
        left[0] -= 1
        if left[0] < 0 and not spins:
            raise RuntimeError("broken on purpose")
        return left[0] >= 0

    text = SHIPPED
    for node in ("(llm-call", "(condition has", "(action plan", "(parallel", "(action hand"):
        text = text.replace(node, f"(condition still-good?) {node}")
    text = text.replace(
        "(action keep-answer", "(sequence (condition still-good?) (action keep-answer"
    )
    text = text.replace('"oracle.keep_answer")', '"oracle.keep_answer"))')
    text = text.replace("(condition still-good?)", f"(selector (condition still-good?) {SPINNING})")
    return read_behaviour(text, BehaviourVocabulary(words=words))


def strip_paths(chunks: Sequence[OracleStreamChunk]) -> list[OracleStreamChunk]:
    """The chunks as the plain string makes them: only a behaviour has a path."""
    return [replace(one, path="") if isinstance(one, Decision) else one for one in chunks]


def strip_numbers(chunks: Sequence[OracleStreamChunk]) -> list[OracleStreamChunk]:
    return [replace(chunk, seq=0) for chunk in strip_paths(chunks)]


def break_behaviours(seeds: Sequence[int]) -> int:
    """Return how many of the runs went on without their behaviour."""
    broken = 0
    for seed in seeds:
        plain = record(seed, Control())
        visits = random.Random(seed).randrange(12)
        control = Control(behaviour=build_broken(visits, spins=seed % 2 == 1))
        driven = record(seed, control)
        notices = [one for one in driven if is_failure(one)]
        assert len(notices) <= 1
        rest = [one for one in driven if not is_failure(one)]
        assert strip_numbers(rest) == strip_numbers(plain), f"seed {seed} differs"
        broken += len(notices)
    return broken


def is_failure(chunk: OracleStreamChunk) -> bool:
    return isinstance(chunk, SystemMessage) and "The behaviour oracle-agent failed" in (
        chunk.system_message
    )


def test_the_shipped_behaviour_says_what_the_plain_string_says() -> None:
    assert compare_drivers(range(RUNS)) > 20 * RUNS


def test_the_plain_string_goes_on_where_a_behaviour_fails() -> None:
    assert break_behaviours(range(RUNS)) > RUNS // 4


@pytest.mark.ci
def test_both_say_the_same_in_further_runs() -> None:
    compare_drivers(range(1_000, 1_000 + CI_RUNS))
    assert break_behaviours(range(1_000, 1_040)) > 10


@pytest.mark.long
@in_slices(LONG_RUNS, first=200_000)
def test_both_say_the_same_in_ten_thousand_runs(
    seeds: range, record_property: RecordProperty
) -> None:
    record_property(COUNTED, {"chunks": compare_drivers(seeds)})


@pytest.mark.long
def test_the_plain_string_goes_on_in_hundreds_of_runs() -> None:
    assert break_behaviours(range(1_040, 1_300)) > 75
