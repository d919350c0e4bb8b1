"""Every limit, warning and ending, through the real loop and client against a real endpoint.

The first section has one test for each condition that ends a run, in order of precedence.
"""

import asyncio
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import httpx
import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Content,
    Done,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.control.event_stream import list_events
from agents.core.control.events import AgentEvent
from agents.core.messages import TokenUsage, ToolCall, ToolOutcome
from agents.core.ports import ToolContext
from agents.llm import OpenAIChatModel
from tests.support.payloads import payloads
from tests.support.runs import FastClock, Ran, drive, served
from tests.support.script import (
    Call,
    Fault,
    FaultName,
    Reply,
    Script,
    call,
    calls,
    say,
    when_tool_free,
)
from tests.support.tools import (
    FakeTools,
    fails,
    hangs,
    returns,
    slow,
    swallows_cancellation,
    with_context,
)
from tests.support.transport import ScriptedTransport
from tests.support.virtual import VirtualClock, virtual_time

LAST_ITERATION = "Last iteration ({0}/{0}): answering now. Raise the limit for longer work."


def pages() -> Callable[[dict[str, Any]], Reply]:
    """A model that reads one page after another, never the same, and answers when it must."""
    number = iter(range(1, 1_000))

    def step(body: dict[str, Any]) -> Reply:
        if body.get("tool_choice") == "none" or not body.get("tools"):
            return say("Here is what I found so far.")
        return call("look", page=next(number))

    return step


def looking() -> FakeTools:
    async def look(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content=f"page {call.arguments.get('page')}: nothing new")

    return FakeTools({"look": with_context(look)})


async def drive_virtually(
    script: Script, tools: FakeTools | None = None, **options: Any
) -> tuple[Ran, int]:
    """A run in virtual time, and how many of its requests were cut: for bounds in seconds, which
    a busy machine would break."""
    clock = VirtualClock()
    async with ScriptedTransport(script) as transport:
        http = httpx.AsyncClient(transport=transport)
        model = OpenAIChatModel(http, transport.base_url, "scripted", clock=clock)
        ran = await drive(model, tools or looking(), clock=clock, **options)
        return ran, transport.aborted


def cancel_on(
    kind: type, cancellation: Cancellation, **fields: Any
) -> Callable[[OracleStreamChunk], None]:
    """Cancel when the first chunk of a kind with these fields is seen."""

    def watch(chunk: OracleStreamChunk) -> None:
        if isinstance(chunk, kind) and all(getattr(chunk, k) == v for k, v in fields.items()):
            cancellation.request()

    return watch


def assert_sound(ran: Ran) -> None:
    """What holds for every run: one `done`, last; one result per call; numbers in order."""
    assert [c for c in ran.chunks if isinstance(c, Done)] == [ran.chunks[-1]]
    assert set(ran.record.calls) == set(ran.record.results)
    assert [c.seq for c in ran.chunks] == list(range(1, len(ran.chunks) + 1))


# -- when a run ends ------------------------------------------------------------------------------


async def test_1_a_cancelled_run_ends_as_cancelled_and_asks_the_model_nothing_more() -> None:
    cancellation = Cancellation()
    slowly = say("one two three four", piece_delay=0.02)
    async with served(Script([slowly])) as bench:
        watch = cancel_on(Content, cancellation)
        ran = await drive(bench.model(), looking(), cancellation=cancellation, watch=watch)
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert (ran.outcome, ran.reason) == ("cancelled", "user_cancelled")
    assert ran.record.error is not None
    assert ran.record.error.code == "cancelled"
    assert ran.answer.startswith("one")
    assert len(bench.endpoint.requests) == 1
    assert_sound(ran)


async def test_2_an_answer_without_tool_calls_completes_the_run() -> None:
    async with served(Script([call("look", page=1), say("It says nothing.")])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("completed", "completed")
    assert ran.answer == "It says nothing."
    assert ran.record.notices == []
    assert ran.explanation == ""
    assert_sound(ran)


async def test_3_a_run_stops_at_its_turns() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 5})
    assert (ran.outcome, ran.reason) == ("limited", "max_iterations")
    assert len(bench.endpoint.requests) == 5
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 5
    notice = ran.notices("limit_reached", "iterations")[0]
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (5, 5)
    assert_sound(ran)


