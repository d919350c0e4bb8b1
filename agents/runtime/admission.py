"""Create the row of a run: by a member, one per conversation, five per user, one per message."""

from uuid import UUID

from django.contrib.auth.models import User
from django.db import IntegrityError, connection, transaction

from agents.approvals import close_undecided, find_decided
from agents.audit import signing
from agents.core.config import AgentConfig
from agents.models import AgentRun
from agents.projects.errors import ProjectError
from agents.projects.queries import check_can_ask
from agents.runtime.modes import Mode, store_text
from agents.runtime.requests import (
    Attach,
    ConversationBusy,
    ProjectClosed,
    RunRequest,
    TooManyRuns,
)

BUSY = "A run is already in progress in this conversation. Wait for it to end, or stop it."
MAX_ACTIVE_RUNS = 5
"""Runs that one user may have going at the same time."""


def create_run(
    request: RunRequest,
    run_id: UUID,
    *,
    mode: Mode,
    config: AgentConfig,
    model: str,
    owner: str,
    attach: Attach | None,
) -> tuple[AgentRun, bool]:
    """Return the run of a request and whether it is new. The same message sent twice is one run."""
    run = AgentRun(
        pk=run_id,
        user=request.user,
        project=request.project,
        question=request.question,
        conversation_key=request.conversation_key,
        context_runs=[str(earlier) for earlier in request.context_runs],
        continued_from_id=request.continued_from,
        client_message_id=request.client_message_id,
        tree=mode.tree,
        behaviour=mode.behaviour.name if mode.behaviour else "",
        behaviour_digest=mode.behaviour.digest if mode.behaviour else "",
        model=model,
        config=config.model_dump(),
        owner=owner,
    )
    signing.sign_start(run, is_own_behaviour=mode.level == "own")
    try:
        return _store_run(request, run, mode, attach)
    except IntegrityError:  # a start of another user was quicker: now it is seen
        return _store_run(request, run, mode, attach)


def _store_run(
    request: RunRequest, run: AgentRun, mode: Mode, attach: Attach | None
) -> tuple[AgentRun, bool]:
    with transaction.atomic():
        _lock_user(request)
        if (known := _find_existing(request)) is not None:
            return known, False
        _check_project_open(request)
        _check_conversation_free(request)
        _check_run_count(request)
        if mode.behaviour is not None:
            store_text(mode.behaviour)
        run.save(force_insert=True)
        if attach is not None:
            attach(run)
        _close_undecided(request, run)
        return run, True


def _close_undecided(request: RunRequest, run: AgentRun) -> None:
    """Take the run for the answer to what runs before it have asked, where it is not the answer."""
    earlier = set(request.context_runs)
    if request.continued_from is not None:
        earlier.add(request.continued_from)
    if earlier:
        close_undecided(earlier, by=request.user, instead=run)


def _lock_user(request: RunRequest) -> None:
    """Make starts of one user come one after the other, so that all of them are counted.

    On SQLite every writing transaction does so anyway.
    """
    if connection.features.has_select_for_update:
        User.objects.select_for_update(no_key=True).filter(pk=request.user.pk).first()


def _find_existing(request: RunRequest) -> AgentRun | None:
    if request.client_message_id is None:
        return None
    return AgentRun.objects.filter(
        user=request.user, client_message_id=request.client_message_id
    ).first()


def _check_project_open(request: RunRequest) -> None:
    try:
        check_can_ask(request.user, request.project.pk)
    except ProjectError as error:
        raise ProjectClosed(str(error)) from None


def _check_conversation_free(request: RunRequest) -> None:
    active = AgentRun.objects.filter(outcome__isnull=True)
    if (
        request.conversation_key is not None
        and active.filter(conversation_key=request.conversation_key).exists()
    ):
        raise ConversationBusy(find_decided(request.continued_from) or BUSY)


def _check_run_count(request: RunRequest) -> None:
    active = AgentRun.objects.filter(user=request.user, outcome__isnull=True).count()
    if active >= MAX_ACTIVE_RUNS:
        raise TooManyRuns(f"You have {active} runs in progress. Wait for one to end, or stop one.")
