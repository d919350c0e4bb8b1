"""Runs that are stored as they happen, by the process that owns them."""

import asyncio
import sqlite3
import uuid
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.utils import timezone

from agents import context_messages
from agents.audit.verify import verify_run
from agents.core.chunks import Content, Done, SystemMessage, ToolCalled, ToolResult
from agents.core.config import AgentConfig
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.messages import TextDelta
from agents.ledger import checkpoint_wal
from agents.models import AgentRun, Project, RunEvent
from agents.runtime import RunRefused, Runtime
from agents.runtime import runtime as runtime_module
from tests.agents.models.factories import dead_process, process
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.script import call, say
from tests.support.scripted_model import Item, ScriptedModel
from tests.support.timing import look_again
from tests.support.tools import FakeTools, hangs

pytestmark = pytest.mark.django_db(transaction=True)


async def test_a_run_is_stored_and_can_be_followed_to_its_end() -> None:
    request = await asked()
    async with Runtime(
        ScriptedRunFactory(ScriptedModel([call("look"), say("It is so.")]))
    ) as runtime:
        row = await runtime.start(request)
        chunks = await followed(runtime, row.pk)
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert isinstance(chunks[-1], Done)
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert (stored.outcome, stored.reason) == ("completed", "completed")
    assert stored.answer == "It is so."
    assert (stored.turns, stored.tool_calls) == (2, 1)
    assert stored.last_seq == len(chunks)


@pytest.mark.parametrize("after", [0, 1, 5, 10])
async def test_following_from_a_cursor_gives_exactly_the_rest(after: int) -> None:
    request = await asked()
    async with Runtime(
        ScriptedRunFactory(ScriptedModel([call("look"), say("It is so.")]))
    ) as runtime:
        row = await runtime.start(request)
        whole = await followed(runtime, row.pk)
        rest = await followed(runtime, row.pk, after)
    assert rest == whole[after:]


async def test_a_reader_that_goes_away_does_not_end_the_run() -> None:
    request = await asked()
    slowly = say("one two three four", piece_delay=0.01)
    async with Runtime(ScriptedRunFactory(ScriptedModel([slowly]))) as runtime:
        row = await runtime.start(request)
        async for chunk in runtime.follow(row.pk):
            if isinstance(chunk, Content):
                break
        chunks = await followed(runtime, row.pk)
    assert "".join(c.content for c in chunks if isinstance(c, Content)) == "one two three four"


async def test_a_cancellation_in_the_database_reaches_the_run() -> None:
    """As another process would ask for it."""
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([call("wait")]), waiting())) as runtime:
        row = await runtime.start(request)
        await until_a_tool_runs(runtime, row)
        await AgentRun.objects.filter(pk=row.pk).aupdate(cancel_requested_at=timezone.now())
        chunks = await followed(runtime, row.pk)
        assert not await runtime.cancel(row.pk)  # harmless afterwards
    assert isinstance(chunks[-1], Done)
    assert chunks[-1].termination_reason == "user_cancelled"


async def test_an_administrator_can_say_why_they_stop_a_run() -> None:
    """Through another process: only the row is written."""
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([call("wait")]), waiting())) as runtime:
        row = await runtime.start(request)
        await until_a_tool_runs(runtime, row)
        asked_for = {"cancel_requested_at": timezone.now(), "cancel_note": "The quota is used up"}
        await AgentRun.objects.filter(pk=row.pk).aupdate(**asked_for)
        chunks = await followed(runtime, row.pk)
    told = [chunk for chunk in chunks if isinstance(chunk, SystemMessage)]
    assert told[-1].system_type == "cancelled"
    assert "Stopped by an administrator: The quota is used up. " in told[-1].system_message
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert (stored.reason, stored.cancel_note) == ("user_cancelled", "The quota is used up")
    assert await sync_to_async(verify_run)(stored) is None


async def until_a_tool_runs(runtime: Runtime, row: AgentRun) -> None:
    async for chunk in runtime.follow(row.pk):
        if isinstance(chunk, ToolCalled) and chunk.tool_call.status == "running":
            return


def waiting() -> FakeTools:
    return FakeTools({"wait": hangs()})


async def test_the_same_message_sent_twice_is_one_run() -> None:
    request = await asked(client_message_id="m1")
    async with Runtime(ScriptedRunFactory(ScriptedModel([say("Once.")]))) as runtime:
        rows = await asyncio.gather(*(runtime.start(request) for _ in range(20)))
        await followed(runtime, rows[0].pk)
    assert len({row.pk for row in rows}) == 1
    assert await AgentRun.objects.acount() == 1


async def test_a_conversation_has_one_run_at_a_time_and_the_others_are_told_so() -> None:
    request = await asked(conversation_key=uuid.uuid4())
    async with Runtime(ScriptedRunFactory(ScriptedModel([call("wait")]), waiting())) as runtime:
        row = await runtime.start(request)
        with pytest.raises(RunRefused, match="already in progress"):
            await runtime.start(request)
        await runtime.cancel(row.pk)
        await followed(runtime, row.pk)