async def test_4_a_run_stops_at_its_token_budget() -> None:
    costly = replace(call("look", page=1), usage=TokenUsage(900, 200))
    async with served(Script([costly], then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 1_500})
    assert (ran.outcome, ran.reason) == ("limited", "token_budget")
    assert ran.record.done is not None
    assert ran.notices("limit_reached", "tokens")
    assert_sound(ran)


@virtual_time
async def test_5_a_run_stops_at_its_time() -> None:
    tools = FakeTools({"wait": hangs()})
    script = Script(then=when_tool_free(say("Out of time."), otherwise=call("wait")))
    ran, _ = await drive_virtually(script, tools, config={"timeout_seconds": 10})
    assert (ran.outcome, ran.reason) == ("limited", "timeout")
    assert ran.answer == "Out of time."
    assert ran.notices("limit_reached", "time")
    result = next(iter(ran.record.results.values()))
    assert result.tool_result.startswith("Outcome unknown")
    assert_sound(ran)


async def test_6_a_run_that_repeats_itself_stops_as_no_progress() -> None:
    script = Script(then=when_tool_free(say("Stuck."), otherwise=call("look", page=1)))
    async with served(script) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("limited", "no_progress")
    assert len(bench.endpoint.requests) == 4  # three identical turns and the wrap-up
    notice = ran.notices("no_progress")[0]
    assert 'look:{"page":1}' in notice.system_message
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (3, 3)
    assert ran.answer == "Stuck."
    assert_sound(ran)


async def test_7_three_failing_turns_in_a_row_stop_the_run() -> None:
    tools = FakeTools({"look": fails("the disk is gone")})
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), tools)
    assert (ran.outcome, ran.reason) == ("limited", "error_limit")
    assert len(bench.endpoint.requests) == 4
    notice = ran.notices("error_limit")[0]
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (3, 3)
    assert "the disk is gone" in ran.explanation
    assert_sound(ran)


async def test_identical_failing_calls_end_as_no_progress_with_error_limit_beside_it() -> None:
    script = Script(then=when_tool_free(say("No."), otherwise=call("look", page=1)))
    async with served(script) as bench:
        ran = await drive(bench.model(), FakeTools({"look": fails("gone")}))
    assert ran.reason == "no_progress"
    assert "error_limit" in ran.also


async def test_a_batch_with_one_success_resets_the_error_streak() -> None:
    both = calls(Call("bad", {"n": 1}), Call("look", {"page": 9}))
    script = Script([call("bad", n=2), call("bad", n=3), both, call("bad", n=4), say("Done.")])
    tools = FakeTools({"bad": fails("no"), "look": returns("yes")})
    async with served(script) as bench:
        ran = await drive(bench.model(), tools)
    assert ran.reason == "completed"


# -- the other endings ----------------------------------------------------------------------------


