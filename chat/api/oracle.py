"""Asking: as a stream, as a whole; and runs: looking at them, following them, stopping them."""

import asyncio
from contextlib import aclosing, suppress
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.models import AgentRun, ModelSettings, Project
from agents.models.tokens import Scope
from chat import asking, continuing, conversations
from chat.api import auth, limits, runs, sse
from chat.api.endpoints import Call, endpoint
from chat.api.errors import refused
from chat.api.here import runtime, work
from chat.api.limits import Rate
from chat.api.schemas import After, Ask, ProjectList, ProjectView, RunView
from chat.asking import Asking, How
from chat.errors import NotYours

STOP_SECONDS = 1.0
"""How long a request to stop waits for the end, so that it can tell it."""
FOLLOW = (Scope.ASK, Scope.READ)
LAST_EVENT_ID = {"Last-Event-ID": "The number of the last chunk that was got: go on after it."}


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
async def ask_whole(call: Call, body: Ask) -> RunView:
    """The connection may be closed: the run goes on, and can be looked at later."""
    run = await _start(call.user, body)
    await _ended(run.pk)
    await auth.still_valid(call.token)
    return await work(lambda: runs.read(call.user, run.pk))


@endpoint(
    "POST",
    "oracle/stream",
    "Ask, and get the answer as it comes",
    scopes=[Scope.ASK],
    rate=Rate.ASK,
    takes=Ask,
    answers={200: sse.MEDIA},
    errors=(404, 409),
)
async def ask_stream(call: Call, body: Ask) -> HttpResponseBase:
    """Server-sent events, one chunk each. `Oracle-Run` is the run's id, to resume or stop it by."""
    limits.refuse_streams(call.user.pk)  # before the run is there
    run = await _start(call.user, body)
    return sse.response(
        call.token,
        run.pk,
        0,
        Oracle_Run=str(run.pk),
        Oracle_Conversation=str(run.conversation_key or ""),
        Content_Location=f"/api/oracle/runs/{run.pk}",
    )


@endpoint(
    "GET",
    "oracle/runs/<uuid:run_id>",
    "One run, going on or ended",
    scopes=FOLLOW,
    answers=RunView,
)
async def show_run(call: Call, run_id: UUID) -> RunView:
    return await work(lambda: runs.read(call.user, run_id))


@endpoint(
    "GET",
    "oracle/runs/<uuid:run_id>/stream",
    "Follow a run, from the start or from where one was",
    scopes=FOLLOW,
    query=After,
    answers={200: sse.MEDIA, 204: None},
    errors=(409,),
    headers=LAST_EVENT_ID,
)
async def follow_run(call: Call, run_id: UUID, query: After) -> HttpResponseBase:
    """204: the run has ended and there is nothing after that number; do not come back."""
    after = _after(call, query)
    run = await work(lambda: runs.get(call.user, run_id))
    if after > run.last_seq:
        raise refused(
            409,
            ("header", "last-event-id"),
            f"This run has {run.last_seq:,} chunks so far; number {after:,} is not one of them.",
            "conflict",
        )
    if run.outcome is not None and after == run.last_seq:
        return HttpResponse(status=204)
    return sse.response(call.token, run.pk, after, Oracle_Run=str(run.pk))


@endpoint(
    "POST",
    "oracle/runs/<uuid:run_id>/cancel",
    "Stop a run",
    scopes=[Scope.ASK],
    rate=Rate.CHANGE,
    answers=RunView,
)
async def cancel_run(call: Call, run_id: UUID) -> RunView:
    """Harmless for a run that has ended. What it wrote is kept."""
    await work(lambda: runs.get(call.user, run_id))
    if await runtime().cancel(run_id):
        with suppress(TimeoutError):
            async with asyncio.timeout(STOP_SECONDS):
                await _ended(run_id)
    return await work(lambda: runs.read(call.user, run_id))


@endpoint(
    "GET",
    "projects",
    "Your projects, by name",
    scopes=[Scope.READ, Scope.ASK],
    answers=ProjectList,
)
async def list_projects(call: Call) -> ProjectList:
    def found() -> ProjectList:
        own = Project.objects.filter(members=call.user)
        return ProjectList(projects=[ProjectView(id=row.pk, name=row.name) for row in own])

    return await work(found)


# -- starting -------------------------------------------------------------------------------------


async def _start(user: User, body: Ask) -> AgentRun:
    asked = await work(lambda: _prepared(user, body))
    run = await runtime().start(asked.request, asked.attach)
    if run.conversation_key is not None:
        runtime().nudge(run.conversation_key)
    # Sent before, by its id, it may be in a project that they have left since.
    return await work(lambda: runs.get(user, run.pk))


def _prepared(user: User, body: Ask) -> Asking:
    _refuse_unknown_model(user, body.model)
    how = How(
        tree=body.tree,
        model=body.model,
        overrides=body.overrides.model_dump(exclude_unset=True) if body.overrides else {},
        client_message_id=body.client_message_id,
    )
    if body.continued_from is not None:
        _refuse_other_place(user, body)
        return continuing.continue_run(user, body.continued_from, question=body.question, how=how)
    if body.conversation_id is None and body.context_id is None:
        return asking.begin(user, body.project or _first_project(user), body.question, how=how)
    ready = asking.ask(
        user,
        body.question,
        conversation_id=body.conversation_id,
        context_id=body.context_id,
        how=how,
    )
    if body.project not in (None, ready.request.project.pk):
        raise NotYours("That conversation is not in this project.")
    return ready


def _refuse_unknown_model(user: User, name: str | None) -> None:
    if not name:
        return
    known = ModelSettings.of(user).models
    if name not in known:
        choice = f"Known: {', '.join(known)}." if known else "The embedded model is the only one."
        raise refused(404, ("body", "model"), f"There is no such model. {choice}", "not_found")


def _refuse_other_place(user: User, body: Ask) -> None:
    """A run is continued where it is: whatever else names a place has to name the same one."""
    if body.continued_from is None:
        return
    exchange = conversations.get_exchange(user, body.continued_from)
    named = {
        body.conversation_id: exchange.conversation_id,
        body.project: exchange.conversation.project_id,
    }
    if any(given not in (None, real) for given, real in named.items()):
        raise NotYours("That run is not in this conversation or project.")
    if body.context_id not in (None, exchange.pk, exchange.run_id):
        raise NotYours("A run is continued under its own exchange: leave context_id out.")


def _first_project(user: User) -> UUID:
    first = Project.objects.filter(members=user).first()
    if first is None:
        raise NotYours("You are in no project. Ask an administrator to add you to one.")
    return first.pk


async def _ended(run_id: UUID) -> None:
    async with aclosing(runtime().follow(run_id)) as chunks:
        async for _ in chunks:
            pass


def _after(call: Call, query: After) -> int:
    """The header wins: programs that reconnect by themselves send it."""
    given = call.request.headers.get("Last-Event-ID", "").strip()
    if not given:
        return query.last_event_id
    if not (given.isascii() and given.isdecimal() and len(given) < 10):
        raise refused(
            422, ("header", "last-event-id"), "This is the number of a chunk: 0 or more.", "number"
        )
    return int(given)
