"""Conversations for tests that need no model: runs are stored as if they had been driven."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID, uuid4

from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client

from agents.audit.event_codec import encode_chunk
from agents.core.chunks import OracleStreamChunk
from agents.models import AgentRun, Membership, Project, RunEvent
from chat.conversations import tree
from chat.models import Conversation, Exchange
from chat.services import ask as ask_service
from chat.services.ask import PreparedRun


class Browser(Client):
    """Pages are for HTTPS only."""

    def generic(self, *args: Any, **kwargs: Any) -> Any:
        return super().generic(*args, **{**kwargs, "secure": True})


def browser(user: User | None = None) -> Browser:
    """A browser, in which somebody may be signed in."""
    client = Browser()
    if user is not None:
        client.force_login(user)
    return client


def member(name: str, project: Project | None = None) -> tuple[User, Project]:
    """Somebody, in this project or in one of their own."""
    user = User.objects.create_user(name)
    project = project or Project.objects.create(name=f"project of {name}")
    Membership.objects.create(project=project, user=user)
    return user, project


def started(asked: PreparedRun, **ending: Any) -> Exchange:
    """The exchange of a question, as a run leaves it that has ended, completed unless told."""
    request = asked.request
    with transaction.atomic():
        run = AgentRun.objects.create(
            user=request.user,
            project=request.project,
            question=request.question,
            conversation_key=request.conversation_key,
            context_runs=[str(run_id) for run_id in request.context_runs],
            continued_from_id=request.continued_from,
            client_message_id=request.client_message_id,
            tree=request.tree,
            model="scripted",
            config=request.config.model_dump(),
        )
        asked.attach(run)
        usual = {"outcome": "completed", "reason": "completed", "answer": "It is so."}
        AgentRun.objects.filter(pk=run.pk).update(**{**usual, **ending})
    return Exchange.objects.select_related("run", "conversation").get(run=run)


def said(exchange: Exchange, chunks: Sequence[OracleStreamChunk]) -> None:
    """What the run of an exchange said, stored."""
    RunEvent.objects.bulk_create(
        encode_chunk(chunk).build_event(exchange.run_id) for chunk in chunks
    )


class Talk:
    """Ada's conversation, begun with one question."""

    def __init__(self, question: str = "What is it?", name: str = "ada") -> None:
        self.user, self.project = member(name)
        self.first = started(ask_service.start_conversation(self.user, self.project.pk, question))
        self.id: UUID = self.first.conversation_id

    @property
    def now(self) -> Conversation:
        return Conversation.objects.select_related("project").get(pk=self.id)

    @property
    def head(self) -> UUID:
        head = self.now.head_id
        assert head is not None
        return head

    def ask(
        self, question: str = "And then?", under: Exchange | None = None, **end: Any
    ) -> Exchange:
        context = under.pk if under else None
        return started(
            ask_service.ask(self.user, question, conversation_id=self.id, context_id=context), **end
        )

    def edit(self, exchange: Exchange, question: str = "Or rather?") -> Exchange:
        return started(ask_service.edit_question(self.user, exchange.pk, question))

    def path(self) -> list[UUID]:
        return [e.pk for e in tree.get_path_segment(self.head, 1_000).exchanges]


def grown(talk: Talk, size: int, answer: str = "It is so.") -> None:
    """Make a conversation so many exchanges long, quickly."""
    parent = talk.head
    runs, exchanges = [], []
    for number in range(size - len(talk.path())):
        run = AgentRun(
            user=talk.user,
            project=talk.project,
            question=f"Question {number}?",
            answer=answer,
            conversation_key=talk.id,
            outcome="completed",
            reason="completed",
            tree="default",
            model="scripted",
            config={},
        )
        exchange = Exchange(pk=uuid4(), conversation_id=talk.id, parent_id=parent, run=run)
        runs.append(run)
        exchanges.append(exchange)
        parent = exchange.pk
    AgentRun.objects.bulk_create(runs)
    Exchange.objects.bulk_create(exchanges)
    Conversation.objects.filter(pk=talk.id).update(head=parent)
