"""The loop: whatever a tool, a model or a reader does, a run ends properly.

That it keeps its limits is in `test_limits.py`, trees are in `test_trees.py`.
"""

import asyncio
import json
from collections.abc import Callable
from contextlib import aclosing
from dataclasses import replace
from itertools import pairwise
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    ContextUpdate,
    Error,
    Hint,
    OracleStreamChunk,
    Thinking,
    Turn,
    to_dict,
)
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import ConversationInput, run
from agents.core.messages import Finished, Message, ModelRequest, TextDelta, TokenUsage, ToolSchema
from agents.core.state import AgentState
from agents.core.tasks import abandoned_tasks
from tests.agents.core.factories import (
    LOOK,
    assert_every_call_has_one_result,
    done,
    ends,
    fresh,
    limits,
    looking,
    notices,
    own,
    play,
    reason,
    text,
    working_until_told,
)
from tests.support.script import Call, Reply, call, calls, say
from tests.support.scripted_model import Answer, Item, Pause, ScriptedModel
from tests.support.tools import (
    FakeTools,
    returns,
    slow,
)
from tests.support.virtual import VirtualClock, VirtualDeadlock, run_virtual, virtual_time


@virtual_time
async def test_a_question_is_answered() -> None:
    with ScriptedModel([say("It is so.", thinking="Hm.")]) as model:
        chunks = await play(model, FakeTools(LOOK))
    assert text(chunks) == "It is so."
    assert [chunk.content for chunk in own(chunks, Thinking)] == ["Hm."]
    last = done(chunks)
    assert (last.termination_reason, last.outcome) == ("completed", "completed")
    assert (last.turns_used, last.model_used, last.explanation) == (1, "scripted", "")
    assert last.also_triggered == ()


@virtual_time
async def test_chunks_are_numbered_without_gaps_in_time_and_as_json() -> None:
    model = ScriptedModel([calls(Call("look", {}), Call("look", {})), say("So.")])
    chunks = await play(model, FakeTools({"look": slow(3)}))
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert [chunk.at for chunk in chunks] == sorted(chunk.at for chunk in chunks)
    for chunk in chunks:
        json.dumps(to_dict(chunk), allow_nan=False)


@virtual_time
async def test_the_order_within_a_turn() -> None:
    chunks = await play(ScriptedModel([call("look"), say("So.")]), FakeTools(LOOK))
    kinds = [chunk.type for chunk in chunks]
    assert kinds == [
        *["event", "context_update", "decision"],
        *["turn", "tool_call", "tool_call", "tool_result", "turn", "decision"],
        *["turn", "content", "turn", "decision"],
        "done",
    ]


def exchange(number: int, size: int = 400) -> list[Message]:
    return [
        {"role": "user", "content": f"question {number} " + "q" * size},
        {"role": "assistant", "content": f"answer {number} " + "a" * size},
    ]


async def sent(model: ScriptedModel, history: list[Message], **how: Any) -> list[str]:
    """The contents of the first request's messages."""
    found: list[str] = []

    def first(request: ModelRequest) -> Reply:
        found.extend(str(message["content"]) for message in request.messages)
        return say("So.")

    model.steps.append(first)
    await play(model, FakeTools(LOOK), history=history, **how)
    return found


@virtual_time
async def test_history_comes_between_the_system_prompt_and_the_question() -> None:
    history = exchange(1, 0)
    messages = await sent(ScriptedModel([]), history)
    assert messages == ["Be brief.", *(m["content"] for m in history), "What is it?"]


@virtual_time
async def test_history_is_cut_to_thirty_percent_of_the_budget() -> None:
    history = [message for n in range(20) for message in exchange(n)]
    messages = await sent(ScriptedModel([]), history, config=limits(token_budget=5_000))
    kept = sum(map(len, messages[1:-1]))
    assert messages[-2].startswith("answer 19")
    assert 2_000 < kept <= 1_500 * 3.5


@virtual_time
async def test_in_a_small_window_the_newest_history_is_kept_not_none() -> None:
    """System prompt and question take part of the window; history gets what is left of it."""
    history = [message for n in range(40) for message in exchange(n)]
    messages = await sent(ScriptedModel([], window=4_000), history, config=limits())
    assert len(messages) > 2
    assert messages[-2].startswith("answer 39")


@virtual_time
async def test_history_leaves_room_for_the_tools_in_a_small_window() -> None:
    """A history that fills the window must not cost the run its tools."""
    schema: ToolSchema = {
        "type": "function",
        "function": {"name": "look", "description": "d" * 3_500},
    }

    class Wordy(FakeTools):
        def schemas(self) -> tuple[ToolSchema, ...]:
            return (schema,)

    history = [message for n in range(14) for message in exchange(n)]
    model = ScriptedModel([say("So.")], window=4_000)
    chunks = await play(model, Wordy(LOOK), history=history)
    assert reason(chunks) == "completed"


