"""Long results through the real loop: the librarian reads them, the model gets its summary."""

import asyncio
from dataclasses import replace
from itertools import count, repeat
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    OracleStreamChunk,
    Source,
    SourceRef,
    SystemMessage,
    ToolResult,
    Turn,
)
from agents.core.control.event_stream import list_events
from agents.core.control.events import AgentEvent
from agents.core.decisions.trees.quick import QuickTree
from agents.core.messages import (
    Finished,
    ModelError,
    ModelRequest,
    TextDelta,
    TokenUsage,
    ToolOutcome,
)
from agents.core.tokens import estimate_tokens
from agents.ledger.subagents import SubagentTracker
from agents.tools import registry
from agents.tools.delegating_runner import (
    MAX_READING,
    OVERHEAD_TOKENS,
    DelegatingRunner,
)
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from tests.agents.core.factories import done, limits, play, text
from tests.agents.tools.test_librarian import Shelf
from tests.support.script import Call, Reply, call, calls, say
from tests.support.scripted_model import Item, Pause, ScriptedModel
from tests.support.tools import FakeTools, Tool, fails, returns, slow
from tests.support.virtual import virtual_time

FACT = "The pump failed on 14 May [log/pump.md:3]."
LONG = f"log/pump.md\n{FACT}\n" + "word " * 5_000
ASKED = "When did the pump fail?"
BUDGET = limits(token_budget=200_000, timeout_seconds=300)


def delegating(librarian: ScriptedModel, tools: FakeTools | None = None) -> DelegatingRunner:
    reading = FakeTools({"look": returns("found")})
    own = tools or FakeTools({"look": returns(LONG)})
    return DelegatingRunner(own, Librarian(librarian, reading), ASKED)


async def run_with(
    librarian: ScriptedModel, *answers: Any, **how: Any
) -> tuple[list[OracleStreamChunk], ScriptedModel]:
    model = ScriptedModel([call("look"), *(answers or (say("On 14 May."),))])
    how = {"config": BUDGET, **how}
    chunks = await play(model, delegating(librarian), question=ASKED, **how)
    return chunks, model


def result_in(chunks: list[OracleStreamChunk]) -> ToolResult:
    (found,) = [c for c in chunks if isinstance(c, ToolResult) and not c.parent]
    return found


def subagents(chunks: list[OracleStreamChunk]) -> list[AgentEvent]:
    return [event for event in list_events(chunks) if event.name.startswith("subagent.")]


def read_result(model: ScriptedModel) -> str:
    """What the second request has as the result of the first one's call."""
    (message,) = [m for m in model.requests[1].messages if m["role"] == "tool"]
    return str(message["content"])


@virtual_time
async def test_the_model_gets_the_summary_and_the_record_both() -> None:
    librarian = ScriptedModel([say(FACT)])
    chunks, model = await run_with(librarian)
    result = result_in(chunks)
    assert result.tool_result == LONG
    assert FACT in result.given
    assert read_result(model) == result.given
    assert len(read_result(model)) < len(LONG) / 10
    assert not result.unfinished
    (event,) = subagents(chunks)
    assert event.name == "subagent.complete"
    assert event.payload["tool"] == "look"
    assert event.payload["size"] == len(result.given)


@virtual_time
async def test_the_librarian_is_asked_with_the_question_and_the_result() -> None:
    librarian = ScriptedModel([say(FACT)])
    await run_with(librarian)
    task = librarian.requests[0].messages[1]["content"]
    assert task is not None
    assert ASKED in task
    assert LONG in task


@virtual_time
async def test_its_work_is_shown_under_the_call_and_charged() -> None:
    librarian = ScriptedModel([say(FACT)])
    chunks, _ = await run_with(librarian)
    call_id = result_in(chunks).tool_call_id
    under = [chunk for chunk in chunks if chunk.parent]
    assert {chunk.parent for chunk in under} == {call_id}
    spent = sum(
        chunk.prompt_tokens + chunk.completion_tokens
        for chunk in under
        if isinstance(chunk, Turn) and chunk.phase == "end"
    )
    first = next(c for c in chunks if isinstance(c, Turn) and c.phase == "end" and not c.parent)
    assert first.subagent_tokens == spent > 0
    assert done(chunks).tokens_used > spent


