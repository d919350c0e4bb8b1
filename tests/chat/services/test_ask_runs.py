"""Asked through the real runtime: what the model is sent, and what is left in the tree."""

import asyncio
from collections.abc import Callable
from typing import Any, Self

import pytest
from asgiref.sync import sync_to_async

from agents.core.chunks import ToolCalled
from agents.core.messages import ModelRequest
from agents.models import AgentRun, ApprovalRequest
from agents.runtime import RunRefused, Runtime
from chat.conversations import commands
from chat.errors import StaleHead
from chat.models import Conversation, Exchange
from chat.services import ask
from chat.services.approvals import build_verdict, decide
from chat.services.ask import PreparedRun, RunOptions
from chat.services.continue_run import CONTINUE_QUESTION, continue_run
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed, people
from tests.support.script import call, say
from tests.support.scripted_model import ModelStep, ScriptedModel
from tests.support.tools import FakeTools, hangs, returns

pytestmark = pytest.mark.django_db(transaction=True)
TOOLS = {"look": returns("found"), "wait": hangs()}


class Chat:
    """Ada, her project, and a runtime whose model says what it is told to."""

    def __init__(self, *steps: ModelStep, then: ModelStep | None = None) -> None:
        self.model = ScriptedModel(steps, then=then)
        self.runtime = Runtime(ScriptedRunFactory(self.model, FakeTools(TOOLS)))

    async def __aenter__(self) -> Self:
        self.user, self.project = await people()
        await self.runtime.__aenter__()
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.runtime.__aexit__(*error)

    async def first(
        self, question: str = "First?", how: RunOptions = ask.DEFAULT_OPTIONS
    ) -> AgentRun:
        return await self.run(ask.start_conversation, self.project.pk, question, options=how)

    async def run(self, prepare: Callable[..., PreparedRun], *about: Any, **more: Any) -> AgentRun:
        """Ask, and wait for the answer."""
        run = await self.start(await self.ready(prepare, *about, **more))
        await followed(self.runtime, run.pk)
        return await AgentRun.objects.select_related("exchange").aget(pk=run.pk)

    async def ready(
        self, prepare: Callable[..., PreparedRun], *about: Any, **more: Any
    ) -> PreparedRun:
        return await sync_to_async(prepare)(self.user, *about, **more)

    async def start(self, ready: PreparedRun) -> AgentRun:
        return await self.runtime.start(ready.request, ready.attach)

    async def start_together(self, many: list[PreparedRun]) -> tuple[list[AgentRun], int]:
        """The runs that started, and how many were refused in words."""
        results = await asyncio.gather(*map(self.start, many), return_exceptions=True)
        refused = [one for one in results if isinstance(one, RunRefused | StaleHead)]
        return [one for one in results if isinstance(one, AgentRun)], len(refused)

    async def stop(self, run: AgentRun) -> None:
        await self.runtime.cancel(run.pk)
        await followed(self.runtime, run.pk)


def list_sent(request: ModelRequest) -> list[str]:
    """What the model was sent after the system prompt."""
    return [f"{m['role']}: {m['content']}" for m in request.messages[1:]]


async def test_a_question_is_asked_with_the_path_before_it() -> None:
    async with Chat(say("One."), say("Two."), say("Three.")) as chat:
        key = (await chat.first()).conversation_key
        await chat.run(ask.ask, "Second?", conversation_id=key)
        last = await chat.run(ask.ask, "Third?", conversation_id=key)
    assert list_sent(chat.model.requests[2]) == [
        "user: First?", "assistant: One.", "user: Second?", "assistant: Two.", "user: Third?",
    ]  # fmt: skip
    conversation = await Conversation.objects.aget()
    assert (conversation.pk, conversation.head_id) == (key, last.exchange.pk)
    assert conversation.title == "First?"


async def test_drafts_and_critiques_are_not_replayed_as_the_answer() -> None:
    steps = [say("It is blue."), call("look"), say("Not so."), say("It is red, says Pumps.md.")]
    async with Chat(*steps, say("Yes.")) as chat:
        first = await chat.first(how=RunOptions(tree="checked-answer"))
        assert first.answer == "It is red, says Pumps.md."
        await chat.run(ask.ask, "Sure?", conversation_id=first.conversation_key)
    messages = chat.model.requests[-1].messages[1:]
    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", "First?"),
        ("assistant", None),
        ("tool", "found"),
        ("assistant", "It is red, says Pumps.md."),
        ("user", "Sure?"),
    ]


async def test_a_run_that_ended_while_it_planned_has_no_answer_to_replay() -> None:
    async with Chat(say("1. Look."), call("wait"), say("So.")) as chat:
        ready = await chat.ready(
            ask.start_conversation,
            chat.project.pk,
            "First?",
            options=RunOptions(tree="plan-then-do"),
        )
        run = await chat.start(ready)
        async for chunk in chat.runtime.follow(run.pk):
            if isinstance(chunk, ToolCalled):
                break
        await chat.stop(run)
        await chat.run(ask.ask, "Second?", conversation_id=run.conversation_key)
    assert "1. Look." not in str(chat.model.requests[-1].messages)


