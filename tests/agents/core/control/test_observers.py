"""Observers: handed the events of their run, in order, and unable to change it."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

from agents.core.chunks import OracleStreamChunk
from agents.core.control.event_stream import list_events
from agents.core.control.events import AgentEvent
from agents.core.control.observers import MAX_FAILURES, build_observation, name_observer
from tests.agents.core.factories import looking, play
from tests.support import scenarios
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.seeds import in_slices
from tests.support.tools import FakeTools, returns
from tests.support.virtual import run_virtual, virtual_time

PAIRS = 15
LONG_PAIRS = 10_000
SCRIPT = [call("look"), say("Found.")]


@virtual_time
async def test_e2e_9_an_observer_is_handed_the_events_of_a_run_in_order() -> None:
    seen: list[AgentEvent] = []
    await play(ScriptedModel(SCRIPT), FakeTools({"look": returns("page")}), observer=seen.append)
    assert [event.name for event in seen] == [
        "query.start",
        "turn.start",
        "tool.call.pending",
        "tool.call.success",
        "tool.batch.complete",
        "turn.end",
        "turn.start",
        "turn.end",
        "session.end",
    ]
    success = seen[3]
    assert (success.severity, success.source) == ("info", "tool")
    assert success.payload["tool"] == "look"
    assert success.payload["size"] == 4


@virtual_time
async def test_an_observer_that_raises_changes_nothing_and_is_named_in_the_log(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def spoil(event: AgentEvent) -> None:
        raise RuntimeError(event.name)

    spoilt = await play(ScriptedModel(SCRIPT), looking(), observer=spoil)
    assert spoilt == await play(ScriptedModel(SCRIPT), looking())
    said = [record.getMessage() for record in caplog.records]
    assert said == [
        f"observer {spoil.__qualname__} failed at {event.name} of run "
        for event in list_events(spoilt)[:MAX_FAILURES]
    ]


@virtual_time
async def test_one_observer_that_fails_does_not_keep_events_from_the_next() -> None:
    failed: list[str] = []
    seen: list[AgentEvent] = []

    def spoil(event: AgentEvent) -> None:
        failed.append(event.name)
        raise RuntimeError

    chunks = await play(ScriptedModel(SCRIPT), looking())
    observe = build_observation([*name_observer(spoil), *name_observer(seen.append)])
    for chunk in chunks:
        observe(chunk)
    assert seen == list_events(chunks)
    assert failed == [event.name for event in seen[:MAX_FAILURES]]


@virtual_time
async def test_an_observer_cannot_change_what_it_is_handed_for_anybody_else() -> None:
    def spoil(event: AgentEvent) -> None:
        payload: Any = event.payload
        if "arguments" in payload:
            payload["arguments"]["page"] = 99
        payload.clear()

    script = [call("look", page=1), say("Found.")]
    asked: list[Any] = []

    def look(page: int) -> str:
        asked.append(page)
        return f"page {page}"

    spoilt = await play(ScriptedModel(script), FakeTools({"look": look}), observer=spoil)
    assert asked == [1]
    assert spoilt == await play(ScriptedModel(script), FakeTools({"look": look}))


@virtual_time
async def test_observers_of_two_runs_at_once_see_their_own_run_only() -> None:
    seen: dict[str, list[AgentEvent]] = {"first": [], "second": []}

    async def ask(name: str) -> list[OracleStreamChunk]:
        model = ScriptedModel([call(name), say(name)])
        return await play(model, FakeTools({name: returns(name)}), observer=seen[name].append)

    await asyncio.gather(ask("first"), ask("second"))
    for name, events in seen.items():
        tools = {event.payload["tool"] for event in events if "tool" in event.payload}
        assert tools == {name}


async def observe_scenario(seed: int) -> tuple[list[AgentEvent], list[AgentEvent]]:
    """What an observer was handed of a random run, and what it should have been."""
    chunks: list[OracleStreamChunk] = []
    seen: list[AgentEvent] = []
    await scenarios.play(seed, chunks, seen.append)
    return seen, list_events(chunks)


async def observe_both(seed: int) -> list[tuple[list[AgentEvent], list[AgentEvent]]]:
    return await asyncio.gather(*map(observe_scenario, (2 * seed, 2 * seed + 1)))


def assert_apart(seeds: Sequence[int]) -> None:
    """Two runs at once: each observer is handed the events of its own, and only those."""
    for seed in seeds:
        for seen, made in run_virtual(observe_both(seed), thread_grace=0.002):
            assert seen == made, seed


def test_no_event_crosses_between_random_runs() -> None:
    assert_apart(range(PAIRS))


@pytest.mark.long
@in_slices(LONG_PAIRS)
def test_no_event_crosses_between_ten_thousand_pairs_of_random_runs(seeds: range) -> None:
    assert_apart(seeds)