async def test_an_answer_cut_at_the_models_own_length_is_output_truncated() -> None:
    async with served(Script([say("a long story", finish="length")])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("limited", "output_truncated")
    assert ran.answer == "a long story"


async def test_a_filtered_answer_fails_with_its_text_kept() -> None:
    async with served(Script([say("I would", finish="content_filter")])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("failed", "content_filter")
    assert ran.answer == "I would"


async def test_an_empty_answer_is_asked_for_once_more_and_then_fails() -> None:
    async with served(Script([Reply(), Reply()])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("failed", "empty_answer")
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 2
    assert any("empty" in hint for hint in ran.hints)


async def test_an_empty_answer_followed_by_a_good_one_completes() -> None:
    async with served(Script([Reply(), say("Here.")])) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.reason == "completed"


@pytest.mark.parametrize("finish", [None, "weird"])
async def test_an_unknown_finish_reason_with_text_is_a_stop(finish: str | None) -> None:
    async with served(Script([say("Fine.", finish=finish)])) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.reason == "completed"


async def test_tool_calls_count_whatever_the_finish_reason_says() -> None:
    odd = replace(call("look", page=1), finish="stop")
    async with served(Script([odd, say("Done.")])) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools)
    assert ran.reason == "completed"
    assert tools.started == 1


@virtual_time
async def test_a_finished_answer_counts_although_the_connection_stays_open() -> None:
    reply = say("It is so.")
    frames = len(list(payloads(reply, {"stream_options": {"include_usage": True}})))
    open_end = replace(reply, fault=Fault("hang", after=frames - 1))  # all but [DONE]
    ran, _ = await drive_virtually(Script([open_end]))
    assert (ran.reason, ran.answer) == ("completed", "It is so.")
    assert ran.record.done is not None
    assert ran.record.done.usage_source == "provider"
    assert ran.seconds < 5


async def test_a_refused_key_is_a_provider_error_that_says_what_to_do() -> None:
    async with served(Script([Fault("status_401")])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("failed", "provider_error")
    assert ran.record.error is not None
    assert "key" in ran.record.error.error.lower()
    assert ran.record.error.cause == "auth"
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 0


async def test_a_stream_that_breaks_after_content_keeps_the_text_and_is_not_retried() -> None:
    broken = say("half of an answer that goes on", fault=Fault("half_close", after=3))
    async with served(Script([broken])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("failed", "provider_error")
    assert ran.answer
    assert len(bench.endpoint.requests) == 1
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 1  # a stream that broke after content is a turn


async def test_a_try_that_fails_before_content_is_not_a_turn() -> None:
    script = Script([Fault("status_503"), say("Second try.")])

    async def at_once(seconds: float) -> None:
        del seconds

    async with served(script) as bench:
        model = bench.model(sleep=at_once)
        ran = await drive(model, looking(), config={"max_iterations": 1})
    assert ran.answer == "Second try."
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 1
    assert ran.notices("provider")


# -- warnings -------------------------------------------------------------------------------------


async def test_the_iteration_warning_comes_at_7_of_10_to_the_user_and_to_the_model() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 10})
    words = "Approaching iteration limit (7/10). Consider wrapping up."
    notice, last = ran.notices("limit_warning", "iterations")
    assert notice.system_message == words
    assert last.system_message == LAST_ITERATION.format(10)
    assert (notice.metadata["phase"], last.metadata["phase"]) == ("approach", "wrap_up")
    assert notice.metadata["percent"] == 70
    assert words in ran.hints[0]
    eighth = bench.endpoint.requests[7].body["messages"]
    assert words in eighth[-1]["content"]
    assert words not in json.dumps(bench.endpoint.requests[6].body)
    assert words not in eighth[0]["content"]  # never by editing the system prompt
    position = ran.chunks.index(notice)
    assert [t.number for t in ran.turn_starts() if ran.chunks.index(t) < position][-1] == 8


async def test_the_token_warning_comes_at_its_percent() -> None:
    script = Script(
        [
            replace(call("look", page=1), usage=TokenUsage(100, 8_000)),
            say("That is all.", usage=TokenUsage(200, 20)),
        ]
    )
    async with served(script) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 10_000})
    (notice,) = ran.notices("limit_warning", "tokens")
    assert notice.metadata["current_value"] == 8_100
    assert notice.metadata["limit_value"] == 10_000
    assert notice.system_message in ran.hints[0]


async def test_the_token_warning_comes_early_when_the_forecast_says_no() -> None:
    script = Script([replace(call("look", page=1), usage=TokenUsage(2_500, 100))], then=pages())
    async with served(script) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 6_000})
    warning = ran.notices("limit_warning", "tokens")[0]
    reached = ran.notices("limit_reached", "tokens")[0]
    assert warning.metadata["percent"] < 80
    assert warning.seq < reached.seq


@virtual_time
async def test_the_time_warning_is_shown_at_once_in_the_middle_of_a_stream() -> None:
    slowly = say("w " * 30, piece_delay=0.3)
    ran, _ = await drive_virtually(Script([slowly]), config={"timeout_seconds": 10})
    (notice,) = ran.notices("limit_warning", "time")
    contents = [c.seq for c in ran.chunks if isinstance(c, Content)]
    assert contents[0] < notice.seq < contents[-1]
    assert notice.metadata["current_value"] == 8.0


async def test_the_context_warning_comes_at_70_percent_of_the_window() -> None:
    async def big(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content="x" * 60_000)

    # "gpt-4" has a window of 8,192 tokens, so the result fills most of it.
    script = Script(then=when_tool_free(say("Enough."), otherwise=call("read", n=1)))
    async with served(script) as bench:
        ran = await drive(bench.model("gpt-4"), FakeTools({"read": with_context(big)}))
    (notice,) = ran.notices("context_warning")
    assert notice.metadata["percent"] >= 70
    assert notice.metadata["limit_value"] == 8_192