@virtual_time
async def test_hints_are_recorded_in_the_exact_words_that_were_sent() -> None:
    sent_words: list[str] = []

    def step(request: ModelRequest) -> Answer:
        sent_words.append(str(request.messages[-1]["content"]))
        return working_until_told(request)

    chunks = await play(ScriptedModel([], then=step), looking(), config=limits(max_iterations=3))
    hints = [hint.text for hint in own(chunks, Hint)]
    assert hints
    assert sent_words[1].endswith(hints[0])
    assert sent_words[-1].endswith(hints[-1])


@virtual_time
async def test_a_request_does_not_change_after_it_was_made() -> None:
    """A client that retries, or a recording, must see what was asked."""
    model = ScriptedModel([call("look"), say("So.")])
    await play(model, FakeTools(LOOK))
    assert len(model.requests[0].messages) == 2


class BrokenTools(FakeTools):
    """Tools whose port breaks at the given call of `schemas` or `writes`."""

    def __init__(self, *, schemas_at: int = 0, writes_at: int = 0) -> None:
        super().__init__({"look": slow(1, "found")})
        self.left = {"schemas": schemas_at, "writes": writes_at}

    def _count(self, what: str) -> None:
        self.left[what] -= 1
        if self.left[what] == 0 or self.left[what] < -100:
            self.left[what] = -100
            raise RuntimeError("broken port")

    def schemas(self) -> tuple[ToolSchema, ...]:
        self._count("schemas")
        return super().schemas()

    def writes(self, name: str) -> bool:
        self._count("writes")
        return super().writes(name)


class WithholdsLater(DefaultDecisionTree):
    """Withholds another tool each turn, so that the offer is made anew."""

    def on_turn_start(self, state: AgentState) -> AgentState:
        return replace(state, withheld_tools=frozenset({f"none-{state.turn}"}))


@pytest.mark.parametrize(
    "tools",
    [
        {"schemas_at": 1},
        {"schemas_at": 2},
        {"schemas_at": 3},
        {"writes_at": 1},
        {"writes_at": 2},
        {"writes_at": 3},
    ],
    ids=str,
)
@virtual_time
async def test_a_failure_of_our_own_is_an_internal_error_with_one_done(
    tools: dict[str, int],
) -> None:
    config = limits()
    model = ScriptedModel([], then=call("look"))
    chunks = await play(model, BrokenTools(**tools), tree=WithholdsLater(config), config=config)
    error = chunks[-2]
    assert isinstance(error, Error)
    assert error.code == reason(chunks) == "internal_error"
    assert done(chunks).outcome == "failed"
    assert "broken port" not in error.error
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_question_beyond_the_budget_names_the_smallest_that_would_do() -> None:
    model = ScriptedModel([])
    chunks = await play(
        model, FakeTools(LOOK), question="w" * 7_000, config=limits(token_budget=1_000)
    )
    assert (reason(chunks), done(chunks).turns_used) == ("token_budget", 0)
    assert model.requests == []
    assert "The smallest token budget that would do is about 2,400." in done(chunks).explanation


@virtual_time
async def test_the_smallest_budget_is_one_that_does() -> None:
    with ScriptedModel([say("So.")]) as model:
        chunks = await play(
            model, FakeTools(LOOK), question="w" * 7_000, config=limits(token_budget=2_400)
        )
    assert done(chunks).turns_used == 1


@virtual_time
async def test_a_question_beyond_the_models_window_does_not_ask_for_a_larger_budget() -> None:
    model = ScriptedModel([], window=4_000)
    config = limits(token_budget=50_000)
    chunks = await play(model, FakeTools(LOOK), question="w" * 35_000, config=config)
    assert model.requests == []
    explained = done(chunks).explanation
    assert "smallest token budget" not in explained
    assert "context" in explained or "shorter question" in explained


async def closed_after(
    count: int, model: ScriptedModel, tools: FakeTools
) -> list[OracleStreamChunk]:
    """The first chunks of a run whose reader then goes away."""
    config = limits()
    chunks: list[OracleStreamChunk] = []
    stream = run(
        fresh(config),
        ConversationInput(system="Be brief.", question="What?"),
        tree=DefaultDecisionTree(config),
        model=model,
        tools=tools,
        clock=VirtualClock(),
    )
    async with aclosing(stream):
        async for chunk in stream:
            chunks.append(chunk)
            if len(chunks) == count:
                break
    return chunks