async def test_a_behaviour_that_goes_on_after_a_yes_still_has_what_it_wrote_before() -> None:
    """Its list of changes: the next step refers to it. Afterwards only the answer is replayed."""
    async with Chat(say("Paint it red."), say("Painted."), say("Red.")) as chat:
        asked = await chat.first(how=RunOptions(tree="ask-first"))
        digest = (await ApprovalRequest.objects.aget(pk=asked.pk)).digest
        verdict = build_verdict("approved", "", digest)
        done = await chat.run(decide, asked.pk, verdict, via="page")
        await chat.run(ask.ask, "Which colour?", conversation_id=done.conversation_key)
    assert list_sent(chat.model.requests[1])[:2] == [
        "user: First?", "assistant: Paint it red.\n\n[The user was asked to decide.]",
    ]  # fmt: skip
    assert list_sent(chat.model.requests[2])[1:4:2] == [
        "assistant: [The user was asked: May I do this? Paint it red.]", "assistant: Painted.",
    ]  # fmt: skip


async def test_an_edited_question_is_asked_with_the_path_before_it_only() -> None:
    async with Chat(say("One."), say("Two."), say("Other.")) as chat:
        first = await chat.first()
        second = await chat.run(ask.ask, "Second?", context_id=first.pk)
        edited = await chat.run(ask.edit_question, second.pk, "Second, rather?")
    assert list_sent(chat.model.requests[2]) == [
        "user: First?", "assistant: One.", "user: Second, rather?",
    ]  # fmt: skip
    assert edited.exchange.parent_id == second.exchange.parent_id == first.exchange.pk


async def test_a_continuation_is_asked_with_the_tool_turns_of_its_run() -> None:
    async with Chat(call("look"), say("So far."), say("The rest.")) as chat:
        first = await chat.first(how=RunOptions(overrides={"max_iterations": 2}))
        assert first.reason == "max_iterations"
        raised = RunOptions(overrides={"max_iterations": 4})
        child = await chat.run(continue_run, first.pk, options=raised)
    roles = [message["role"] for message in chat.model.requests[2].messages]
    assert roles == ["system", "user", "assistant", "tool", "assistant", "user"]
    assert list_sent(chat.model.requests[2])[-1] == f"user: {CONTINUE_QUESTION}"
    assert child.config["max_iterations"] == 4
    assert child.continued_from_id == first.pk
    assert child.exchange.parent_id == first.exchange.pk


async def test_the_same_first_message_sent_twice_makes_one_conversation() -> None:
    async with Chat(say("Once.")) as chat:
        once, twice = [await chat.first(how=RunOptions(client_message_id="m1")) for _ in range(2)]
    assert (once.pk, once.conversation_key) == (twice.pk, twice.conversation_key)
    assert await Conversation.objects.acount() == await Exchange.objects.acount() == 1


async def test_the_same_message_sent_again_after_its_answer_makes_one_exchange() -> None:
    async with Chat(say("One."), say("Two.")) as chat:
        key = (await chat.first()).conversation_key
        for _ in range(3):
            how = RunOptions(client_message_id="m2")
            await chat.run(ask.ask, "Second?", conversation_id=key, options=how)
    assert await Exchange.objects.acount() == 2
    chat.model.assert_done()


@pytest.mark.parametrize("named", ["conversation_id", "context_id"])
async def test_of_many_starts_at_once_in_a_conversation_one_is_stored(named: str) -> None:
    async with Chat(say("One."), call("wait")) as chat:
        first = await chat.first()
        where = {"conversation_id": first.conversation_key, "context_id": first.pk}[named]
        many = [await chat.ready(ask.ask, "Second?", **{named: where}) for _ in range(8)]
        (going,), refused = await chat.start_together(many)
        await chat.stop(going)
    assert refused == 7
    assert await Exchange.objects.acount() == await AgentRun.objects.acount() == 2


async def test_of_many_first_questions_at_once_with_one_id_one_begins() -> None:
    async with Chat(say("One.")) as chat:
        ready = await chat.ready(ask.start_conversation, chat.project.pk, "First?")
        (going,), refused = await chat.start_together([ready] * 8)
        await followed(chat.runtime, going.pk)
    assert refused == 7
    assert await Conversation.objects.acount() == await AgentRun.objects.acount() == 1


async def test_a_refused_first_question_leaves_no_empty_conversation() -> None:
    async with Chat(then=call("wait")) as chat:
        ready = [
            await chat.ready(ask.start_conversation, chat.project.pk, f"{n}?") for n in range(6)
        ]
        for one in ready[:5]:
            await chat.start(one)
        with pytest.raises(RunRefused, match="5 runs in progress"):
            await chat.start(ready[5])
    assert await Conversation.all_objects.acount() == 5


async def test_deleting_a_conversation_names_the_run_to_stop() -> None:
    async with Chat(call("wait")) as chat:
        run = await chat.start(await chat.ready(ask.start_conversation, chat.project.pk, "First?"))
        conversation = await Conversation.objects.aget()
        delete = sync_to_async(commands.delete)
        assert await delete(conversation) == [run.pk]
        await chat.stop(run)
        restored = await sync_to_async(commands.restore)(chat.user, conversation.pk)
        assert await delete(restored) == []
    assert (await AgentRun.objects.aget()).reason == "user_cancelled"
