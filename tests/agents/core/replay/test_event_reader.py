"""Recordings from events: what is read, and that nothing damaged is believed."""

import json
import random
from typing import Any

import pytest

from agents.core.chunks import to_dict
from agents.core.config import AgentConfig
from agents.core.replay.engine import replay
from agents.core.replay.event_reader import build_recording, parse_action
from agents.core.replay.recording import DAMAGED_MESSAGE, Recording
from tests.agents.core.factories import limits
from tests.agents.core.recorded_runs import chunks_of, recorded
from tests.support.script import Call, call, calls, say

STEPS = [call("look", page=1), calls(Call("save", {}), Call("fail", {})), say("So.")]


def events() -> list[dict[str, Any]]:
    return [to_dict(chunk) for chunk in chunks_of(STEPS, AgentConfig())]


def read_back(of: list[dict[str, Any]], **known: Any) -> Recording:
    usual = {"id": "1", "config": AgentConfig(), "reason": "completed", "outcome": "completed"}
    return build_recording(of, **{**usual, **known})


def test_turns_are_read_with_what_each_checkpoint_saw() -> None:
    recording = read_back(events())
    assert (recording.damage, recording.turns, len(recording.steps)) == ("", 3, 3)
    assert recording.start is not None
    assert recording.start.context_tokens > 0
    assert recording.context_window == 64_000
    last = recording.steps[-1]
    assert last.turn.finish_reason == "stop"
    assert last.after is not None
    assert last.after.reason == "completed"


def test_calls_are_read_with_their_results_as_a_tree_gets_them() -> None:
    step = read_back(events()).steps[1]
    assert (step.used, step.refused) == (("save", "fail"), frozenset())
    assert [result["ok"] for result in step.results] == [True, False]
    assert step.results[0]["content"] == "saved"
    assert {result["batch_size"] for result in step.results} == {2}


def test_calls_that_were_refused_are_told_apart() -> None:
    config = limits(max_tool_calls_per_turn=1)
    step = recorded([calls(Call("look", {"page": 1}), Call("save", {})), say("So.")], config)
    assert (step.steps[0].used, set(step.steps[0].refused)) == (("look",), {"save"})


def test_the_forecast_of_a_last_answer_is_near_what_the_loop_had_foreseen() -> None:
    """Of two runs that differ only in their limit, one forecasts it and the other writes it."""
    steps = [call("look", page=n) for n in range(5)]
    long = recorded([*steps, say("So.")])
    short = recorded([*steps[:4], say("So.")], limits(max_iterations=5))
    seen, exact = long.steps[3].after, short.steps[3].after
    assert seen is not None
    assert exact is not None
    assert exact.last_request == pytest.approx(seen.last_request, rel=0.1)
    assert exact.next_request == pytest.approx(seen.next_request, rel=0.1)


def test_subagents_and_other_events_are_passed_over() -> None:
    foreign = [{**event, "parent": "call_1"} for event in events()]
    mixed = [event for pair in zip(foreign, events(), strict=True) for event in pair]
    mixed.append({"type": "of the future", "seq": 99})
    assert read_back(mixed) == read_back(events())


def test_the_digest_of_an_action_is_used_where_there_is_one() -> None:
    assert parse_action({"action": "look:{}", "action_digest": "abc"}) == "abc"
    assert parse_action({"action": "look:{}", "action_digest": ""}) == "look:{}"
    assert parse_action({"action_digest": "abc"}) == "abc"
    assert parse_action({}) == ""


def test_a_run_whose_content_was_erased_is_replayed_all_the_same() -> None:
    erased = events()
    for event in erased:
        if event["type"] == "tool_call":
            del event["tool_call"]["arguments"]
        event.pop("tool_result", None)
        if event["type"] == "turn" and event["action"]:
            event["action"], event["action_digest"] = "", f"digest of {event['action']}"
    recording = read_back(erased)
    assert (recording.damage, recording.has_content) == ("", False)
    assert replay(recording).kind == "same"


def test_a_run_without_events_that_did_something_is_damaged() -> None:
    assert read_back([]).damage == DAMAGED_MESSAGE
    assert read_back([], reason="interrupted").damage == ""
    assert read_back([], reason="").damage == ""


@pytest.mark.parametrize("kind", ["turn", "decision"])
def test_an_event_that_is_missing_is_noticed(kind: str) -> None:
    whole = events()
    for place in [n for n, event in enumerate(whole) if event["type"] == kind]:
        assert read_back(whole[:place] + whole[place + 1 :]).damage == DAMAGED_MESSAGE, whole[place]


def test_a_turn_whose_calls_are_missing_is_noticed() -> None:
    without = [event for event in events() if event["type"] not in ("tool_call", "tool_result")]
    assert read_back(without).damage == DAMAGED_MESSAGE


NONSENSE = [None, "", "x", -1, 2.5, 10**400, True, [], {}, [None], {"rule": "timeout"}]


def test_events_with_any_nonsense_in_them_never_raise() -> None:
    rng, damaged = random.Random(1), 0
    whole = json.dumps(events())
    for _ in range(300):
        broken = json.loads(whole)
        spoil(rng, broken)
        recording = read_back([event for event in broken if isinstance(event, dict)])
        damaged += bool(recording.damage)
        replay(recording, limits={"max_iterations": 2, "timeout_seconds": 10})
        replay(recording, tree="two_sources")
    assert damaged > 30


def spoil(rng: random.Random, holder: Any) -> None:
    """Put nonsense somewhere into a JSON value."""
    key = rng.choice(list(holder) if isinstance(holder, dict) else range(len(holder)))
    if isinstance(holder[key], dict | list) and holder[key] and rng.random() < 0.9:
        spoil(rng, holder[key])
    else:
        holder[key] = rng.choice(NONSENSE)
