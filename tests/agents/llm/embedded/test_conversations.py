"""Long conversations with the embedded model, as a newcomer has them: with default limits."""

from functools import partial
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents.context_messages import messages_from_chunks
from agents.core.chunks import Done, SystemMessage
from agents.core.config import AgentConfig
from agents.core.messages import Message, ModelRequest
from agents.llm import build_http_client
from agents.llm.embedded import OfflineModel
from agents.llm.embedded.model import reply
from agents.llm.embedded.request import READ_EXCHANGES, recall
from agents.models import Membership, Project
from agents.runtime import RunRequest, Runtime, SiteRunFactory, factory
from chat.services.continue_run import CONTINUE_QUESTION
from tests.agents.llm.embedded.fixtures import tools
from tests.agents.runtime.fake_factory import followed
from tests.support.runs import drive

pytestmark = pytest.mark.usefixtures("sample")
QUESTIONS = (
    "What is this project about?",
    "Which decisions are there?",
    "What could delay the next release?",
    "Who owns the alarm rules?",
    "And why?",
    "What does a complete gauge cost?",
    "How long does the battery last without sun?",
    "Summarise the meeting notes",
    "What happens if nobody answers an orange alarm?",
    "Compare radar and pressure sensors",
    "Which tasks does Jonas have?",
    "What changed lately?",
)
FOLLOW_UPS = (
    "And why?",
    "What about the second one?",
    "Who owns the gauge?",
    "What is it about? And who decided that?",
    CONTINUE_QUESTION,
)


@sync_to_async
def join_sample() -> tuple[User, Project]:
    user, project = User.objects.create_user("ada"), Project.objects.get(slug="sample")
    Membership.objects.create(project=project, user=user, role=Membership.Role.OWNER)
    return user, project


@pytest.mark.parametrize("count", [5, pytest.param(12, marks=pytest.mark.ci)])
async def test_one_question_after_another_is_answered_without_a_word_about_tokens(
    monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    monkeypatch.setattr(factory, "OfflineModel", partial(OfflineModel, pace=0))
    user, project = await join_sample()
    asked: tuple[UUID, ...] = ()
    async with build_http_client() as http, Runtime(SiteRunFactory(http, http)) as runtime:
        for question in QUESTIONS[:count]:
            request = RunRequest(
                user=user,
                project=project,
                question=question,
                config=AgentConfig(),
                context_runs=asked,
            )
            row = await runtime.start(request)
            chunks = await followed(runtime, row.pk)
            told = [chunk.system_message for chunk in chunks if isinstance(chunk, SystemMessage)]
            done = chunks[-1]
            assert isinstance(done, Done)
            assert (question, told, done.outcome) == (question, [], "completed")
            asked = (*asked, row.pk)


async def hold_conversation(*questions: str) -> list[Message]:
    """The messages of these runs, each asked after those before it."""
    history: list[Message] = []
    for question in questions:
        ran = await drive(OfflineModel(pace=0), tools(), question=question, history=history)
        history += [{"role": "user", "content": question}, *messages_from_chunks(ran.chunks)]
    return history


async def test_it_answers_from_what_it_is_given_of_a_conversation_as_from_the_whole() -> None:
    history = await hold_conversation(*QUESTIONS[:2], "continue", *QUESTIONS[2:6])
    schemas = tools().schemas()
    for length in (0, 4, len(history)):
        for question in FOLLOW_UPS:
            replies = [
                reply(
                    ModelRequest(
                        [*said, {"role": "user", "content": question}], schemas, "auto", 2_000, 1e9
                    )
                )
                for said in (history[:length], recall(history[:length], question))
            ]
            assert replies[0] == replies[1]


async def test_what_earlier_runs_found_is_read_again_only_by_one_that_goes_on() -> None:
    history = await hold_conversation(*QUESTIONS[:READ_EXCHANGES], QUESTIONS[5], "continue")
    last = next(at for at, m in enumerate(history) if m["content"] == QUESTIONS[5])
    said = recall(history, "Who owns the gauge?")
    assert [m["content"] for m in said if m["role"] == "user"] == [*QUESTIONS[1:6], "continue"]
    assert {key for m in said for key in m} == {"role", "content"}
    going_on = recall(history, CONTINUE_QUESTION)
    assert going_on[-len(history[last:]) :] == history[last:]
    assert {key for m in going_on[: -len(history[last:])] for key in m} == {"role", "content"}


def test_nothing_is_read_of_an_empty_conversation() -> None:
    assert recall([], "Who owns the gauge?") == []
    assert recall([], CONTINUE_QUESTION) == []
    going_on = [{"role": "user", "content": "continue"}, {"role": "assistant", "content": "So."}]
    assert recall(going_on, CONTINUE_QUESTION) == []