@pytest.mark.parametrize("count", range(1, 18))
@virtual_time
async def test_a_reader_that_goes_away_leaves_no_task_behind(count: int) -> None:
    tools = FakeTools({"look": slow(5, "found")})
    script: list[Item] = [
        TextDelta("a"),
        Pause(1),
        TextDelta("b"),
        Finished((), "stop", TokenUsage(1, 1)),
    ]
    both = calls(Call("look", {"p": 1}), Call("look", {"p": 2}), thinking="Hm.")
    model = ScriptedModel([both, script])
    chunks = await closed_after(count, model, tools)
    assert len(chunks) == count
    assert len(asyncio.all_tasks()) == 1
    assert (model.open, tools.in_flight, abandoned_tasks()) == (0, 0, 0)


@virtual_time
async def test_a_cancelled_reader_leaves_no_task_behind() -> None:
    tools = FakeTools({"look": slow(50, "found")})
    model = ScriptedModel([call("look")])
    reader = asyncio.create_task(closed_after(99, model, tools))
    await asyncio.sleep(5)
    assert tools.in_flight == 1
    reader.cancel()
    await asyncio.wait([reader])
    assert reader.cancelled()
    assert tools.in_flight == 0
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_a_second_cancel_is_harmless() -> None:
    cancellation = Cancellation()
    for when in (1, 1, 2):
        asyncio.get_running_loop().call_later(when, cancellation.request)
    chunks = await play(ScriptedModel([[Pause(100)]]), FakeTools(LOOK), cancellation=cancellation)
    assert reason(chunks) == "user_cancelled"
    assert len(notices(chunks, "cancelled")) == len(own(chunks, Error)) == 1
    cancellation.request()


@virtual_time
async def test_a_run_cancelled_before_it_began_asks_nothing() -> None:
    cancellation = Cancellation()
    cancellation.request()
    model = ScriptedModel([])
    chunks = await play(model, FakeTools(LOOK), cancellation=cancellation)
    assert (reason(chunks), done(chunks).turns_used) == ("user_cancelled", 0)


@virtual_time
async def test_the_context_is_shown_before_the_first_turn_and_when_it_changes() -> None:
    tools = FakeTools({"look": returns("x" * 3_500), "peek": returns("y")})
    model = ScriptedModel([call("peek"), call("look"), say("So.")], window=20_000)
    chunks = await play(model, tools)
    shown = own(chunks, ContextUpdate)
    assert [chunk.type for chunk in chunks[:2]] == ["event", "context_update"]
    assert chunks[1] is shown[0]
    assert [isinstance(chunks[chunk.seq - 2], Turn) for chunk in shown[1:]] == [True, True]
    sizes = [chunk.context_tokens for chunk in shown]
    assert all(abs(later - earlier) >= 400 for earlier, later in pairwise(sizes))
    assert {chunk.max_context_tokens for chunk in shown} == {20_000}


@virtual_time
async def test_turns_are_numbered_and_timed() -> None:
    model = ScriptedModel([call("look"), say("So.", delay=2)])
    chunks = await play(model, FakeTools(LOOK))
    turns = own(chunks, Turn)
    assert [(turn.number, turn.phase) for turn in turns] == [
        *[(1, "start"), (1, "end")],
        *[(2, "start"), (2, "end")],
    ]
    assert [turn.model_ms for turn in ends(chunks)] == [0, 2_000]
    assert [turn.finish_reason for turn in ends(chunks)] == ["tool_calls", "stop"]


@virtual_time
async def test_every_chunk_of_these_runs_belongs_to_the_run() -> None:
    chunks = await play(ScriptedModel([call("look"), say("So.")]), FakeTools(LOOK))
    assert {chunk.parent for chunk in chunks} == {""}
    assert_every_call_has_one_result(chunks)


def test_after_a_run_nothing_listens_or_rings_any_more() -> None:
    heard: list[str] = []

    class Counted(Cancellation):
        def subscribe(self, callback: Callable[[], None]) -> None:
            heard.append("subscribed")
            super().subscribe(callback)

        def unsubscribe(self, callback: Callable[[], None]) -> None:
            heard.append("unsubscribed")
            super().unsubscribe(callback)

    async def program() -> None:
        model = ScriptedModel([call("look"), say("So.")])
        await play(model, FakeTools(LOOK), cancellation=Counted())
        await asyncio.get_running_loop().create_future()

    with pytest.raises(VirtualDeadlock, match="at 0 s nothing"):  # a timer left would ring later
        run_virtual(program())
    assert heard.count("subscribed") == heard.count("unsubscribed") > 0