@virtual_time
@pytest.mark.parametrize(
    "answer", [ModelError("provider_error", "Down."), say(""), say("word " * 4_000)]
)
async def test_without_a_useful_summary_the_result_stands_and_its_work_is_not_kept(
    answer: Any,
) -> None:
    chunks, model = await run_with(ScriptedModel([answer] * 8))
    result = result_in(chunks)
    assert result.ok
    assert result.unfinished
    assert result.given == ""
    assert FACT in read_result(model)
    assert text(chunks) == "On 14 May."
    tracker = SubagentTracker()
    for chunk in chunks:
        tracker.add(chunk)
    assert tracker.pop_unfinished() == [result.tool_call_id]
    (event,) = subagents(chunks)
    assert event.name == "subagent.failed"
    assert event.payload["error"] == "the result stands as it is, without its summary."


@virtual_time
async def test_in_the_quick_mode_nothing_is_delegated() -> None:
    librarian = ScriptedModel([say(FACT)])
    chunks, _ = await run_with(librarian, tree=QuickTree(BUDGET))
    assert librarian.requests == []
    assert result_in(chunks).given == ""


@virtual_time
@pytest.mark.parametrize("config", [{"token_budget": 20_000}, {"timeout_seconds": 19}])
async def test_where_tokens_or_time_are_short_nothing_is_delegated(config: dict[str, int]) -> None:
    librarian = ScriptedModel([say(FACT)])
    values = {"token_budget": 200_000, "timeout_seconds": 300, **config}
    chunks, _ = await run_with(librarian, config=limits(**values))
    assert librarian.requests == []
    assert done(chunks).outcome == "completed"


@virtual_time
async def test_when_the_run_is_cut_meanwhile_the_result_is_kept() -> None:
    cancellation = Cancellation()
    asyncio.get_running_loop().call_later(5, cancellation.request)
    chunks, _ = await run_with(ScriptedModel([[Pause(1_000)]]), cancellation=cancellation)
    result = result_in(chunks)
    assert result.ok
    assert FACT in result.tool_result
    assert result.unfinished
    assert done(chunks).termination_reason == "user_cancelled"


@virtual_time
async def test_a_librarian_that_takes_too_long_leaves_time_for_the_answer() -> None:
    chunks, _ = await run_with(ScriptedModel([[Pause(10_000)]]))
    assert result_in(chunks).unfinished
    assert text(chunks) == "On 14 May."
    assert done(chunks).outcome == "completed"


def count_tokens(chunks: list[OracleStreamChunk]) -> int:
    """What the librarian has used."""
    ended = (c for c in chunks if isinstance(c, Turn) and c.phase == "end" and c.parent)
    return sum(turn.prompt_tokens + turn.completion_tokens for turn in ended)


@virtual_time
async def test_a_librarian_that_loops_takes_no_more_than_a_reading_should() -> None:
    librarian = ScriptedModel([], then=call("look"))
    chunks, model = await run_with(librarian)
    most = MAX_READING * estimate_tokens(LONG) + OVERHEAD_TOKENS
    assert 0 < count_tokens(chunks) <= most
    assert result_in(chunks).unfinished
    assert FACT in read_result(model)
    assert done(chunks).outcome == "completed"


CHEAP, DEAR = TokenUsage(100, 10), TokenUsage(25_000, 100)
CUTS: dict[str, tuple[TokenUsage, bool, Tool]] = {
    "iterations": (CHEAP, True, lambda page: f"page {page}"),
    "tokens": (DEAR, True, lambda page: f"page {page}"),
    "time": (CHEAP, True, slow(40)),
    "no_progress": (CHEAP, False, returns("page 1")),
    "error_limit": (CHEAP, True, fails("There is no such page.")),
}
"""What each request of the librarian costs, whether it goes on to the next page, and its tool."""


