"""What a database does not take ends one run, with a true reason and all its text, and no other."""

import asyncio
from dataclasses import replace
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents.audit.verify import verify_run
from agents.core.chunks import Content, ContextUpdate, Done, Error
from agents.core.messages import TokenUsage
from agents.core.ports import ChatModel
from agents.core.tokens import TokenBudget
from agents.ledger import queries
from agents.ledger.writer import LedgerClosed, OwnedRun, Writer
from agents.models import AgentRun, RunEvent
from agents.runtime import RunRequest, Runtime
from tests.agents.models.factories import ada, engine, run_of
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.runs import served
from tests.support.script import Script, call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)
IMPOSSIBLE = [2**31, 2**63, 10**30]


@sync_to_async
def rows(count: int) -> list[AgentRun]:
    user = ada()
    project = engine(user)
    return [run_of(user, project) for _ in range(count)]


@sync_to_async
def texts_of(run_id: UUID) -> list[str]:
    """The pieces of text that are stored of a run; their numbers have no gaps."""
    events = list(RunEvent.objects.filter(run_id=run_id).order_by("seq"))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    return [event.content for event in events if event.kind == "content"]


def text(seq: int, word: str = "") -> Content:
    return Content(content=word or f"word{seq}", seq=seq, at=1_700_000_000.0)


def bad(seq: int) -> ContextUpdate:
    """Something that cannot be written as JSON."""
    return ContextUpdate(context_tokens=1, max_context_tokens={1}, seq=seq, at=1_700_000_000.0)  # type: ignore[arg-type]


# -- the writer -----------------------------------------------------------------------------------


@pytest.mark.parametrize("at", [1, 2, 5, 9, 10])
async def test_only_what_is_refused_is_lost_of_its_run_and_nothing_of_the_others(at: int) -> None:
    made = await rows(3)
    lost: list[UUID] = []
    ledger = Writer(lambda newest: None)
    owned = []
    for row in made:
        own = OwnedRun(
            queries.Claim(row.pk, row.fence), lambda note: None, _noter(lost, row), lambda: None
        )
        ledger.add_run(own)
        owned.append(own)
    for seq in range(1, 11):
        for own in owned:
            ledger.append(own, bad(seq) if (own, seq) == (owned[1], at) else text(seq))
    ledger.start()
    await ledger.wait_committed(owned[0], 10)
    await ledger.wait_committed(owned[2], 10)
    with pytest.raises(LedgerClosed):
        await ledger.wait_committed(owned[1], 10)
    await ledger.close()
    words = [f"word{seq}" for seq in range(1, 11)]
    assert await texts_of(made[0].pk) == await texts_of(made[2].pk) == words
    assert await texts_of(made[1].pk) == [word for word in words if word != f"word{at}"]
    assert lost == [made[1].pk]


def _noter(lost: list[UUID], row: AgentRun) -> Any:
    return lambda: lost.append(row.pk)


async def test_what_was_written_meanwhile_is_kept_too(monkeypatch: pytest.MonkeyPatch) -> None:
    (row,) = await rows(1)
    ledger = Writer(lambda newest: None)
    own = OwnedRun(queries.Claim(row.pk, row.fence), lambda note: None, lambda: None, lambda: None)
    ledger.add_run(own)
    loop, write = asyncio.get_running_loop(), queries.write

    def slowly(commits: list[queries.Commit]) -> queries.HeldRuns:
        if not own.chunks and not own.closed:
            asyncio.run_coroutine_threadsafe(more(), loop).result()
        return write(commits)

    async def more() -> None:
        ledger.append(own, text(3))

    monkeypatch.setattr(queries, "write", slowly)
    ledger.append(own, text(1))
    ledger.append(own, bad(2))
    ledger.start()
    with pytest.raises(LedgerClosed):
        await ledger.wait_committed(own, 3)
    await ledger.close()
    assert await texts_of(row.pk) == ["word1", "word3"]


# -- runs -----------------------------------------------------------------------------------------


class RealWorld(ScriptedRunFactory):
    """With a model that is really asked."""

    def __init__(self, asked: ChatModel) -> None:
        super().__init__(ScriptedModel([]))
        self._asked = asked

    def model(self, request: RunRequest) -> ChatModel:
        return self._asked


@pytest.mark.parametrize("said", IMPOSSIBLE)
async def test_usage_that_cannot_be_true_is_estimated_and_the_answer_is_stored(said: int) -> None:
    answer = say("It is so.", usage=TokenUsage(said, said))
    request = await asked()
    async with (
        served(Script([call("look"), answer])) as bench,
        Runtime(RealWorld(bench.model())) as runtime,
    ):
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    stored = await AgentRun.objects.aget(pk=row.pk)
    assert (stored.outcome, stored.answer) == ("completed", "It is so.")
    assert stored.usage_source == "mixed"
    assert 0 < stored.tokens < 10_000


@pytest.fixture
def credulous(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the provider says is taken for true: a number that no check has met."""
    monkeypatch.setattr(TokenBudget, "_is_plausible", lambda *_: True)


@pytest.mark.usefixtures("credulous")
async def test_a_number_that_fits_no_column_ends_one_run_truly_with_all_its_text() -> None:
    bad, good = (
        say("All of it.", usage=TokenUsage(2**63, 5)),
        say("The other.", usage=TokenUsage(9, 5)),
    )
    request = await asked("bad")
    world = ByQuestion({"bad": ScriptedModel([call("look"), bad]), "good": ScriptedModel([good])})
    async with asyncio.timeout(PATIENCE), Runtime(world) as runtime:
        questions = request, replace(request, question="good")
        runs = [await runtime.start(question) for question in questions]
        chunks, others = [await followed(runtime, run.pk) for run in runs]
    stored = await AgentRun.objects.aget(pk=runs[0].pk)
    assert (stored.outcome, stored.reason, stored.answer) == (
        "failed",
        "internal_error",
        "All of it.",
    )
    assert "Something went wrong inside Oracle" in stored.error
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert [type(chunk) for chunk in chunks[-2:]] == [Error, Done]
    assert "".join(c.content for c in chunks if isinstance(c, Content)) == "All of it."
    assert await sync_to_async(verify_run)(stored) is None
    assert isinstance(others[-1], Done)
    assert others[-1].outcome == "completed"


class ByQuestion(ScriptedRunFactory):
    """A model for each question."""

    def __init__(self, models: dict[str, ScriptedModel]) -> None:
        super().__init__(ScriptedModel([]))
        self._models = models

    def model(self, request: RunRequest) -> ChatModel:
        return self._models[request.question]