async def test_when_warning_and_limit_are_crossed_in_one_step_both_are_recorded_in_order() -> None:
    script = Script([replace(call("look", page=1), usage=TokenUsage(7_990, 20))])
    async with served(script) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 8_000})
    approach, reached = (n for n in ran.record.notices if n.metadata["limit_type"] == "tokens")
    assert (approach.system_type, reached.system_type) == ("limit_warning", "limit_reached")
    assert "Approaching" not in approach.system_message
    assert approach.metadata["at_once"]
    assert ran.chunks[-2:] == [reached, ran.record.done]


async def test_the_second_identical_turn_gives_the_model_a_hint_first() -> None:
    script = Script(then=when_tool_free(say("Stuck."), otherwise=call("look", page=1)))
    async with served(script) as bench:
        ran = await drive(bench.model(), looking())
    third = bench.endpoint.requests[2].body["messages"][-1]["content"]
    assert "same calls" in third
    assert ran.hints[0] in third


async def test_the_same_action_three_times_in_six_turns_shows_one_loop_warning() -> None:
    steps = [call("look", page=p) for p in (1, 2, 1, 3, 1, 4)]
    changing = iter(range(100))

    async def look(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content="abc"[next(changing) % 3] * 5)

    async with served(Script([*steps, say("Done.")])) as bench:
        ran = await drive(bench.model(), FakeTools({"look": with_context(look)}))
    (notice,) = ran.notices("loop_warning")
    assert notice.metadata["current_value"] == 3
    (event,) = loops(ran.chunks)
    called = [c for c in ran.chunks if isinstance(c, ToolCalled)]
    statuses = [
        [c.tool_call.status for c in called if c.tool_call.id == i] for i in ran.record.calls
    ]
    assert statuses == [["pending", "running"]] * 6
    assert called[9].seq > event.seq > called[8].seq  # announced as the fifth, and not run yet
    assert event.seq < notice.seq
    assert any("3 times" in hint for hint in ran.hints)


def loops(chunks: Sequence[OracleStreamChunk]) -> list[AgentEvent]:
    return [event for event in list_events(chunks) if event.name == "agent.loop.detected"]


async def looped(*steps: Reply) -> list[AgentEvent]:
    """The loops of a run whose tools always return something new."""
    numbers = iter(range(100))

    async def look(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content="abcdefgh"[next(numbers) % 8] * 5)

    names = ("vault_read", "vault_search", "thread_read", "look")
    async with served(Script([*steps, say("Done.")])) as bench:
        ran = await drive(bench.model(), FakeTools(dict.fromkeys(names, with_context(look))))
    assert ran.record.done is not None
    assert ran.record.done.termination_reason == "completed"
    return loops(ran.chunks)


async def test_calls_about_the_same_thing_are_a_loop_however_else_they_differ() -> None:
    """004, section 6: the pattern is the tool's name with its key arguments alone."""
    search = [call("vault_search", queries=["pumps"], limit=n) for n in (5, 8, 20)]
    (event,) = await looped(*search)
    assert (event.payload["current"], event.payload["limit"]) == (3, 3)
    assert await looped(*(call("thread_read", thread="log", limit=n) for n in (5, 8, 20)))
    assert await looped(*(call("vault_read", path="a.md", lines="1-9") for _ in range(3)))
    other = [call("vault_search", queries=[word], limit=5) for word in ("a", "b", "c")]
    assert not await looped(*other)


async def test_reading_on_is_no_loop_and_tools_without_key_arguments_use_all() -> None:
    assert not await looped(*(call("vault_read", path="a.md", lines=f"{n}-9") for n in (1, 2, 3)))
    assert not await looped(*(call("vault_read", path="a.md", offset=n) for n in (0, 50, 100)))
    assert not await looped(*(call("thread_read", thread="log", position=n) for n in (1, 2, 3)))
    assert await looped(*(call("thread_read", thread="log", position=1) for _ in range(3)))
    assert not await looped(*(call("look", page=n) for n in (1, 2, 3)))
    assert await looped(*(call("look", page=1) for _ in range(3)))


