"""The tool calls of a turn: each has exactly one result, whatever tools and runner do."""

import asyncio
import json
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Content,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
    to_dict,
)
from agents.core.messages import Finished, Message, ModelRequest, TextDelta, ToolCall, ToolOutcome
from agents.core.ports import ToolContext
from agents.core.stuck import SAME_ANSWERS_TURNS, ProgressTracker, StuckRules
from agents.tools.executor import ToolExecutor
from agents.tools.registry import get
from agents.tools.self_notes import NoteCount
from tests.agents.core.factories import (
    LOOK,
    fresh,
    limits,
    notices,
    now,
    own,
    play,
    reason,
    results,
    text,
)
from tests.support.script import Call, Reply, call, calls, say
from tests.support.scripted_model import Item, Pause, ScriptedModel
from tests.support.tools import (
    FakeTools,
    raises,
    returns,
    slow,
    swallows_cancellation,
    with_context,
)
from tests.support.virtual import virtual_time


@virtual_time
async def test_the_model_gets_results_in_call_order_and_people_as_they_come() -> None:
    tools = FakeTools({"slow": slow(5, "late"), "fast": slow(1, "soon")})
    wanted = calls(Call("slow", {}, "s"), Call("fast", {}, "f"))
    seen: list[Message] = []

    def second(request: ModelRequest) -> Reply:
        seen.extend(request.messages)
        return say("So.")

    chunks = await play(ScriptedModel([wanted, second]), tools)
    assert [chunk.tool_call_id for chunk in own(chunks, ToolResult)] == ["f", "s"]
    assert [m["tool_call_id"] for m in seen if m["role"] == "tool"] == ["s", "f"]
    durations = {r.tool_call_id: (r.order, r.duration_ms) for r in own(chunks, ToolResult)}
    assert durations == {"s": (0, 5_000), "f": (1, 1_000)}


@virtual_time
async def test_identical_reading_calls_run_once_and_both_get_the_result() -> None:
    tools = FakeTools(LOOK)
    wanted = calls(Call("look", {"a": 1, "b": 2}, "x"), Call("look", {"b": 2, "a": 1}, "y"))
    chunks = await play(ScriptedModel([wanted, say("So.")]), tools)
    assert tools.started == 1
    assert results(chunks) == {"x": "found", "y": "found"}


@virtual_time
async def test_calls_over_the_cap_are_refused_with_one_notice_a_turn() -> None:
    wanted = calls(*[Call("look", {"p": n}, f"c{n}") for n in range(4)])
    tools = FakeTools(LOOK)
    config = limits(max_tool_calls_per_turn=2)
    chunks = await play(ScriptedModel([wanted, say("So.")]), tools, config=config)
    assert tools.started == 2
    (notice,) = notices(chunks, "tool_limit")
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (4, 2)
    assert "Refused" in results(chunks)["c3"]
    refused = [c for c in own(chunks, ToolCalled) if c.tool_call.status == "refused"]
    assert [c.tool_call.id for c in refused] == ["c2", "c3"]


@virtual_time
async def test_sources_follow_their_result() -> None:
    source = SourceRef("a.md", "vault", 3, "so it is", 0.9)
    outcome = ToolOutcome(ok=True, content="found", sources=(source,))
    tools = FakeTools({"look": lambda **_: outcome})
    chunks = await play(ScriptedModel([call("look"), say("So.")]), tools)
    assert [chunk.source for chunk in own(chunks, Source)] == [source]


@virtual_time
async def test_the_snippet_of_a_source_is_at_most_500_characters() -> None:
    source = SourceRef("a.md", "vault", 3, "x" * 5_000)
    outcome = ToolOutcome(ok=True, content="found", sources=(source,))
    tools = FakeTools({"look": lambda **_: outcome})
    chunks = await play(ScriptedModel([call("look"), say("So.")]), tools)
    assert [len(chunk.source.snippet) for chunk in own(chunks, Source)] == [500]


