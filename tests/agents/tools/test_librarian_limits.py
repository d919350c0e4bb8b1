"""A subagent under every limit and under cancellation, against the real endpoint."""

from dataclasses import replace
from typing import Any

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import Content, Done, Error, ToolCalled, Turn
from agents.core.messages import TokenUsage
from agents.core.ports import ChatModel, ToolRunner
from agents.tools import registry
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from tests.agents.core.loop.test_limits import assert_sound, cancel_on, looking, pages
from tests.support.runs import Bench, FastClock, Ran, drive, served
from tests.support.script import Reply, Script, call, say, when_tool_free
from tests.support.tools import FakeTools, fails, hangs

DELEGATE = call("delegate_librarian", task="Summarise the plan.")


def delegating(model: ChatModel, tools: ToolRunner, seconds: float = 1_200) -> ToolExecutor:
    librarian = Librarian(model=model, tools=tools, seconds=seconds)
    return ToolExecutor([registry.get("delegate_librarian")], [librarian])


def oracle() -> Script:
    return Script([DELEGATE, say("The librarian has reported.")])


async def run_with(bench: Bench, tools: ToolRunner, seconds: float = 1_200, **options: Any) -> Ran:
    executor = delegating(bench.model("librarian"), tools, seconds)
    return await drive(bench.model("oracle"), executor, clock=bench.clock, **options)


def report(ran: Ran) -> str:
    (result,) = ran.record.results.values()
    return result.tool_result


def subturns(ran: Ran) -> list[Turn]:
    return [c for c in ran.chunks if isinstance(c, Turn) and c.phase == "end" and c.parent]


async def test_the_report_is_the_last_reply_and_nothing_else_reaches_the_answer() -> None:
    talking = replace(call("look", page=1), text="Let me look first.")
    async with served(oracle=oracle(), librarian=Script([talking, say("The plan is good.")])) as b:
        ran = await run_with(b, looking())
    assert report(ran) == "The plan is good."
    assert ran.answer == "The librarian has reported."
    assert ran.reason == "completed"
    said = [c.content for c in ran.chunks if isinstance(c, Content) and c.parent]
    assert "".join(said) == "Let me look first.The plan is good."
    assert_sound(ran)


async def test_its_chunks_carry_the_call_that_started_it_and_its_done_is_not_the_runs() -> None:
    async with served(oracle=oracle(), librarian=Script([say("Good.")])) as bench:
        ran = await run_with(bench, looking())
    (call_id,) = ran.record.calls
    parents = {c.parent for c in ran.chunks}
    assert parents == {"", call_id}
    assert not [c for c in ran.chunks if isinstance(c, Done | Error) and c.parent]


async def test_its_tokens_are_charged_to_the_run() -> None:
    first = replace(DELEGATE, usage=TokenUsage(100, 10))
    final = say("Reported.", usage=TokenUsage(200, 5))
    script = Script([first, final])
    async with served(
        oracle=script, librarian=Script([say("Good.", usage=TokenUsage(1_000, 50))])
    ) as b:
        ran = await run_with(b, looking())
    assert ran.record.done is not None
    assert ran.record.done.tokens_used == 110 + 1_050 + 205
    assert ran.record.turns[0].subagent_tokens == 1_050


async def test_it_gets_no_more_than_its_share_of_the_tokens() -> None:
    async with served(oracle=oracle(), librarian=Script([say("Good.")])) as bench:
        await run_with(bench, looking(), config={"token_budget": 10_000})
    asked = next(r for r in bench.endpoint.requests if r.key == "librarian")
    assert asked.body["max_tokens"] < 5_000


# -- cut by each limit ----------------------------------------------------------------------------


async def test_cut_by_its_turns() -> None:
    async with served(oracle=oracle(), librarian=Script(then=pages())) as bench:
        ran = await run_with(bench, looking())
    assert len(subturns(ran)) == 8
    assert report(ran).startswith("Here is what I found so far.")
    assert "stopped early" in report(ran)
    assert ran.reason == "completed"