async def test_a_loop_that_ends_the_run_shows_one_notice_and_is_recorded_once() -> None:
    script = Script(then=when_tool_free(say("Stuck."), otherwise=call("look", page=1)))
    async with served(script) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.record.done is not None
    assert ran.record.done.termination_reason == "no_progress"
    assert len(ran.notices("no_progress")) == 1
    assert ran.notices("loop_warning") == []
    (event,) = loops(ran.chunks)
    results = [c.seq for c in ran.chunks if isinstance(c, ToolResult)]
    assert results[1] < event.seq < results[2]


# -- N means N, and the wrap-up turn --------------------------------------------------------------


async def test_n_1_makes_one_tool_free_request_and_says_why() -> None:
    async with served(Script([say("All I know.")])) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 1})
    (request,) = bench.endpoint.requests
    assert request.tool_free
    assert ran.reason == "max_iterations"
    assert ran.answer == "All I know."
    (notice,) = ran.notices("limit_warning")
    assert notice.system_message == LAST_ITERATION.format(1)
    assert "1 of 1 iterations" in ran.explanation


async def test_n_2_warns_the_user_at_the_start_of_turn_2() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 2})
    assert [r.tool_free for r in bench.endpoint.requests] == [False, True]
    (notice,) = ran.notices("limit_warning", "iterations")
    starts = ran.turn_starts()
    assert starts[1].seq < notice.seq
    assert notice.system_message == LAST_ITERATION.format(2)
    assert not any("Approaching" in hint for hint in ran.hints)


async def test_n_3_warns_two_turns_ahead() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 3})
    assert [r.tool_free for r in bench.endpoint.requests] == [False, False, True]
    notice, last = ran.notices("limit_warning", "iterations")
    assert notice.metadata["current_value"] == 1
    assert last.metadata["phase"] == "wrap_up"


async def test_the_wrap_up_turn_withholds_tools_and_asks_for_an_answer() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 3})
    last = bench.endpoint.requests[-1].body
    assert last["tool_choice"] == "none"
    assert last["tools"]  # kept, because the history holds calls
    assert "Answer now" in last["messages"][-1]["content"]
    assert ran.answer == "Here is what I found so far."
    assert ran.reason == "max_iterations"
    assert "3 of 3 iterations" in ran.explanation


async def test_a_wrap_up_that_only_calls_tools_still_ends_with_its_reason() -> None:
    async with served(Script(then=call("look", page=1))) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools, config={"max_iterations": 2})
    assert ran.reason == "max_iterations"
    assert tools.started == 1
    assert "No answer was written" in ran.explanation
    assert_sound(ran)


async def fail_the_last_answer(last: Reply | Fault) -> Ran:
    async def at_once(seconds: float) -> None:
        del seconds

    async with served(Script([call("look", page=1)], then=last)) as bench:
        ran = await drive(bench.model(sleep=at_once), looking(), config={"max_iterations": 2})
    assert_sound(ran)
    return ran


@pytest.mark.parametrize(
    "name", ["status_400", "half_close", "empty_stream", "garbage_json", "status_401"]
)
async def test_a_last_answer_that_the_endpoint_refuses_is_no_limit_reached(name: FaultName) -> None:
    """One of two iterations is used: nothing says that two are."""
    ran = await fail_the_last_answer(Fault(name))
    assert (ran.outcome, ran.reason) == ("failed", "provider_error")
    assert "max_iterations" in ran.also
    assert not ran.notices("limit_reached")
    assert not ran.explanation


async def test_a_last_answer_that_breaks_after_content_has_used_its_iteration() -> None:
    ran = await fail_the_last_answer(Reply(text="So far", fault=Fault("half_close", after=1)))
    assert (ran.outcome, ran.reason) == ("limited", "max_iterations")
    assert "provider_error" in ran.also
    assert ran.answer
    (reached,) = ran.notices("limit_reached")
    assert reached.system_message.startswith("Maximum iterations reached. 2/2 used.")
    assert "The last answer could not be finished." in ran.explanation


@virtual_time
async def test_a_last_answer_that_hangs_to_the_deadline_ends_for_time() -> None:
    script = Script([call("look", page=1), call("look", page=2)], then=Reply(fault=Fault("hang")))
    ran, aborted = await drive_virtually(
        script, config={"max_iterations": 3, "timeout_seconds": 10}
    )
    assert aborted == 1
    assert (ran.outcome, ran.reason) == ("limited", "timeout")
    assert "max_iterations" in ran.also
    (reached,) = ran.notices("limit_reached")
    assert reached.system_message.startswith("Time limit reached (10/10 s).")
    assert "2 of 3 iterations" in ran.explanation


