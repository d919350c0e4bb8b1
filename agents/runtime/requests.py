"""What a run is started with, and the row that it starts as."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from typing import Protocol
from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction
from django.utils import timezone

from agents.core.config import AgentConfig
from agents.core.ports import ChatModel, ToolRunner
from agents.models import AgentRun, Project, chain

MOST_ACTIVE = 5
"""Runs that one user may have going at the same time."""

Attach = Callable[[AgentRun], None]
"""What the caller stores together with a new run, in the same transaction."""


class RunRefused(Exception):
    """A run cannot be started now. The message is for the person who asked."""


class ConversationBusy(RunRefused):
    """Another run of the same conversation is going on."""


class TooManyRuns(RunRefused):
    """This person has as many runs going as one may have."""


@dataclass(frozen=True, kw_only=True)
class RunRequest:
    """One question, with everything that decides how it is answered."""

    user: User
    project: Project
    question: str
    config: AgentConfig
    tree: str = "default"
    model: str = ""
    """The model's name; empty: as the user's settings say."""
    conversation_key: UUID | None = None
    context_runs: tuple[UUID, ...] = ()
    """Runs that are replayed to the model, oldest first."""
    continued_from: UUID | None = None
    client_message_id: str | None = None


class World(Protocol):
    """Where a run's model, tools and first words come from."""

    def model(self, request: RunRequest) -> ChatModel: ...

    def tools(self, request: RunRequest, model: ChatModel) -> ToolRunner: ...

    def system(self, request: RunRequest) -> str:
        """The system prompt."""


def create(
    request: RunRequest,
    run_id: UUID,
    *,
    config: AgentConfig,
    model: str,
    owner: str,
    lease: timedelta,
    attach: Attach | None,
) -> tuple[AgentRun, bool]:
    """The run of a request and whether it is new. The same message sent twice is one run."""
    run = AgentRun(
        pk=run_id,
        user=request.user,
        project=request.project,
        question=request.question,
        conversation_key=request.conversation_key,
        context_runs=[str(earlier) for earlier in request.context_runs],
        continued_from_id=request.continued_from,
        client_message_id=request.client_message_id,
        tree=request.tree,
        model=model,
        config=config.model_dump(),
        owner=owner,
        lease_until=timezone.now() + lease,
    )
    chain.begin(run)
    try:
        return _store(request, run, attach)
    except IntegrityError:  # a start of another user was quicker: now it is seen
        return _store(request, run, attach)


def _store(request: RunRequest, run: AgentRun, attach: Attach | None) -> tuple[AgentRun, bool]:
    with transaction.atomic():
        _wait_for_other_starts(request)
        if (known := _known(request)) is not None:
            return known, False
        _refuse_second(request)
        _refuse_too_many(request)
        run.save(force_insert=True)
        if attach is not None:
            attach(run)
        return run, True


def _wait_for_other_starts(request: RunRequest) -> None:
    """Starts of one user come one after the other, so that all of them are counted.

    On SQLite every writing transaction does so anyway.
    """
    if connection.features.has_select_for_update:
        User.objects.select_for_update(no_key=True).filter(pk=request.user.pk).first()


def _known(request: RunRequest) -> AgentRun | None:
    if request.client_message_id is None:
        return None
    return AgentRun.objects.filter(
        user=request.user, client_message_id=request.client_message_id
    ).first()


def _refuse_second(request: RunRequest) -> None:
    active = AgentRun.objects.filter(outcome__isnull=True)
    if (
        request.conversation_key is not None
        and active.filter(conversation_key=request.conversation_key).exists()
    ):
        raise ConversationBusy("This conversation has a run going. Wait for it to end, or stop it.")


def _refuse_too_many(request: RunRequest) -> None:
    active = AgentRun.objects.filter(user=request.user, outcome__isnull=True).count()
    if active >= MOST_ACTIVE:
        raise TooManyRuns(f"You have {active} runs going. Wait for one to end, or stop one.")
