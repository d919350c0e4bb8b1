"""The record is enough: decisions can be replayed from the turns alone, and other ones tried."""

import gzip
import json
import math
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Decision,
    OracleStreamChunk,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.decisions.endings import measure_conditions
from agents.core.decisions.protocol import TREES
from agents.core.loop import Control
from agents.core.messages import Finished, ModelError, ModelRequest, TextDelta
from agents.core.replay.engine import Recording, replay
from agents.core.replay.event_reader import build_recording
from agents.core.rules.reader import read_rule
from agents.core.stuck import StuckRules
from tests.agents.core.factories import LOOK, Counting, decisions, done, fresh, limits, play, reason
from tests.agents.core.recorded_runs import chunks_of, recorded, recording_of, stubborn
from tests.support.scenarios import AlwaysYes, Scenario
from tests.support.scenarios import play as play_scenario
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import Item, Pause, ScriptedModel
from tests.support.tools import (
    FakeTools,
    fails,
    returns,
)
from tests.support.virtual import run_virtual, virtual_time

OLD_RUNS = Path(__file__).resolve().parents[3] / "data" / "runs_before_failed_answers.jsonl.gz"
FEW = (*range(50), 61, 65, 69, 176, 200, 480)
"""Seeds of randomised runs that meet every ending."""
CLOCKLESS = {
    *["completed", "max_iterations", "no_progress", "error_limit"],
    *["output_truncated", "content_filter", "empty_answer"],
}


SCENARIOS: dict[str, tuple[list[Any], dict[str, Any]]] = {
    "completed": ([call("look"), call("find"), say("So.")], {}),
    "max_iterations": ([call("page", n=n) for n in range(3)] + [say("So.")], {"max_iterations": 4}),
    "one turn": ([say("So.")], {"max_iterations": 1}),
    "no_progress": ([call("look")] * 3 + [say("So.")], {}),
    "writing": ([call("write")] * 4 + [say("So.")], {}),
    "cycle": ([call("look"), call("find")] * 3 + [call("look"), say("So.")], {}),
    "error_limit": ([call("bad", n=n) for n in range(3)] + [say("So.")], {}),
    "errors with a success": ([call("bad"), call("look"), call("bad", n=1), say("So.")], {}),
    "output_truncated": ([say("So it", finish="length")], {}),
    "content_filter": ([say("", finish="content_filter")], {}),
    "empty_answer": ([say(""), say("")], {}),
    "empty, then not": ([say(""), call("look"), say(""), say("So.")], {}),
    "provider_error": ([call("look"), ModelError("down")], {}),
    "malformed": ([calls(Call("look", "{")), say("So.")], {}),
}


@pytest.mark.parametrize("name", SCENARIOS)
@virtual_time
async def test_decisions_can_be_replayed_from_the_turns_alone(name: str) -> None:
    steps, changes = SCENARIOS[name]
    config = limits(**changes)
    tools = FakeTools(
        {
            "look": returns("same"),
            "find": returns("there"),
            "page": Counting(),
            "write": Counting(),
            "bad": fails("broken"),
        },
        writes={"write"},
    )
    with ScriptedModel(steps) as model:
        chunks = await play(model, tools, config=config)

    state = fresh(config)
    replayed = 0
    for chunk in chunks:
        if isinstance(chunk, Turn) and chunk.phase == "end":
            state = state.after_turn(chunk)
        if isinstance(chunk, Decision):
            replayed += 1
            found = {c.rule: c for c in measure_conditions(state) if c.rule in CLOCKLESS}
            recorded = chunk.checks[: len(measure_conditions(state))]
            assert found == {c.rule: c for c in recorded if c.rule in CLOCKLESS}
            if chunk.checkpoint != "wrap_up":
                fired = [rule for rule in found if found[rule].fired]
                assert chunk.reason == (fired[0] if fired else "")
    assert replayed >= 1
    assert state.turn == done(chunks).turns_used
    assert state.tokens_used == done(chunks).tokens_used


@virtual_time
async def test_a_decision_names_each_rule_once() -> None:
    """Also after the wrap-up turn, when the rule that made it the last one holds no more."""
    model = ScriptedModel([*[call("look")] * 3, say("Stuck.")])
    for decision in decisions(await play(model, FakeTools(LOOK))):
        rules = [check.rule for check in decision.checks]
        assert len(set(rules)) == len(rules)