@virtual_time
async def test_a_last_answer_that_fails_before_the_deadline_is_not_for_time() -> None:
    """Tools are cut at 8.5 of 10 seconds; the request that follows is refused at once."""
    refused = Reply(fault=Fault("status_400"))
    script = Script(then=when_tool_free(refused, otherwise=call("slow")))
    ran, _ = await drive_virtually(
        script, FakeTools({"slow": slow(60)}), config={"timeout_seconds": 10}
    )
    assert (ran.outcome, ran.reason) == ("failed", "provider_error")
    assert "timeout" in ran.also
    assert not ran.notices("limit_reached")


async def test_a_budget_without_room_for_work_is_the_reason_though_the_answer_fails() -> None:
    async with served(Script(then=Fault("status_400"))) as bench:
        ran = await drive(bench.model(), many_tools(), config={"token_budget": 1_000})
    assert (ran.outcome, ran.reason) == ("limited", "token_budget")
    assert "provider_error" in ran.also
    (failed,) = ran.notices("provider")
    assert failed.system_message.startswith("The last answer could not be finished.")


@virtual_time
async def test_a_wrap_up_of_a_stuck_run_that_stays_silent_is_abandoned_after_4_seconds() -> None:
    silent = Reply(fault=Fault("hang"))
    script = Script(then=when_tool_free(silent, otherwise=call("look", page=1)))
    ran, aborted = await drive_virtually(script)
    assert aborted == 1
    assert ran.reason == "no_progress"
    assert 4 <= ran.seconds < 4.5
    assert "No answer was written" in ran.explanation


async def test_no_progress_without_any_content_explains_what_was_attempted() -> None:
    script = Script(then=when_tool_free(Reply(), otherwise=call("look", page=1)))
    async with served(script) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.reason == "no_progress"
    assert ran.answer == ""
    assert "look (3 times)" in ran.explanation
    assert 'look:{"page":1}' in ran.explanation


# -- tokens ---------------------------------------------------------------------------------------


async def test_a_budget_of_1000_with_a_large_prompt_ends_before_any_request() -> None:
    async with served(Script()) as bench:
        ran = await drive(
            bench.model(), looking(), config={"token_budget": 1_000}, question="why? " * 2_000
        )
    assert bench.endpoint.requests == []
    assert (ran.outcome, ran.reason) == ("limited", "token_budget")
    assert "smallest token budget that would do is about" in ran.explanation


async def test_a_budget_of_1000_with_a_short_question_is_answered_without_tools() -> None:
    async with served(Script([say("Briefly.")])) as bench:
        ran = await drive(bench.model(), many_tools(), config={"token_budget": 1_000})
    assert bench.endpoint.requests[0].tool_free
    assert (ran.reason, ran.answer) == ("token_budget", "Briefly.")


def many_tools() -> FakeTools:
    return FakeTools({f"a_tool_with_a_rather_long_name_{n}": returns("x") for n in range(40)})


async def test_a_budget_crossed_in_mid_response_keeps_everything_that_came() -> None:
    # This endpoint does not honour max_tokens: it would go on for ever.
    story = "once upon a time " * 4_000
    async with served(Script([say(story, usage=None, piece_delay=0.0001)])) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 2_000})
    assert (ran.outcome, ran.reason) == ("limited", "token_budget")
    assert story.startswith(ran.answer)
    assert len(ran.answer) > 1_000
    assert ran.record.done is not None
    assert ran.record.done.usage_source == "estimate"
    assert ran.record.done.tokens_used < 2_000 * 1.2


@pytest.mark.ci
async def test_endless_arguments_of_a_tool_call_are_cut_at_the_budget_too() -> None:
    endless = Reply(calls=(Call("look", {"page": "x " * 40_000}),), usage=None, piece_delay=0.0001)
    async with served(Script([endless])) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools, config={"token_budget": 2_000})
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert ran.reason == "token_budget"
    assert tools.started == 0
    assert_sound(ran)