async def test_cut_by_its_tokens() -> None:
    costly = replace(call("look", page=1), usage=TokenUsage(4_000, 100))
    async with served(oracle=oracle(), librarian=Script([costly], then=pages())) as bench:
        ran = await run_with(bench, looking(), config={"token_budget": 10_000})
    assert "librarian" in report(ran)
    assert "token budget" in report(ran)
    assert ran.reason == "completed"


async def test_cut_by_its_own_time() -> None:
    clock = FastClock()
    script = Script(then=when_tool_free(say("Half of it."), otherwise=call("wait")))
    async with served(clock=clock, oracle=oracle(), librarian=script) as bench:
        ran = await run_with(bench, FakeTools({"wait": hangs()}), seconds=20)
    assert "Half of it." in report(ran)
    assert "used all its time" in report(ran)
    assert ran.reason == "completed"


async def test_cut_by_what_its_parent_has_left() -> None:
    clock = FastClock()
    endless = say("unfinished " * 200, piece_delay=0.02)
    ending = when_tool_free(say("Without the librarian."), otherwise=DELEGATE)
    async with served(clock=clock, oracle=Script(then=ending), librarian=Script([endless])) as b:
        ran = await run_with(b, looking(), config={"timeout_seconds": 10})
        await b.endpoint.until(lambda: b.endpoint.aborted == 1)
    assert ran.reason == "timeout"
    assert ran.answer == "Without the librarian."
    assert "unfinished" not in ran.answer + report(ran)
    assert ran.record.done is not None
    assert ran.record.done.tokens_used > 0
    assert_sound(ran)


async def test_cut_for_no_progress() -> None:
    script = Script(then=when_tool_free(say("Stuck there."), otherwise=call("look", page=1)))
    async with served(oracle=oracle(), librarian=script) as bench:
        ran = await run_with(bench, looking())
    assert "Stuck there." in report(ran)
    assert ran.reason == "completed"


async def test_cut_for_tool_errors() -> None:
    async with served(oracle=oracle(), librarian=Script(then=pages())) as bench:
        ran = await run_with(bench, FakeTools({"look": fails("gone")}))
    assert "failed three times in a row" in report(ran)
    assert ran.reason == "completed"


async def test_cut_by_cancelling_the_run() -> None:
    cancellation = Cancellation()
    endless = say("unfinished " * 500, piece_delay=0.01)
    async with served(oracle=Script([DELEGATE]), librarian=Script([endless])) as bench:
        watch = cancel_on(Content, cancellation)
        ran = await run_with(bench, looking(), cancellation=cancellation, watch=watch)
        await bench.endpoint.until(lambda: bench.endpoint.aborted == 1)
    assert ran.reason == "user_cancelled"
    assert ran.answer == ""
    assert "unfinished" not in report(ran)
    (turn,) = ran.record.turns
    assert turn.subagent_tokens > 0  # what it had used is charged all the same
    assert_sound(ran)


async def test_cancelled_while_its_own_tool_hangs() -> None:
    cancellation = Cancellation()

    def watch(chunk: object) -> None:
        if isinstance(chunk, ToolCalled) and chunk.parent and chunk.tool_call.status == "running":
            cancellation.request()

    async with served(oracle=Script([DELEGATE]), librarian=Script([call("wait")])) as bench:
        with FakeTools({"wait": hangs()}) as tools:
            ran = await run_with(bench, tools, cancellation=cancellation, watch=watch)
    assert ran.reason == "user_cancelled"
    assert tools.cancelled == 1
    assert_sound(ran)


@pytest.mark.parametrize("reply", [Reply(), say("I would", finish="content_filter")])
async def test_a_subagent_that_fails_is_a_failed_call_and_the_run_goes_on(reply: Reply) -> None:
    async with served(oracle=oracle(), librarian=Script(then=reply)) as bench:
        ran = await run_with(bench, looking())
    assert report(ran).startswith("The librarian has no answer.")
    assert ran.reason == "completed"