# -- the same again -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seeds", [FEW, pytest.param(range(250), marks=pytest.mark.long)], ids=["few", "many"]
)
def test_nothing_changed_gives_the_same_for_randomised_runs(
    seeds: Sequence[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(TREES._entries, "AlwaysYes", AlwaysYes)
    reasons = set()
    for seed in seeds:
        chunks: list[OracleStreamChunk] = []
        run_virtual(play_scenario(seed, chunks), thread_grace=0.002)
        scenario = Scenario.of(seed)
        (tree,) = (name for name, cls in TREES if cls is type(scenario.tree))
        recording = recording_of(chunks, scenario.config, tree)
        verdict = replay(recording)
        assert (verdict.kind, verdict.why_unknown) == ("same", ""), f"seed {seed}"
        assert (verdict.reason, verdict.turn) == (reason(chunks), done(chunks).turns_used)
        assert (recording.tokens, verdict.tokens_saved) == (done(chunks).tokens_used, 0)
        reasons.add(verdict.reason)
    assert len(reasons) >= 9, reasons


@pytest.mark.parametrize("count", [50, pytest.param(200, marks=pytest.mark.long)])
def test_a_replay_foretells_what_a_real_run_under_tighter_limits_does(count: int) -> None:
    """A model that ignores what it is told, recorded under loose limits, then really limited."""
    found: Counter[str] = Counter()
    for seed in range(count):
        rng = random.Random(-seed)
        loose = limits(
            max_iterations=rng.choice([20, 50]),
            token_budget=rng.choice([50_000, 200_000]),
            timeout_seconds=rng.choice([120, 600]),
        )
        patience = rng.choice([StuckRules(0, 0, 0, 0), StuckRules()])
        recording = recorded([], loose, then=stubborn(seed), stuck=patience)
        assert replay(recording, stuck=patience).kind == "same"
        tighter = dict(rng.sample(TIGHTER, k=rng.choice([1, 1, 2])))
        tree = rng.choice(["default", "default", "quick"])
        verdict = replay(recording, limits=tighter, tree=tree)
        if not verdict.reason:
            found[verdict.kind] += 1
            continue
        config = AgentConfig.build(tighter, loose)
        real = done(chunks_of([], config, then=stubborn(seed), tree=tree))
        assert (verdict.reason, verdict.turn) == (
            real.termination_reason,
            real.turns_used,
        ), f"seed {seed}: {tighter} {tree}"
        found["foretold"] += 1
    assert found["foretold"] >= 0.75 * count, found


@pytest.mark.ci
def test_a_replay_foretells_where_other_stuck_rules_really_end_a_run() -> None:
    ended: Counter[str] = Counter()
    for seed in range(60):
        recording = recorded([], then=stubborn(seed, "stuck"), stuck=StuckRules(0, 0, 0, 0))
        real = done(chunks_of([], AgentConfig(), then=stubborn(seed, "stuck")))
        verdict = replay(recording)
        assert (verdict.reason, verdict.turn) == (real.termination_reason, real.turns_used), seed
        ended[verdict.reason] += 1
    assert ended["no_progress"] >= 15, ended


TIGHTER = [
    *[("max_iterations", turns) for turns in (1, 2, 3, 5, 8, 15)],
    *[("token_budget", tokens) for tokens in (1_000, 2_000, 4_000, 8_000, 15_000)],
    *[("timeout_seconds", seconds) for seconds in (10, 20, 30, 60)],
]

FIVE_TURNS = [*[call("look", page=n) for n in range(4)], say("So.")]


# -- what came from outside -----------------------------------------------------------------------


def interrupted(chunks: list[OracleStreamChunk], turns: int) -> Recording:
    """The record of a process that died in the middle of a turn."""
    ended = [
        n for n, chunk in enumerate(chunks) if isinstance(chunk, Turn) and chunk.phase == "end"
    ]
    begun = [
        n for n, chunk in enumerate(chunks) if isinstance(chunk, Turn) and n > ended[turns - 1]
    ]
    kept = chunks[: begun[0] + 1]
    return recording_of(kept, AgentConfig(), reason="interrupted", outcome="failed")


def test_what_happened_from_outside_stays_unless_the_run_would_have_ended_before() -> None:
    cut = interrupted(chunks_of(FIVE_TURNS, AgentConfig()), turns=3)
    failed = recorded([*FIVE_TURNS[:3], ModelError("down")])
    assert (cut.turns, failed.turns, failed.reason) == (3, 3, "provider_error")
    for recording in (cut, failed):
        assert replay(recording).kind == "same"
        assert replay(recording, limits={"max_iterations": 50}).kind == "same"
        sooner = replay(recording, limits={"max_iterations": 2})
        assert (sooner.kind, sooner.reason) == ("earlier", "max_iterations")


BROKEN = [TextDelta("So far"), ModelError("broken")]


@pytest.mark.parametrize(
    ("last", "found"),
    [
        (ModelError("down"), ("same", "provider_error", 3)),
        (BROKEN, ("other", "max_iterations", 4)),
    ],
)
def test_an_endpoint_that_fails_in_the_last_answer_is_the_reason_if_no_limit_is_reached(
    last: Any, found: tuple[str, str, int]
) -> None:
    """A stream that broke after content has used its iteration."""
    failed = recorded([*FIVE_TURNS[:3], last])
    assert failed.reason == "provider_error"
    verdict = replay(failed, limits={"max_iterations": 4})
    assert (verdict.kind, verdict.reason, verdict.turn) == found


def test_a_last_answer_that_the_deadline_cut_might_have_ended_with_more_time() -> None:
    silent: list[Item] = [Pause(60), TextDelta("late"), Finished((), "stop")]
    late = recorded([*FIVE_TURNS[:3], silent], limits(max_iterations=4, timeout_seconds=10))
    assert late.reason == "timeout"
    assert replay(late).kind == "same"
    assert replay(late, limits={"timeout_seconds": 60}).reason == ""


def read_old_runs() -> list[dict[str, Any]]:
    with gzip.open(OLD_RUNS, "rt") as lines:
        return [json.loads(line) for line in lines]


def test_runs_recorded_before_failures_of_last_answers_were_kept_replay_the_same() -> None:
    """47 runs of the version before: last answers that failed, hung, broke or only called tools
    had the reason of the limit that asked for them."""
    endings = Counter[tuple[str, str]]()
    for run in read_old_runs():
        known = {name: run[name] for name in ("id", "tree", "reason", "outcome")}
        recording = build_recording(run["events"], config=AgentConfig(**run["config"]), **known)
        verdict = replay(recording)
        assert (verdict.kind, verdict.reason, verdict.turn) == (
            "same",
            run["reason"],
            run["turns"],
        ), run["id"]
        *_, last = (event for event in run["events"] if event["type"] == "turn")
        endings[last["wrap_up"], last["finish_reason"]] += 1
    for limit in ("max_iterations", "timeout", "no_progress"):
        assert endings[limit, "cut"], endings
        assert endings[limit, "error"] or limit == "timeout", endings


def test_a_cancelled_run_stays_cancelled() -> None:
    cancellation = Cancellation()

    def stop(request: ModelRequest) -> Any:
        cancellation.request()
        return say("Never mind.")

    recording = recorded([*FIVE_TURNS[:2], stop], cancellation=cancellation)
    assert recording.reason == "user_cancelled"
    assert replay(recording).kind == "same"
    assert replay(recording, limits={"max_iterations": 3}).kind == "same"
    assert replay(recording, limits={"max_iterations": 2}).reason == "max_iterations"


RULE = """[rule]
id = "mine"
trigger = "on_turn_end"
[condition]
expression = "{condition}"
[[action]]
type = "{action}"
message = "so"
"""


def under_rule(action: str, condition: str) -> Control:
    return Control(rules=(read_rule(RULE.format(action=action, condition=condition)),))


def test_what_a_rule_has_stopped_or_sent_back_is_replayed_as_it_was() -> None:
    steps = [call("look", page=n) for n in range(3)]
    stopped = recorded([*steps, say("So.")], control=under_rule("stop", "turn.number >= 3"))
    verdict = replay(stopped)
    assert (verdict.kind, verdict.reason) == ("same", "rule_stopped")
    assert replay(stopped, limits={"max_iterations": 3}).kind != "same"
    sent_back = recorded(
        [say("First."), *steps, say("So.")], control=under_rule("ask_again", "turn.answered")
    )
    verdict = replay(sent_back)
    assert (verdict.kind, verdict.reason, verdict.turn) == ("same", "completed", 5)


def test_a_run_that_has_not_ended_is_not_judged_unless_it_would_have() -> None:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    going = replace(interrupted(chunks, turns=3), reason="", outcome="")
    assert (replay(going).kind, replay(going).why_unknown) == (
        "unknown",
        "The run has not ended yet.",
    )
    assert replay(going, limits={"max_iterations": 2}).kind == "earlier"


def test_of_damaged_events_nothing_is_said() -> None:
    damaged = Recording(id="x", config=AgentConfig(), reason="completed", damage="Damaged.")
    verdict = replay(damaged, limits={"max_iterations": 1})
    assert (verdict.kind, verdict.why_unknown) == ("unknown", "Damaged.")


# -- speed ----------------------------------------------------------------------------------------


def test_twenty_thousand_turns_a_second_are_replayed() -> None:
    steps = [call("look", page=n) for n in range(13)]
    recordings = [recorded([*steps, say("So.")])] * 100
    turns = sum(recording.turns for recording in recordings)
    best = math.inf
    for _ in range(5):
        began = process_time()
        for recording in recordings:
            replay(recording, limits={"token_budget": 49_000, "timeout_seconds": 100})
        best = min(best, process_time() - began)
    assert turns / best >= 20_000, f"{turns / best:,.0f} turns a second"
