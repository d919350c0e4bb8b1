"""What a subagent did not finish is not kept, however its run ends; what it finished is."""

import asyncio
import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from functools import cache

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User

from agents.audit.event_codec import encode_chunk
from agents.audit.verify import verify_entries, verify_run
from agents.core.chunks import Content, Done, OracleStreamChunk, ToolResult
from agents.core.config import AgentConfig
from agents.core.messages import ToolCall
from agents.core.ports import ToolContext
from agents.core.run_record import RunRecord
from agents.ledger import queries
from agents.ledger.subagents import SubagentTracker
from agents.ledger.writer import OwnedRun, Writer
from agents.models import AgentRun, AuditEntry, Project, RunEvent
from agents.runtime.endings import final_values, interrupted_chunks
from tests.agents.core.factories import play as core_play
from tests.agents.models.factories import ada, engine, run_of
from tests.support import scenarios
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, with_context
from tests.support.virtual import run_virtual


def says(parent: str, text: str = "Half of it") -> OracleStreamChunk:
    return Content(content=text, parent=parent)


def result(call: str, *, ok: bool, parent: str = "") -> OracleStreamChunk:
    return ToolResult(
        tool_call_id=call, tool_result="x", ok=ok, duration_ms=1, order=0, parent=parent
    )


DONE = Done(
    termination_reason="completed",
    outcome="completed",
    turns_used=1,
    tokens_used=1,
    usage_source="provider",
    model_used="m",
)


@pytest.mark.parametrize(
    ("chunks", "unfinished"),
    [
        ([says("a"), result("a", ok=True), DONE], []),
        ([says("a"), result("a", ok=False), DONE], ["a"]),
        ([says("a"), result("b", ok=False)], []),
        ([result("a", ok=False), DONE], []),
        ([says("a"), DONE], ["a"]),
        ([says("a"), result("a", ok=True, parent="a"), DONE], ["a"]),
        ([says("a"), says("b"), result("a", ok=True), result("b", ok=False), DONE], ["b"]),
        ([says("a"), result("a", ok=False), says("a", "and more")], ["a"]),
        ([says("a/b"), result("b", ok=False, parent="a"), result("a", ok=True), DONE], ["a/b"]),
        ([says("a/b"), result("b", ok=True, parent="a"), result("a", ok=False)], ["a", "a/b"]),
        ([says("a/b"), result("b", ok=True, parent="a"), result("a", ok=True), DONE], []),
        ([says("b"), result("b", ok=True), says("a"), result("b", ok=False, parent="a")], []),
        ([says("ab"), says("a"), result("a", ok=False)], ["a"]),
    ],
    ids=[
        "finished",
        "failed",
        "another call failed",
        "no subagent",
        "never answered",
        "a call of its own has the same id",
        "one of two",
        "goes on afterwards",
        "nested, unfinished",
        "nested in what is unfinished",
        "nested, finished",
        "a call of a subagent has the id of a finished one",
        "an id that begins the same",
    ],
)
def test_a_subagent_is_finished_when_its_call_has_a_good_result(
    chunks: list[OracleStreamChunk], unfinished: list[str]
) -> None:
    subagents = SubagentTracker()
    for chunk in chunks:
        subagents.add(chunk)
    assert subagents.pop_unfinished() == unfinished
    assert subagents.pop_unfinished() == []


def test_what_a_subagent_writes_after_it_was_dropped_is_dropped_too() -> None:
    subagents = SubagentTracker()
    for chunk in (says("a"), result("a", ok=False)):
        subagents.add(chunk)
    assert subagents.pop_unfinished() == ["a"]
    subagents.add(says("a", "and more"))
    assert subagents.pop_unfinished() == ["a"]


# -- through the ledger ---------------------------------------------------------------------------

SEEDS = range(50)
WANTED = 5
"""Runs with subagents that finish, and with such that do not: of each at least as many."""


@cache
def delegating() -> tuple[tuple[OracleStreamChunk, ...], ...]:
    """Randomised runs of a model that is fond of delegating."""
    runs: list[tuple[OracleStreamChunk, ...]] = []
    met: Counter[bool] = Counter()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(scenarios, "STEADY", (*scenarios.STEADY, *["delegate_librarian"] * 3))
        for seed in SEEDS:
            chunks: list[OracleStreamChunk] = []
            run_virtual(scenarios.play(seed, kept=chunks), thread_grace=0.002)
            if spoke := finished(chunks):
                runs.append(tuple(chunks))
                met.update(set(spoke.values()))
    assert min(met[True], met[False]) >= WANTED, f"too few subagents to show anything: {met}"
    return tuple(runs)


def finished(chunks: Sequence[OracleStreamChunk]) -> dict[str, bool]:
    """The calls whose subagents have left words of any kind, and whether they finished."""
    spoke = {chunk.parent for chunk in chunks if chunk.parent and encode_chunk(chunk).content}
    good = {c.tool_call_id for c in chunks if isinstance(c, ToolResult) and c.ok and not c.parent}
    return {call: call in good for call in spoke}