def keep_working(usage: TokenUsage, goes_on: bool) -> ScriptedModel:
    pages = count() if goes_on else repeat(1)

    def step(request: ModelRequest) -> Reply:
        wraps_up = request.tool_choice == "none"
        reply = say("Half a summary.") if wraps_up else call("look", page=next(pages))
        return replace(reply, usage=usage)

    return ScriptedModel([], then=step)


@virtual_time
@pytest.mark.parametrize("cut", CUTS)
async def test_a_librarian_that_is_cut_by_a_limit_leaves_the_result(cut: str) -> None:
    usage, goes_on, tool = CUTS[cut]
    librarian = Librarian(keep_working(usage, goes_on), FakeTools({"look": tool}))
    runner = DelegatingRunner(FakeTools({"look": returns(LONG)}), librarian, ASKED)
    model = ScriptedModel([call("look"), say("On 14 May.")])
    chunks = await play(model, runner, question=ASKED, config=BUDGET)
    ending = [c for c in chunks if isinstance(c, SystemMessage) and c.parent][-1]
    assert cut in (ending.system_type, ending.metadata["limit_type"])
    assert ending.system_type != "limit_warning"
    assert (result_in(chunks).given, result_in(chunks).unfinished) == ("", True)
    assert FACT in read_result(model)
    assert "Half" not in read_result(model)
    assert done(chunks).outcome == "completed"


@virtual_time
async def test_a_librarian_that_brought_nothing_is_not_asked_again() -> None:
    librarian = ScriptedModel([[Pause(10_000)]])
    tools = FakeTools({"look": lambda page: f"{page} {LONG}"})
    steps = [call("look", page=1), call("look", page=2), say("On 14 May.")]
    chunks = await play(ScriptedModel(steps), delegating(librarian, tools), config=BUDGET)
    assert len(librarian.requests) == 1
    assert done(chunks).outcome == "completed"


@virtual_time
async def test_calls_that_share_a_result_share_its_summary() -> None:
    librarian = ScriptedModel([say(FACT)])
    twice = ScriptedModel([calls(Call("look", {}), Call("look", {})), say("On 14 May.")])
    chunks = await play(twice, delegating(librarian), config=BUDGET)
    found = [c.given for c in chunks if isinstance(c, ToolResult) and not c.parent]
    assert len(found) == 2
    assert found[0] == found[1] != ""
    assert len(librarian.requests) == 1
    assert [event.name for event in subagents(chunks)] == ["subagent.complete"]


@virtual_time
@pytest.mark.parametrize(("slots", "seconds"), [(1, 20), (2, 10)])
async def test_a_summary_keeps_the_slot_of_its_call(slots: int, seconds: int) -> None:
    reading: list[Item] = [Pause(10), TextDelta(FACT), Finished()]
    librarian = ScriptedModel([reading, reading])
    tools = FakeTools({"look": lambda page: f"{page} {LONG}"})
    both = calls(Call("look", {"page": 1}), Call("look", {"page": 2}))
    config = limits(token_budget=200_000, timeout_seconds=300, max_parallel_tools=slots)
    model = ScriptedModel([both, say("On 14 May.")])
    chunks = await play(model, delegating(librarian, tools), config=config)
    assert len(librarian.requests) == 2
    assert done(chunks).outcome == "completed"
    assert asyncio.get_running_loop().time() == pytest.approx(seconds, abs=1)


