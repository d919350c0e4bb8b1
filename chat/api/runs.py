"""Asking: as a stream, as a whole; and runs: looking at them, following them, stopping them."""

import asyncio
from contextlib import aclosing, suppress
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.core.registry import NotRegistered
from agents.models import AgentRun, ModelSettings
from agents.models.api_tokens import Scope
from agents.projects.members import first_project_for
from agents.runtime import get_mode
from chat.api import auth, serializers, sse, throttling
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint
from chat.api.runtime import require_runtime, run_db
from chat.api.schemas import Ask, ResumeQuery, RunView
from chat.api.throttling import Rate
from chat.conversations import queries
from chat.errors import NotFoundForUser
from chat.services import ask, continue_run
from chat.services.ask import PreparedRun, RunOptions

STOP_SECONDS = 1.0
"""How long a request to stop waits for the end, so that it can tell it."""
FOLLOW_SCOPES = (Scope.ASK, Scope.READ)
LAST_EVENT_ID_HEADER = {
    "Last-Event-ID": "The number of the last chunk received: continue after it."
}


@endpoint(
    "POST",
    "oracle",
    "Ask, and wait for the whole answer",
    scopes=[Scope.ASK],
    rate=Rate.ASK,
    takes=Ask,
    answers=RunView,
    errors=(404, 409),
)
async def ask_whole(request: ApiRequest, body: Ask) -> RunView:
    """The connection may be closed: the run goes on, and can be looked at later."""
    run = await _start_run(request.user, body)
    await wait_until_ended(run.pk)
    await auth.recheck_token(request.token)
    return await run_db(lambda: serializers.load_run_view(request.user, run.pk))


@endpoint(
    "POST",
    "oracle/stream",
    "Ask, and get the answer as it comes",
    scopes=[Scope.ASK],
    rate=Rate.ASK,
    takes=Ask,
    answers={200: sse.MEDIA_TYPE},
    errors=(404, 409),
)
async def ask_stream(request: ApiRequest, body: Ask) -> HttpResponseBase:
    """Server-sent events, one chunk each. `Oracle-Run` is the run's id, to resume or stop it by."""
    throttling.check_stream_limit(request.user.pk)  # before the run is there
    run = await _start_run(request.user, body)
    return sse.stream_response(
        request.token,
        run,
        0,
        Oracle_Run=str(run.pk),
        Oracle_Conversation=str(run.conversation_key or ""),
        Content_Location=f"/api/oracle/runs/{run.pk}",
    )


@endpoint(
    "GET",
    "oracle/runs/<uuid:run_id>",
    "One run, in progress or ended",
    scopes=FOLLOW_SCOPES,
    answers=RunView,
)
async def show_run(request: ApiRequest, run_id: UUID) -> RunView:
    return await run_db(lambda: serializers.load_run_view(request.user, run_id))


@endpoint(
    "GET",
    "oracle/runs/<uuid:run_id>/stream",
    "Follow a run, from the start or after a chunk",
    scopes=FOLLOW_SCOPES,
    query=ResumeQuery,
    answers={200: sse.MEDIA_TYPE, 204: None},
    errors=(409,),
    headers=LAST_EVENT_ID_HEADER,
)
async def follow_run(request: ApiRequest, run_id: UUID, query: ResumeQuery) -> HttpResponseBase:
    """204: the run has ended and there is nothing after that number; do not come back."""
    after = _get_resume_point(request, query)
    run = await run_db(lambda: serializers.get_run(request.user, run_id))
    if after > run.last_seq:
        raise api_error(
            409,
            ("header", "last-event-id"),
            f"This run has {run.last_seq:,} chunks so far; number {after:,} is not one of them.",
            "conflict",
        )
    if run.outcome is not None and after == run.last_seq:
        return HttpResponse(status=204)
    return sse.stream_response(request.token, run, after, Oracle_Run=str(run.pk))


@endpoint(
    "POST",
    "oracle/runs/<uuid:run_id>/cancel",
    "Stop a run",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers=RunView,
)
async def cancel_run(request: ApiRequest, run_id: UUID) -> RunView:
    """Harmless for a run that has ended. What it wrote is kept."""
    await run_db(lambda: serializers.get_run(request.user, run_id))
    if await require_runtime().cancel(run_id):
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await wait_until_ended(run_id)
    return await run_db(lambda: serializers.load_run_view(request.user, run_id))


