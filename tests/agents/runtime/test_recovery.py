"""However a subagent is cut, nothing of what it wrote is left; what it finished is kept."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from agents import context_messages, ledger
from agents.audit.verify import verify_entries, verify_run
from agents.core.chunks import (
    CallView,
    Content,
    OracleStreamChunk,
    Source,
    SourceRef,
    ToolCalled,
    ToolResult,
    to_dict,
)
from agents.core.config import AgentConfig
from agents.core.messages import Finished, ModelError, TextDelta, ToolCall, ToolOutcome
from agents.core.ports import ToolContext, ToolRunner
from agents.ledger import queries
from agents.models import AgentRun, AuditEntry, RunEvent
from agents.replay_source import load_recordings
from agents.runtime import Runtime
from agents.runtime.recovery import Sweeper
from agents.tools import registry
from agents.tools.delegating_runner import DelegatingRunner
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import Librarian
from tests.agents.models.factories import ada, dead_process, engine, run_of
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.script import Call, calls, say
from tests.support.scripted_model import Item, ScriptedModel
from tests.support.tools import Behaviour, FakeTools, hangs, with_context

pytestmark = pytest.mark.django_db(transaction=True)
HALF = "half-a-summary"
DELEGATE = calls(Call("delegate_librarian", {"task": "Read"}, id="c1"), text="I let it be read.")
LOOK = calls(Call("look", {"place": HALF}, id="c1"), text=HALF, thinking=HALF)


@pytest.fixture(autouse=True)
async def closed_connection() -> AsyncIterator[None]:
    """PostgreSQL does not drop a database that a thread of the tests is still connected to."""
    yield
    await sync_to_async(connections.close_all)()


def hanging() -> list[Item]:
    """A stream that says something and does not end."""
    return [TextDelta(HALF), asyncio.Event()]


def librarian(*steps: Any, seconds: float = 1_200) -> ToolExecutor:
    """The real one, with a scripted model and a tool that gives back what it is given."""
    tools = FakeTools({"look": lambda place: place})
    service = Librarian(model=ScriptedModel(steps), tools=tools, seconds=seconds)
    return ToolExecutor([registry.get("delegate_librarian")], [service])


async def until_half_is_stored(runtime: Runtime, row: AgentRun) -> None:
    """Until the subagent has used its tool and has begun to answer."""
    async for chunk in runtime.follow(row.pk):
        if isinstance(chunk, Content) and chunk.parent and chunk.seq > await looked(row):
            return


async def looked(row: AgentRun) -> int:
    results = RunEvent.objects.filter(run=row.pk, kind="tool_result")
    seen = await results.order_by("-seq").values_list("seq", flat=True).afirst()
    return seen or 10**9


@sync_to_async
def assert_nothing_is_left(run_id: Any) -> None:
    row = AgentRun.objects.get(pk=run_id)
    rows = [str(values) for values in RunEvent.objects.filter(run=row).values_list()]
    assert not [values for values in rows if HALF in values]
    assert RunEvent.objects.filter(run=row, data__parent="c1", content="").exists()
    assert HALF not in row.answer + row.explanation + row.error
    assert HALF not in str(context_messages.build_messages([row.pk]))
    chunks = [chunk for page in ledger.iter_pages(row.pk) for chunk in page.chunks]
    assert HALF not in str(list(map(to_dict, chunks)))
    entries = AuditEntry.objects.filter(run=row, verb="erase_unfinished")
    assert [entry.detail for entry in entries] == [{"call": "c1"}]
    assert not row.is_erased
    assert verify_run(row) is None
    assert verify_entries() is None


# -- while the process lives ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("steps", "seconds"),
    [
        ([LOOK, hanging()], 0.3),
        ([LOOK, [TextDelta(HALF), ModelError("It is down.")]], 60),
        ([LOOK, [TextDelta(HALF), Finished((), "content_filter")]], 60),
    ],
    ids=["out of time", "broken", "filtered"],
)
async def test_what_it_did_not_finish_is_gone_while_the_run_goes_on(
    steps: list[Any], seconds: float
) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([DELEGATE, [TextDelta("No summary"), gate, TextDelta("."), Finished()]])
    world = ScriptedRunFactory(model, librarian(*steps, seconds=seconds))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        async for chunk in runtime.follow(row.pk):
            if isinstance(chunk, Content) and chunk.content == "No summary":
                break
        await assert_nothing_is_left(row.pk)
        assert (await AgentRun.objects.aget(pk=row.pk)).outcome is None
        gate.set()
        chunks = await followed(runtime, row.pk)
    assert HALF not in str(chunks)
    assert chunks[-1].seq == len(chunks)
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert stored.answer == "I let it be read.\n\nNo summary."
    await assert_nothing_is_left(row.pk)


async def test_a_cancellation_leaves_nothing_of_it() -> None:
    world = ScriptedRunFactory(ScriptedModel([DELEGATE]), librarian(LOOK, hanging()))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        await until_half_is_stored(runtime, row)
        await runtime.cancel(row.pk)
        await followed(runtime, row.pk)
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "user_cancelled"
    await assert_nothing_is_left(row.pk)


async def test_a_process_that_stops_leaves_nothing_of_it() -> None:
    world = ScriptedRunFactory(ScriptedModel([DELEGATE]), librarian(LOOK, hanging()))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        await until_half_is_stored(runtime, row)
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "interrupted"
    await assert_nothing_is_left(row.pk)


def tool(act: Any) -> ToolRunner:
    behaviour: Behaviour = with_context(act)
    return FakeTools({"delegate_librarian": behaviour})


async def test_a_tool_that_raises_leaves_nothing_of_its_subagent() -> None:
    async def act(call: ToolCall, context: ToolContext) -> ToolOutcome:
        context.emit(Content(content=HALF))
        raise RuntimeError("boom")

    world = ScriptedRunFactory(ScriptedModel([DELEGATE, say("No summary.")]), tool(act))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        await followed(runtime, row.pk)
    await assert_nothing_is_left(row.pk)


async def test_what_it_finished_is_kept() -> None:
    world = ScriptedRunFactory(
        ScriptedModel([DELEGATE, say("So.")]), librarian(LOOK, say("The summary [a.md]."))
    )
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        live = await followed(runtime, row.pk)
        again = await followed(runtime, row.pk)
    assert live == again
    said = "".join(c.content for c in live if isinstance(c, Content) and c.parent == "c1")
    assert said == f"{HALF}The summary [a.md]."
    assert not await AuditEntry.objects.filter(verb="erase_unfinished").aexists()
    assert await sync_to_async(verify_run)(await AgentRun.objects.aget(pk=row.pk)) is None


# -- when it is gone ------------------------------------------------------------------------------


async def test_the_sweep_erases_what_a_dead_process_left_of_it() -> None:
    world = ScriptedRunFactory(ScriptedModel([DELEGATE]), librarian(LOOK, hanging()))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked())
        await until_half_is_stored(runtime, row)
        gone = AgentRun.objects.filter(pk=row.pk)
        await gone.aupdate(owner=await sync_to_async(dead_process)(), fence=7)
        await followed(runtime, row.pk)  # the sweep of the runtime that has lost it ends it
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "interrupted"
    await assert_nothing_is_left(row.pk)


# -- while it summarises a long result ------------------------------------------------------------

READ = calls(Call("read", {}, id="c1"))
LONG = "A line of the log.\n" * 900
LOG = SourceRef("log.md", "vault", 1, "A line of the log.", None)
ROOMY = AgentConfig(token_budget=100_000)


def summarising(*steps: Any) -> DelegatingRunner:
    """A tool with a long result, and a librarian for it."""
    service = Librarian(ScriptedModel(steps), FakeTools({"look": lambda place: place}))
    tools = FakeTools({"read": lambda: ToolOutcome(True, LONG, sources=(LOG,)), "wait": hangs()})
    return DelegatingRunner(tools, service, "What is it?")


async def test_a_cancellation_leaves_the_result_and_nothing_of_its_summary() -> None:
    world = ScriptedRunFactory(ScriptedModel([READ]), summarising(LOOK, hanging()))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked(config=ROOMY))
        await until_half_is_stored(runtime, row)
        await runtime.cancel(row.pk)
        chunks = await followed(runtime, row.pk)
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "user_cancelled"
    (kept,) = [c for c in chunks if isinstance(c, ToolResult) and not c.parent]
    assert kept.ok
    assert "A line of the log." in kept.tool_result
    assert kept.given == ""
    await assert_nothing_is_left(row.pk)


async def test_the_sweep_keeps_the_result_whose_summary_a_dead_process_did_not_finish() -> None:
    """Also for a call that shares it; one that has none is left unknown."""
    twins = [Call("read", {}, id=call_id) for call_id in ("c1", "c2")]
    model = ScriptedModel([calls(*twins, Call("wait", {}, id="c3"))])
    world = ScriptedRunFactory(model, summarising(LOOK, hanging()))
    async with Runtime(world) as runtime:
        row = await runtime.start(await asked(config=ROOMY))
        await until_half_is_stored(runtime, row)
        gone = AgentRun.objects.filter(pk=row.pk)
        await gone.aupdate(owner=await sync_to_async(dead_process)(), fence=7)
        await followed(runtime, row.pk)  # the sweep of the runtime that has lost it ends it
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "interrupted"
    await assert_nothing_is_left(row.pk)
    chunks = await stored(row)
    kept = [c for c in chunks if isinstance(c, ToolResult) and not c.parent]
    assert [(c.tool_call_id, c.order, c.ok, c.unfinished) for c in kept] == [
        ("c1", 0, True, True),
        ("c2", 1, True, True),
        ("c3", 2, False, False),
    ]
    assert [c.tool_result for c in kept[:2]] == [LONG, LONG]
    assert kept[2].is_unknown
    assert [c.source for c in chunks if isinstance(c, Source)] == [LOG]
    messages = await sync_to_async(context_messages.build_messages)([row.pk])
    assert [m["content"] for m in messages if m["role"] == "tool"][:2] == [LONG, LONG]


@sync_to_async
def stored(row: AgentRun) -> list[OracleStreamChunk]:
    return [chunk for page in ledger.iter_pages(row.pk) for chunk in page.chunks]


async def test_the_result_and_its_summary_are_stored_and_both_are_read_again() -> None:
    """In the stream, in what the next question brings, and by the replay."""
    model = ScriptedModel([READ, say("So.")])
    async with Runtime(
        ScriptedRunFactory(model, summarising(say("All is well [log.md].")))
    ) as runtime:
        row = await runtime.start(await asked(config=ROOMY))
        chunks = await followed(runtime, row.pk)
    (kept,) = [to_dict(c) for c in chunks if isinstance(c, ToolResult) and not c.parent]
    assert kept["tool_result"] == LONG
    assert kept["given"].endswith("All is well [log.md].")
    messages = await sync_to_async(context_messages.build_messages)([row.pk])
    assert kept["given"] in [message["content"] for message in messages]
    (recording,) = await sync_to_async(lambda: [*load_recordings([row.pk])])()
    assert recording.damage == ""
    assert await sync_to_async(verify_run)(await AgentRun.objects.aget(pk=row.pk)) is None


CALLED = ToolCalled(tool_call=CallView("c1", "delegate_librarian", {"task": "Read"}, "running"))
FAILED = ToolResult(
    tool_call_id="c1", tool_result="The librarian has no answer.", ok=False, duration_ms=9, order=0
)


@sync_to_async
def half_stored() -> AgentRun:
    """A run whose subagent has ended and was not erased, of a process that is gone."""
    user = ada()
    row = run_of(user, engine(user), config=AgentConfig().model_dump(), owner=dead_process())
    chunks: list[OracleStreamChunk] = [CALLED, Content(content=HALF, parent="c1"), FAILED]
    numbered = [replace(chunk, seq=n, at=1e9) for n, chunk in enumerate(chunks, start=1)]
    queries.write([queries.Commit(queries.Claim(row.pk, row.fence), numbered)])
    return row


async def test_the_sweep_erases_also_when_the_end_of_it_was_stored_and_its_erasure_was_not() -> (
    None
):
    """As an earlier version left it."""
    row = await half_stored()
    assert HALF in str([event.content async for event in RunEvent.objects.filter(run=row)])
    assert await sync_to_async(Sweeper("own", lambda run_id: False).sweep)() == 1
    assert (await AgentRun.objects.aget(pk=row.pk)).reason == "interrupted"
    await assert_nothing_is_left(row.pk)