@virtual_time
async def test_a_result_of_ten_megabytes_is_cut_and_the_model_gets_what_is_shown() -> None:
    seen: list[Message] = []

    def second(request: ModelRequest) -> Reply:
        seen.extend(request.messages)
        return say("So.")

    tools = FakeTools({"look": returns("x" * 10_000_000)})
    chunks = await play(
        ScriptedModel([call("look"), second], window=10**6),
        tools,
        config=limits(token_budget=200_000),
    )
    (result,) = own(chunks, ToolResult)
    assert 65_000 < len(result.tool_result.encode()) <= 65_536
    assert "characters cut" in result.tool_result
    assert [m["content"] for m in seen if m["role"] == "tool"] == [result.tool_result]


@pytest.mark.parametrize("arguments", ['{"q": "\\ud800"}', '{"\\udfff": 1}', '{"q": '])
@virtual_time
async def test_whatever_a_model_writes_every_chunk_can_be_stored(arguments: str) -> None:
    """A lone surrogate is valid in JSON's escapes, and no database or socket takes it."""
    model = ScriptedModel([calls(Call("look", arguments)), say("So.")])
    chunks = await play(model, FakeTools(LOOK))
    assert reason(chunks) == "completed"
    for chunk in chunks:
        json.dumps(to_dict(chunk), ensure_ascii=False).encode()


@virtual_time
async def test_a_result_with_nul_and_surrogate_can_be_stored() -> None:
    tools = FakeTools({"look": returns("a\x00b\ud800c")})
    chunks = await play(ScriptedModel([call("look"), say("So.")]), tools)
    (result,) = own(chunks, ToolResult)
    assert result.tool_result == "a\ufffdb\ufffdc"


@virtual_time
async def test_after_an_internal_error_every_call_has_its_result() -> None:
    class Sour(FakeTools):
        async def run(self, call: ToolCall, context: ToolContext) -> Any:
            await asyncio.sleep(1 if call.id == "a" else 5)
            return None  # breaks the port

    wanted = calls(Call("look", {"p": 1}, "a"), Call("look", {"p": 2}, "b"))
    chunks = await play(ScriptedModel([wanted]), Sour(LOOK))
    assert set(results(chunks)) == {"a", "b"}


@virtual_time
async def test_two_broken_outcomes_at_once_still_give_one_done() -> None:
    class Sour(FakeTools):
        async def run(self, call: ToolCall, context: ToolContext) -> Any:
            return None  # breaks the port

    wanted = calls(Call("look", {"p": 1}, "a"), Call("look", {"p": 2}, "b"))
    chunks = await play(ScriptedModel([wanted, say("So.")]), Sour(LOOK))
    assert set(results(chunks)) == {"a", "b"}


@pytest.mark.parametrize("error", [RuntimeError("x"), KeyError(), TimeoutError(), OSError(5)])
@virtual_time
async def test_a_runner_that_raises_gives_a_failed_result_and_siblings_are_unharmed(
    error: Exception,
) -> None:
    tools = FakeTools({"look": raises(error), "find": slow(2, "found")})
    wanted = calls(Call("look", {}, "a"), Call("find", {}, "b"))
    chunks = await play(ScriptedModel([wanted, say("So.")]), tools)
    assert reason(chunks) == "completed"
    assert type(error).__name__ in results(chunks)["a"]
    assert results(chunks)["b"] == "found"


@virtual_time
async def test_a_tool_that_ends_as_cancelled_by_itself_does_not_hang_the_run() -> None:
    """As when something inside it cancels its own task; nobody stopped the run."""

    async def cancels_itself(call: ToolCall, context: ToolContext) -> str:
        raise asyncio.CancelledError

    tools = FakeTools({"look": with_context(cancels_itself)})
    chunks = await play(ScriptedModel([call("look"), say("So.")]), tools)
    assert reason(chunks) == "completed"
    assert now() < 1