@virtual_time
async def test_what_a_librarian_reads_is_not_delegated_once_more() -> None:
    """Asked by a tool call, it reads a long result itself."""
    librarian = ScriptedModel([call("look"), say(FACT)])
    reader = Librarian(librarian, FakeTools({"look": returns(LONG)}))
    tools = ToolExecutor([registry.get("delegate_librarian")], [reader])
    model = ScriptedModel([call("delegate_librarian", task="Read."), say("On 14 May.")])
    chunks = await play(model, DelegatingRunner(tools, reader, ASKED), config=BUDGET)
    assert len(librarian.requests) == 2
    assert FACT in read_result(librarian)
    assert not any(c.given for c in chunks if isinstance(c, ToolResult))


@virtual_time
async def test_a_citation_of_what_nobody_saw_does_not_reach_the_model() -> None:
    _, model = await run_with(ScriptedModel([say(f"{FACT} And [made/up.md:1].")]))
    assert "made/up.md" not in read_result(model)
    assert "[log/pump.md:3]" in read_result(model)
    assert "1 citation was dropped" in read_result(model)


@virtual_time
@pytest.mark.parametrize("budget", [1_000, 5_000, 14_000, 27_000, 28_000, 30_000, 60_000])
async def test_on_no_budget_does_delegation_end_what_would_have_been_completed(
    budget: int,
) -> None:
    config = limits(token_budget=budget, timeout_seconds=300)
    model = ScriptedModel([call("look"), say("So.")])
    alone = await play(model, FakeTools({"look": returns(LONG)}), question=ASKED, config=config)
    again = ScriptedModel([call("look"), say("So.")])
    chunks = await play(
        again, delegating(ScriptedModel([], then=say(FACT))), question=ASKED, config=config
    )
    assert done(chunks).outcome == done(alone).outcome
    assert done(chunks).tokens_used <= budget


@virtual_time
async def test_a_summary_from_the_cache_brings_what_the_librarian_read() -> None:
    place = SourceRef("log/pump.md", "vault", 3)
    tools = FakeTools({"look": returns(LONG)})
    reading = FakeTools({"look": lambda: ToolOutcome(True, FACT, sources=(place,))})
    librarian = Librarian(ScriptedModel([call("look"), say(FACT)]), reading, cache=Shelf())
    for _ in range(2):
        model = ScriptedModel([call("look"), say("On 14 May.")])
        runner = DelegatingRunner(tools, librarian, ASKED)
        chunks = await play(model, runner, question=ASKED, config=BUDGET)
        assert [c.source for c in chunks if isinstance(c, Source)] == [place]
    assert "From the cache" in read_result(model)
    assert not [chunk for chunk in chunks if chunk.parent]


@virtual_time
async def test_a_summary_names_the_note_that_it_is_of_and_the_run_has_it_once_as_a_source() -> None:
    place = SourceRef("log/pump.md", "vault", 3)
    tools = FakeTools({"look": lambda: ToolOutcome(True, LONG, sources=(place,))})
    model = ScriptedModel([call("look"), say("On 14 May.")])
    librarian = ScriptedModel([say("The pump failed.")])
    chunks = await play(model, delegating(librarian, tools), question=ASKED, config=BUDGET)
    assert read_result(model).endswith("The pump failed.\n\nAlso read: [log/pump.md]")
    assert [c.source for c in chunks if isinstance(c, Source)] == [place]


@virtual_time
async def test_progress_compares_the_results_themselves() -> None:
    """Three summaries in other words of one and the same result are no progress."""
    librarian = ScriptedModel([say(f"{FACT} {n}") for n in range(9)])
    model = ScriptedModel([*[call("look")] * 3, say("So.")])
    chunks = await play(model, delegating(librarian), question=ASKED, config=BUDGET)
    assert done(chunks).termination_reason == "no_progress"


@virtual_time
async def test_what_writes_is_not_delegated() -> None:
    librarian = ScriptedModel([say(FACT)])
    tools = FakeTools({"look": lambda: ToolOutcome(True, LONG)}, writes={"look"})
    model = ScriptedModel([call("look"), say("So.")])
    await play(model, delegating(librarian, tools), config=BUDGET)
    assert librarian.requests == []