async def test_a_user_may_have_only_so_many_runs_going() -> None:
    request = await asked()
    model = ScriptedModel([], then=call("wait"))
    async with Runtime(ScriptedRunFactory(model, waiting())) as runtime:
        rows = [await runtime.start(request) for _ in range(5)]
        with pytest.raises(RunRefused, match="5 runs in progress"):
            await runtime.start(request)
        for row in rows:
            await runtime.cancel(row.pk)
            await followed(runtime, row.pk)


async def test_stopping_the_process_ends_its_runs_as_interrupted_with_what_they_wrote() -> None:
    request = await asked()
    script: list[Item] = [TextDelta("half an answer"), asyncio.Event()]
    async with Runtime(ScriptedRunFactory(ScriptedModel([script]))) as runtime:
        row = await runtime.start(request)
        async for chunk in runtime.follow(row.pk):
            if isinstance(chunk, Content):
                break
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert (stored.outcome, stored.reason) == ("failed", "interrupted")
    assert stored.answer == "half an answer"
    assert "Continue" in stored.error


async def test_a_run_of_a_dead_process_is_settled_with_its_open_calls() -> None:
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([call("wait")]), waiting())) as runtime:
        row = await runtime.start(request)
        await until_a_tool_runs(runtime, row)
        gone = AgentRun.objects.filter(pk=row.pk)
        await gone.aupdate(owner=await sync_to_async(dead_process)(), fence=7)
        chunks = await followed(runtime, row.pk)
    assert isinstance(chunks[-1], Done)
    assert chunks[-1].termination_reason == "interrupted"
    results = [c for c in chunks if isinstance(c, ToolResult)]
    assert len(results) == 1
    assert results[0].tool_result.startswith("Outcome unknown")
    assert [c for c in chunks if isinstance(c, SystemMessage) and c.system_type == "interrupted"]


async def test_a_process_that_lost_its_run_writes_nothing_more() -> None:
    request = await asked()
    going_on = say("word " * 200, piece_delay=0.005)
    async with Runtime(ScriptedRunFactory(ScriptedModel([going_on]))) as runtime:
        row = await runtime.start(request)
        async for chunk in runtime.follow(row.pk):
            if isinstance(chunk, Content):
                break
        taken_over = {"fence": 99, "owner": await sync_to_async(process)()}
        await AgentRun.objects.filter(pk=row.pk).aupdate(**taken_over)
        before = await RunEvent.objects.filter(run=row.pk).acount()
        await asyncio.sleep(0.3)
        after = await RunEvent.objects.filter(run=row.pk).acount()
    assert after == before
    assert (await AgentRun.objects.aget(pk=row.pk)).outcome is None


async def test_a_run_goes_on_from_an_earlier_one_with_its_tool_turns_in_full() -> None:
    request = await asked()
    first = ScriptedModel([call("look"), say("So far.")])
    async with Runtime(ScriptedRunFactory(first)) as runtime:
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    second = ScriptedModel([say("And so on.")])
    async with Runtime(ScriptedRunFactory(second)) as runtime:
        again = replace(request, question="Go on.", continued_from=row.pk)
        next_row = await runtime.start(again)
        await followed(runtime, next_row.pk)
    roles = [message["role"] for message in second.requests[0].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert second.requests[0].messages[3]["content"] == "found"
    assert next_row.continued_from_id == row.pk


async def test_an_interrupted_run_is_a_valid_history() -> None:
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([call("wait")]), waiting())) as runtime:
        row = await runtime.start(request)
        await until_a_tool_runs(runtime, row)
    messages = await sync_to_async(context_messages.build_messages)([row.pk])
    asked_for = [c["id"] for m in messages for c in m.get("tool_calls", ())]
    told = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    assert asked_for == told
    assert messages[-1]["role"] == "assistant"


async def test_what_sqlite_logged_is_moved_into_its_file_apart_from_commits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A commit that does it is a commit that everybody waits for."""
    monkeypatch.setattr(runtime_module, "CHECKPOINT_SECONDS", 0.0)
    file = Path(connection.settings_dict["NAME"])
    words = f"Only here: {uuid.uuid4().hex}."
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([say(words, pieces=1)]))) as runtime:
        row = await runtime.start(request)
        await followed(runtime, row.pk)
        assert await asyncio.to_thread(holds, file, words.encode())


@pytest.mark.django_db(transaction=True)
def test_what_is_newer_than_somebody_reads_is_left_in_the_log_for_later() -> None:
    file = Path(connection.settings_dict["NAME"])
    with closing(sqlite3.connect(file)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT count(*) FROM agents_project").fetchone()
        Project.objects.create(name="new", slug="new")
        assert not checkpoint_wal()
        reader.rollback()
    assert checkpoint_wal()


def holds(file: Path, words: bytes) -> bool:
    """Whether a file has these words, soon."""
    return any(words in file.read_bytes() for _ in look_again())


async def test_the_tree_of_a_run_is_built_and_guarded_once(monkeypatch: pytest.MonkeyPatch) -> None:
    built: list[str] = []
    real = DefaultDecisionTree.get_config

    def get_config(self: DefaultDecisionTree) -> AgentConfig:
        built.append(type(self).__name__)
        return real(self)

    monkeypatch.setattr(DefaultDecisionTree, "get_config", get_config)
    request = await asked()
    async with Runtime(ScriptedRunFactory(ScriptedModel([say("It is so.")]))) as runtime:
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    assert built == ["DefaultDecisionTree"]