@sync_to_async
def new_run() -> AgentRun:
    person = User.objects.filter(username="ada").first() or ada()
    project = Project.objects.first() or engine(person)
    return run_of(person, project, config=AgentConfig().model_dump())


async def stored(chunks: Sequence[OracleStreamChunk], dice: random.Random) -> AgentRun:
    """A run as the real writer stores it, in commits of any size."""
    row, record = await new_run(), RunRecord()
    ledger = Writer(lambda newest: None)
    ledger.start()
    own = OwnedRun(queries.Claim(row.pk, row.fence), lambda note: None, lambda: None, lambda: None)
    ledger.add_run(own)
    for chunk in chunks:
        record.add(chunk)
        ledger.append(own, chunk, final_values(record) if isinstance(chunk, Done) else None)
        if dice.random() < 0.05:
            await ledger.wait_committed(own, chunk.seq)
    await ledger.wait_committed(own, chunks[-1].seq)
    await ledger.close()
    return await AgentRun.objects.aget(pk=row.pk)


@sync_to_async
def assert_lawful(row: AgentRun, chunks: Sequence[OracleStreamChunk]) -> None:
    """No words in the rows of an unfinished subagent; all other rows are as they were written."""
    unfinished = {call for call, good in finished(chunks).items() if not good}
    words: dict[int, str] = dict(RunEvent.objects.filter(run=row).values_list("seq", "content"))
    wrong = defaultdict(list)
    for chunk in chunks:
        expected = "" if chunk.parent in unfinished else encode_chunk(chunk).content
        if words[chunk.seq] != expected:
            wrong[chunk.parent].append(chunk.seq)
    assert not wrong
    entries = AuditEntry.objects.filter(run=row, verb="erase_unfinished").order_by("id")
    assert {entry.detail["call"] for entry in entries} == unfinished
    assert not row.is_erased
    assert verify_run(row) is None
    assert verify_entries() is None


async def assert_all_lawful(runs: Iterable[Sequence[OracleStreamChunk]], seed: int) -> None:
    dice = random.Random(seed)
    for chunks in runs:
        await assert_lawful(await stored(chunks, dice), chunks)


def cut_off(chunks: Sequence[OracleStreamChunk], dice: random.Random) -> list[OracleStreamChunk]:
    """A run that its process ended while a subagent was at work."""
    inner = [number for number, chunk in enumerate(chunks, start=1) if chunk.parent]
    cut, record = chunks[: dice.choice(inner)], RunRecord()
    for chunk in cut:
        record.add(chunk)
    return [*cut, *interrupted_chunks("interrupted", record, cut[-1].seq, "m", cut[-1].at)]


@pytest.mark.ci
@pytest.mark.django_db(transaction=True)
def test_no_randomised_run_keeps_words_of_a_subagent_that_did_not_finish() -> None:
    async_to_sync(assert_all_lawful)(delegating(), seed=1)


@pytest.mark.django_db(transaction=True)
def test_nor_does_one_that_is_cut_off_anywhere() -> None:
    dice = random.Random(2)
    cut = [cut_off(chunks, dice) for chunks in delegating()]
    async_to_sync(assert_all_lawful)(cut, seed=2)


# -- at the limit ---------------------------------------------------------------------------------


def summarising(moment: float) -> FakeTools:
    """A subagent that ends so many seconds after the time for work is over."""

    async def act(call: ToolCall, context: ToolContext) -> str:
        context.emit(Content(content="Half of it, "))
        await asyncio.sleep(context.deadline + moment - context.clock.monotonic())
        context.emit(Content(content="and the rest."))
        return "The summary."

    return FakeTools({"delegate_librarian": with_context(act)})


def delegated(moment: float) -> list[OracleStreamChunk]:
    model = ScriptedModel([call("delegate_librarian", task="Read"), say("So.")])
    config = AgentConfig(timeout_seconds=10)
    return run_virtual(core_play(model, summarising(moment), config=config))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("moment", [-0.01, -0.001, 0.0, 0.0005, 0.001, 0.0011, 0.002, 0.1], ids=str)
def test_one_that_ends_in_the_tick_of_its_parents_limit_is_finished_if_its_result_is_stored(
    moment: float,
) -> None:
    chunks = delegated(moment)
    (stored_result,) = (c for c in chunks if isinstance(c, ToolResult))
    assert set(finished(chunks).values()) == {stored_result.ok}
    assert stored_result.ok or stored_result.is_unknown
    async_to_sync(assert_all_lawful)([chunks], seed=1)


def test_both_endings_are_met_around_the_limit() -> None:
    assert set(finished(delegated(-0.01)).values()) == {True}
    assert set(finished(delegated(0.1)).values()) == {False}