# -- starting -------------------------------------------------------------------------------------


async def start_prepared(asked: PreparedRun) -> AgentRun:
    """Start a run, and tell the open pages of its conversation."""
    run = await require_runtime().start(asked.request, asked.attach)
    if run.conversation_key is not None:
        require_runtime().notify_changed(run.conversation_key)
    return run


async def _start_run(user: User, body: Ask) -> AgentRun:
    run = await start_prepared(await run_db(lambda: _prepare_run(user, body)))
    # Sent before, by its id, it may be in a project that they have left since.
    return await run_db(lambda: serializers.get_run(user, run.pk))


def _prepare_run(user: User, body: Ask) -> PreparedRun:
    _refuse_unknown_model(user, body.model)
    _refuse_unknown_mode(user, body.tree)
    options = RunOptions(
        tree=body.tree,
        model=body.model,
        overrides=body.overrides.model_dump(exclude_unset=True) if body.overrides else {},
        client_message_id=body.client_message_id,
    )
    if body.continued_from is not None:
        _refuse_other_location(user, body)
        return continue_run.continue_run(
            user, body.continued_from, question=body.question, options=options
        )
    if body.context_id == "active":
        _refuse_other_conversation(body)
        project = body.project or _get_first_project(user)
        return ask.ask_in_newest(user, project, body.question, options)
    if body.conversation_id is None and body.context_id is None:
        return ask.start_conversation(
            user, body.project or _get_first_project(user), body.question, options=options
        )
    ready = ask.ask(
        user,
        body.question,
        conversation_id=body.conversation_id,
        context_id=body.context_id,
        options=options,
    )
    if body.project not in (None, ready.request.project.pk):
        raise NotFoundForUser("That conversation is not in this project.")
    return ready


def _refuse_unknown_model(user: User, name: str | None) -> None:
    if not name:
        return
    known = ModelSettings.for_user(user).models
    if name not in known:
        choice = f"Known: {', '.join(known)}." if known else "The embedded model is the only one."
        raise api_error(404, ("body", "model"), f"There is no such model. {choice}", "not_found")


def _refuse_unknown_mode(user: User, name: str | None) -> None:
    if not name:
        return
    try:
        get_mode(name, user)
    except NotRegistered as error:
        raise api_error(422, ("body", "tree"), str(error), "value_error") from None


def _refuse_other_conversation(body: Ask) -> None:
    if body.conversation_id is not None:
        text = "Give a conversation_id, or the context_id `active`: not both."
        raise api_error(422, ("body", "context_id"), text, "value_error")


def _refuse_other_location(user: User, body: Ask) -> None:
    """Refuse other places: a run is continued where it is, whatever else names one."""
    if body.continued_from is None:
        return
    exchange = queries.get_exchange(user, body.continued_from)
    named = {
        body.conversation_id: exchange.conversation_id,
        body.project: exchange.conversation.project_id,
    }
    if any(given not in (None, real) for given, real in named.items()):
        raise NotFoundForUser("That run is not in this conversation or project.")
    if body.context_id not in (None, exchange.pk, exchange.run_id):
        raise NotFoundForUser("A run is continued under its own exchange: leave context_id out.")


def _get_first_project(user: User) -> UUID:
    first = first_project_for(user)
    if first is None:
        raise NotFoundForUser(
            "You are in no project. Create one with POST /api/projects, or ask an owner for a link."
        )
    return first.pk


async def wait_until_ended(run_id: UUID) -> None:
    async with aclosing(require_runtime().follow(run_id)) as chunks:
        async for _ in chunks:
            pass


def _get_resume_point(request: ApiRequest, query: ResumeQuery) -> int:
    """Return where to resume. The header wins: programs that reconnect send it."""
    given = request.http_request.headers.get("Last-Event-ID", "").strip()
    if not given:
        return query.last_event_id
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise api_error(
            422, ("header", "last-event-id"), "Give the number of a chunk: 0 or more.", "number"
        )
    return int(given)
