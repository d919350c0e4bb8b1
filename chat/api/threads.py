"""Threads of a project: the list, reading one, adding to it, archiving, withdrawing."""

from typing import cast
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.models import Project, Thread, ThreadEntry
from agents.models.api_tokens import Scope
from agents.projects.errors import ProjectRefused
from agents.projects.queries import ARCHIVED_MESSAGE, Role, get_project
from agents.vault.author import Author
from agents.vault.thread_service import EntryType
from agents.vault.threads import NewEntry, get_thread, push_entry, set_status, threads_for
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.projects import PROJECT_PATH
from chat.api.runtime import run_db
from chat.api.thread_schemas import (
    EntryQuery,
    EntryView,
    NewThreadEntry,
    Status,
    ThreadChange,
    ThreadList,
    ThreadQuery,
    ThreadText,
    ThreadView,
)
from chat.api.throttling import Rate
from chat.library.thread_changes import withdraw_entry

THREADS_PATH = f"{PROJECT_PATH}/threads"
THREAD_PATH = f"{THREADS_PATH}/<str:name>"


@endpoint(
    "GET",
    THREADS_PATH,
    "The threads of a project, most recently changed first",
    scopes=[Scope.READ],
    query=ThreadQuery,
    answers=ThreadList,
)
async def list_threads(request: ApiRequest, project_id: UUID, query: ThreadQuery) -> ThreadList:
    def load() -> ThreadList:
        found = threads_for(get_project(request.user, project_id).pk)
        if query.status != "all":
            found = found.filter(status=query.status)
        shown = found[query.offset : query.offset + query.limit]
        return ThreadList(threads=[_serialize(thread) for thread in shown], total=found.count())

    return await run_db(load)


@endpoint(
    "GET",
    THREAD_PATH,
    "A thread and its entries, newest first",
    scopes=[Scope.READ],
    query=EntryQuery,
    answers=ThreadText,
)
async def show_thread(
    request: ApiRequest, project_id: UUID, name: str, query: EntryQuery
) -> ThreadText:
    """What was withdrawn keeps its number, and has no content."""

    def load() -> ThreadText:
        thread = get_thread(get_project(request.user, project_id).pk, name)
        entries = thread.entries.select_related("user", "run").order_by("-number")
        if query.before is not None:
            entries = entries.filter(number__lt=query.before)
        shown = [_serialize_entry(each, request.user) for each in entries[: query.limit]]
        last = shown[-1].number if shown else 1
        return ThreadText(thread=_serialize(thread), entries=shown, next=last if last > 1 else None)

    return await run_db(load)


@endpoint(
    "POST",
    f"{THREAD_PATH}/entries",
    "Add an entry to a thread, which is created if needed",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=NewThreadEntry,
    answers={201: EntryView},
    errors=(409,),
)
async def add_entry(
    request: ApiRequest, project_id: UUID, name: str, body: NewThreadEntry
) -> HttpResponseBase:
    def add() -> EntryView:
        project = _get_open_project(request.user, project_id)
        entry = NewEntry(body.content, body.type)
        added = push_entry(project.pk, name, entry, Author.person(request.user.pk))
        return _serialize_entry(added, request.user)

    return json_response(await run_db(add), 201)


@endpoint(
    "PATCH",
    THREAD_PATH,
    "Archive a thread, or make it active again",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=ThreadChange,
    answers=ThreadView,
    errors=(409,),
)
async def change_thread(
    request: ApiRequest, project_id: UUID, name: str, body: ThreadChange
) -> ThreadView:
    def change() -> ThreadView:
        project = _get_open_project(request.user, project_id)
        return _serialize(set_status(project.pk, name, Thread.Status(body.status)))

    return await run_db(change)


@endpoint(
    "DELETE",
    f"{THREAD_PATH}/entries/<int:number>",
    "Withdraw an entry of yours; an owner any",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    answers={204: None},
    errors=(409,),
)
async def delete_entry(
    request: ApiRequest, project_id: UUID, name: str, number: int
) -> HttpResponseBase:
    def withdraw() -> None:
        project = _get_open_project(request.user, project_id)
        withdraw_entry(request.user, project, get_thread(project.pk, name), number)

    await run_db(withdraw)
    return HttpResponse(status=204)


def _get_open_project(user: User, project_id: UUID) -> Project:
    """Return a project that somebody may write in."""
    project = get_project(user, project_id, at_least=Role.MEMBER)
    if project.is_archived:
        raise ProjectRefused(ARCHIVED_MESSAGE)
    return project


def _serialize(thread: Thread) -> ThreadView:
    return ThreadView(
        name=thread.name,
        status=cast(Status, thread.status),
        entry_count=thread.entry_count,
        created_at=thread.created_at,
        updated_at=thread.updated_at,
    )


def _serialize_entry(entry: ThreadEntry, user: User) -> EntryView:
    is_own_run = entry.run is not None and entry.run.user_id == user.pk
    return EntryView(
        number=entry.number,
        type=cast(EntryType, entry.kind),
        content=None if entry.withdrawn_at else entry.text,
        author=entry.user.get_username() if entry.user else None,
        run_id=entry.run_id if is_own_run else None,
        at=entry.at,
        withdrawn_at=entry.withdrawn_at,
    )