async def test_length_on_a_request_that_the_budget_capped_is_token_budget() -> None:
    async with served(
        Script([say("cut he", finish="length", usage=TokenUsage(600, 400))])
    ) as bench:
        ran = await drive(bench.model(), looking(), config={"token_budget": 1_500})
    assert (ran.outcome, ran.reason) == ("limited", "token_budget")
    assert ran.answer == "cut he"


async def test_max_tokens_is_capped_to_what_is_left() -> None:
    script = Script(
        [
            replace(call("look", page=1), usage=TokenUsage(400, 100)),
            say("Yes.", usage=TokenUsage(500, 5)),
        ]
    )
    async with served(script) as bench:
        await drive(bench.model(), looking(), config={"token_budget": 3_000})
    asked = [request.body["max_tokens"] for request in bench.endpoint.requests]
    assert asked[0] < 3_000
    assert asked[1] < 3_000 - 500


async def test_usage_that_is_absent_is_estimated_and_labelled_never_zero() -> None:
    async with served(Script([say("Yes.", usage=None)])) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.record.done is not None
    assert ran.record.done.usage_source == "estimate"
    assert ran.record.done.tokens_used > 0


async def test_usage_of_both_kinds_is_labelled_mixed() -> None:
    script = Script([replace(call("look", page=1), usage=None), say("Yes.")])
    async with served(script) as bench:
        ran = await drive(bench.model(), looking())
    assert ran.record.done is not None
    assert ran.record.done.usage_source == "mixed"


# -- tool calls -----------------------------------------------------------------------------------


async def test_calls_over_the_cap_are_refused_with_a_result_and_one_notice() -> None:
    many = calls(*(Call("look", {"page": n}) for n in range(7)))
    async with served(Script([many, say("Done.")])) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools, config={"max_tool_calls_per_turn": 3})
    assert tools.started == 3
    results = sorted(ran.record.results.values(), key=lambda r: r.order)
    assert [r.ok for r in results] == [True] * 3 + [False] * 4
    assert "at most 3" in results[3].tool_result
    (notice,) = ran.notices("tool_limit")
    assert (notice.metadata["current_value"], notice.metadata["limit_value"]) == (7, 3)
    assert_sound(ran)


async def test_no_more_tools_run_at_once_than_allowed_and_results_go_back_in_call_order() -> None:
    async def sleepy(call: ToolCall, context: ToolContext) -> ToolOutcome:
        await asyncio.sleep(0.01 * (5 - call.arguments["n"]))
        return ToolOutcome(ok=True, content=str(call.arguments["n"]))

    tools = FakeTools({"nap": with_context(sleepy)})
    many = calls(*(Call("nap", {"n": n}) for n in range(5)))
    async with served(Script([many, say("Done.")])) as bench:
        ran = await drive(bench.model(), tools, config={"max_parallel_tools": 2})
    assert tools.max_in_flight == 2
    told = [
        m["content"] for m in bench.endpoint.requests[1].body["messages"] if m["role"] == "tool"
    ]
    assert told == ["0", "1", "2", "3", "4"]
    assert_sound(ran)


async def test_identical_read_only_calls_run_once_and_share_their_result() -> None:
    twice = calls(Call("look", '{"a":1,"b":2}'), Call("look", '{"b": 2,  "a": 1}'))
    async with served(Script([twice, say("Done.")])) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools)
    assert tools.started == 1
    assert len({r.tool_result for r in ran.record.results.values()}) == 1
    assert_sound(ran)


async def test_duplicate_call_ids_still_get_one_result_each() -> None:
    twice = calls(Call("look", {"page": 1}, id="same"), Call("look", {"page": 2}, id="same"))
    async with served(Script([twice, say("Done.")])) as bench:
        ran = await drive(bench.model(), looking())
    messages = bench.endpoint.requests[1].body["messages"]
    asked = [c["id"] for m in messages for c in m.get("tool_calls", ())]
    told = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert asked == told
    assert len(set(asked)) == 2
    assert_sound(ran)


@pytest.mark.parametrize("arguments", ['{"page": ', "[1]", "nonsense", '{"page": NaN}'])
async def test_malformed_arguments_are_a_failed_result_that_says_why(arguments: str) -> None:
    async with served(Script([calls(Call("look", arguments)), say("Sorry.")])) as bench:
        tools = looking()
        ran = await drive(bench.model(), tools)
    (result,) = ran.record.results.values()
    assert not result.ok
    assert "arguments" in result.tool_result
    assert tools.started == 0
    for message in bench.endpoint.requests[1].body["messages"]:
        for made in message.get("tool_calls", ()):
            assert isinstance(json.loads(made["function"]["arguments"]), dict)


