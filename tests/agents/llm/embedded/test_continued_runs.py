"""Runs of the embedded model that go on from one that ended early, through the real runtime."""

import re
from collections.abc import AsyncIterator, Sequence
from functools import partial
from typing import Any
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.core.answer_sources import NOT_USED, AnswerSources
from agents.llm import build_http_client
from agents.llm.embedded import OfflineModel
from agents.llm.embedded.request import CITATION
from agents.models import AgentRun, Membership, Project
from agents.runtime import Runtime, SiteRunFactory, factory
from chat.export.loader import ExportedExchange, iter_exchanges
from chat.services.ask import RunOptions, ask_under, start_conversation
from chat.services.continue_run import continue_run
from tests.agents.runtime.fake_factory import followed

pytestmark = pytest.mark.usefixtures("sample")
QUESTIONS = (
    "When is the final report due?",
    "Who owns the gauge?",
    "What are the open tasks?",
    "How do we calibrate the gauge?",
    "Compare radar and pressure sensors",
    "When did the work begin, and who owns the gauge?",
    "Wem gehört der Pegel?",
)


class Chat:
    """Ada's conversation with the embedded model."""

    def __init__(self, runtime: Runtime, user: User, project: Project) -> None:
        self.runtime, self.user, self.project = runtime, user, project
        self.last: AgentRun | None = None
        self.sources = AnswerSources()

    async def ask(self, question: str, turns: int) -> str:
        """Ask the first question."""
        return await self._run(
            partial(start_conversation, self.user, self.project.pk, question), turns
        )

    async def go_on(self, turns: int) -> str:
        """Raise the limit and continue."""
        return await self._run(partial(continue_run, self.user, self._exchange_id()), turns)

    async def say(self, words: str, turns: int) -> str:
        assert self.last is not None
        exchange = self.last.exchange
        ready = partial(ask_under, self.user, exchange.conversation, exchange.pk, words)
        return await self._run(ready, turns)

    def _exchange_id(self) -> Any:
        assert self.last is not None
        return self.last.exchange.pk

    async def _run(self, prepare: Any, turns: int) -> str:
        options = RunOptions(overrides={"max_iterations": turns})
        ready = await sync_to_async(prepare)(options=options)
        row = await self.runtime.start(ready.request, ready.attach)
        self.sources = AnswerSources()
        for chunk in await followed(self.runtime, row.pk):
            self.sources.apply(chunk)
        runs = AgentRun.objects.select_related("exchange__conversation")
        self.last = await runs.aget(pk=row.pk)
        return self.last.answer

    def note(self) -> str:
        """Return what is said below the last answer of its sources."""
        assert self.last is not None
        is_continued = self.last.continued_from_id is not None
        return self.sources.note(self.last.outcome, is_continued=is_continued)


@pytest.fixture
async def chat(sample: object, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Chat]:
    monkeypatch.setattr(factory, "OfflineModel", partial(OfflineModel, pace=0))
    user = await User.objects.acreate_user("ada")
    project = await Project.objects.aget(slug="sample")
    await Membership.objects.acreate(project=project, user=user, role=Membership.Role.OWNER)
    async with build_http_client() as http, Runtime(SiteRunFactory(http, http)) as runtime:
        yield Chat(runtime, user, project)


def list_sentences(answer: str) -> set[str]:
    """Return the sentences of the cited lines of an answer."""
    lines = [line for line in answer.split("\n") if line.startswith("- ")]
    plain = [CITATION.sub("", line[2:]).strip() for line in lines]
    return {sentence for line in plain for sentence in re.split(r"(?<=[.!?]) ", line)}


def load_exchanges(exchange_ids: Sequence[UUID]) -> list[ExportedExchange]:
    return list(iter_exchanges(exchange_ids))


@pytest.mark.parametrize("question", QUESTIONS)
async def test_a_continued_run_adds_only_what_is_new_and_keeps_its_sources(
    chat: Chat, question: str
) -> None:
    answers = [await chat.ask(question, turns=2)]
    for turns in (3, 8):
        assert chat.last is not None
        if chat.last.outcome == "completed":
            break
        answers.append(await chat.go_on(turns))
        new, cited = answers[-1], {match[1] for match in CITATION.finditer(answers[-1])}
        assert cited <= {source.path for source in chat.sources}
        assert chat.note() == ("" if cited else NOT_USED)
        for earlier in answers[:-1]:
            assert not list_sentences(earlier) & list_sentences(new)
    assert len(answers) > 1


async def test_a_continued_run_says_where_the_answer_was_given_already(chat: Chat) -> None:
    first = await chat.ask("What does a complete gauge cost?", turns=3)
    assert "not answer" not in first
    assert CITATION.search(first)
    second = await chat.go_on(turns=10)
    assert second.startswith("Already answered above: [")
    assert second.endswith("\n\nAnswered without a language model.")
    assert chat.note() == ""
    assert chat.last is not None
    (exported,) = await sync_to_async(load_exchanges)([chat.last.exchange.pk])
    assert exported.sources_note == ""
    assert CITATION.search(exported.answer)


async def test_a_continued_run_that_finds_nothing_says_so_shortly(chat: Chat) -> None:
    await chat.ask("Who is the zookeeper of Quagga?", turns=2)
    second = await chat.go_on(turns=10)
    assert second.startswith("The notes say no more about this than the answer above.")


async def test_a_typed_continue_keeps_the_sources_too(chat: Chat) -> None:
    await chat.ask("What does a complete gauge cost?", turns=3)
    answer = await chat.say("continue", turns=10)
    assert answer.startswith("Already answered above: [")
    assert chat.note() == ""


async def test_another_question_after_it_stands_on_its_own_sources(chat: Chat) -> None:
    await chat.ask("What does a complete gauge cost?", turns=3)
    await chat.say("Thank you!", turns=10)
    assert list(chat.sources) == []