@virtual_time
async def test_a_tool_that_ends_after_it_was_cut_does_not_disturb_the_wrap_up() -> None:
    """It swallows its cancellation and returns while the model is giving its last answer."""
    config = limits(timeout_seconds=100)
    tools = FakeTools({"deaf": swallows_cancellation(90)})
    last_words: list[Item] = [TextDelta("One "), Pause(10), TextDelta("two."), Finished((), "stop")]
    model = ScriptedModel([call("deaf"), last_words])
    chunks = await play(model, tools, config=config)
    assert reason(chunks) == "timeout"
    assert text(chunks) == "One two."
    assert "Outcome unknown" in next(iter(results(chunks).values()))


@virtual_time
async def test_a_subagents_subagent_is_told_from_a_call_with_the_same_id() -> None:
    """Each numbers its calls anew: seen from the whole run, they have the ids of both."""

    async def nests(call: ToolCall, context: ToolContext) -> str:
        context.emit(Content(content="outer"))
        context.emit(Content(content="inner", parent=call.id))
        return "done"

    with FakeTools({"nest": with_context(nests)}) as tools:
        chunks = await play(ScriptedModel([call("nest"), say("So.")]), tools)
    said = {c.content: c.parent for c in chunks if isinstance(c, Content) and c.parent}
    (called,) = results(chunks)
    assert said == {"outer": called, "inner": f"{called}/{called}"}


@virtual_time
async def test_a_subagents_chunk_that_comes_late_does_not_disturb_the_next_turn() -> None:
    async def reports_late(call: ToolCall, context: ToolContext) -> str:
        asyncio.get_running_loop().call_later(1, context.emit, Content(content="late"))
        return "found"

    tools = FakeTools({"look": with_context(reports_late)})
    model = ScriptedModel([call("look"), say("So it is.", delay=2)])
    chunks = await play(model, tools)
    assert reason(chunks) == "completed"
    assert text(chunks) == "So it is."


@virtual_time
async def test_no_model_call_follows_a_cancel() -> None:
    cancellation = Cancellation()
    asyncio.get_running_loop().call_later(3, cancellation.request)
    model = ScriptedModel([calls(Call("look", {}, "a"), Call("look", {"p": 2}, "b"))])
    config = limits(max_parallel_tools=1)
    chunks = await play(
        model, FakeTools({"look": slow(50)}), cancellation=cancellation, config=config
    )
    assert len(model.requests) == 1
    assert now() < 3.5
    assert "Outcome unknown" in results(chunks)["a"]
    assert "Not run" in results(chunks)["b"]


@virtual_time
async def test_seven_different_thoughts_are_no_repetition() -> None:
    steps = [call("think", thought=f"Step {number}.") for number in range(SAME_ANSWERS_TURNS + 1)]
    tools = ToolExecutor([get("think")])
    chunks = await play(ScriptedModel([*steps, say("So.")]), tools)
    assert (reason(chunks), text(chunks)) == ("completed", "So.")


@virtual_time
async def test_different_notes_to_itself_are_no_repetition() -> None:
    notes = [call("notify_self", message=f"{number}.") for number in range(4)]
    tools = ToolExecutor([get("notify_self")], [NoteCount()])
    state = fresh(progress=ProgressTracker(rules=StuckRules(answers=3)))
    chunks = await play(ScriptedModel([*notes, say("So.")]), tools, state=state)
    assert (reason(chunks), text(chunks)) == ("completed", "So.")


@virtual_time
async def test_thoughts_hide_no_row_of_the_same_results_beside_them() -> None:
    steps = [
        calls(
            Call("think", {"thought": f"{n}."}, f"t{n}"), Call("look", {"query": f"{n}"}, f"c{n}")
        )
        for n in range(SAME_ANSWERS_TURNS + 1)
    ]
    thinks = ToolExecutor([get("think")])
    tools = FakeTools({"think": with_context(thinks.run), "look": returns("None.")})
    chunks = await play(ScriptedModel([*steps, say("So.")]), tools)
    assert reason(chunks) == "no_progress"


@virtual_time
async def test_the_same_thought_three_times_is_a_repetition() -> None:
    steps = [call("think", thought="Hm.")] * 3
    chunks = await play(ScriptedModel([*steps, say("So.")]), ToolExecutor([get("think")]))
    assert reason(chunks) == "no_progress"