# -- cancellation ---------------------------------------------------------------------------------


async def test_cancel_during_the_model_stream_aborts_the_request() -> None:
    cancellation = Cancellation()
    endless = say("word " * 500, piece_delay=0.01)
    async with served(Script([endless])) as bench:
        watch = cancel_on(Content, cancellation)
        ran = await drive(bench.model(), looking(), cancellation=cancellation, watch=watch)
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert ran.reason == "user_cancelled"
    assert ran.answer.startswith("word")
    assert ran.record.done is not None
    assert ran.record.done.usage_source == "estimate"


@pytest.mark.parametrize("behaviour", [hangs(), swallows_cancellation(30), slow(30)])
@virtual_time
async def test_cancel_during_a_tool_ends_the_run_at_once(behaviour: Any) -> None:
    cancellation = Cancellation()

    def watch(chunk: OracleStreamChunk) -> None:
        if isinstance(chunk, ToolCalled) and chunk.tool_call.status == "running":
            cancellation.request()

    with FakeTools({"wait": behaviour}) as tools:
        ran, _ = await drive_virtually(
            Script([call("wait")]), tools, cancellation=cancellation, watch=watch
        )
    assert ran.reason == "user_cancelled"
    assert ran.seconds < 5
    (result,) = ran.record.results.values()
    assert result.tool_result.startswith("Outcome unknown")
    assert_sound(ran)


async def test_cancel_during_the_wrap_up_turn_is_a_cancellation() -> None:
    cancellation = Cancellation()
    slowly = say("the end is near " * 20, piece_delay=0.01)
    script = Script(then=when_tool_free(slowly, otherwise=call("look", page=1)))
    async with served(script) as bench:
        watch = cancel_on(Content, cancellation)
        ran = await drive(
            bench.model(),
            looking(),
            config={"max_iterations": 2},
            cancellation=cancellation,
            watch=watch,
        )
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert (ran.outcome, ran.reason) == ("cancelled", "user_cancelled")
    assert ran.answer.startswith("the ")


async def test_a_second_cancel_and_a_cancel_before_the_start_are_harmless() -> None:
    cancellation = Cancellation()
    cancellation.request()
    cancellation.request()
    async with served(Script()) as bench:
        ran = await drive(bench.model(), looking(), cancellation=cancellation)
    assert ran.reason == "user_cancelled"
    assert bench.endpoint.requests == []


# -- time -----------------------------------------------------------------------------------------


@virtual_time
async def test_a_model_that_drips_is_cut_at_the_deadline_with_its_text_kept() -> None:
    drips = say("slow " * 200, piece_delay=1)
    ran, aborted = await drive_virtually(Script([drips]), config={"timeout_seconds": 10})
    assert aborted == 1
    assert (ran.outcome, ran.reason) == ("limited", "timeout")
    assert ran.answer.startswith("slow slow")
    assert 10 <= ran.seconds < 10.5


async def test_a_model_that_never_answers_is_cut_at_the_deadline() -> None:
    clock = FastClock()
    async with served(Script([Fault("hang_before_headers")]), clock=clock) as bench:
        ran = await drive(bench.model(), looking(), clock=clock, config={"timeout_seconds": 10})
    assert ran.reason == "timeout"
    assert ran.record.done is not None
    assert ran.record.done.turns_used == 0
    assert "No answer was written" in ran.explanation


async def test_every_turn_is_framed_by_a_start_and_an_end() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 4})
    phases = [(c.number, c.phase) for c in ran.chunks if isinstance(c, Turn)]
    assert phases == [(n, phase) for n in (1, 2, 3, 4) for phase in ("start", "end")]


async def test_notices_carry_value_limit_percent_type_and_advice() -> None:
    async with served(Script(then=pages())) as bench:
        ran = await drive(bench.model(), looking(), config={"max_iterations": 3})
    assert ran.record.notices
    for notice in ran.record.notices:
        assert isinstance(notice, SystemMessage)
        assert notice.role == "system"
        assert {"current_value", "limit_value", "percent", "limit_type"} <= set(notice.metadata)
        assert notice.system_message
