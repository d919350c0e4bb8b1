"""Projects: the list, creating, renaming, archiving, deleting with undo."""

from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.models import Membership, Project
from agents.models.api_tokens import Scope
from agents.projects import queries, services
from agents.projects.errors import ProjectNotFound
from agents.projects.queries import Role
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.project_schemas import (
    NewProject,
    ProjectChange,
    ProjectList,
    ProjectQuery,
    ProjectView,
)
from chat.api.runtime import run_db
from chat.api.throttling import Rate

PROJECT_PATH = "projects/<uuid:project_id>"


@endpoint(
    "GET",
    "projects",
    "Your projects, by name",
    scopes=[Scope.READ, Scope.ASK, Scope.PROJECTS],
    query=ProjectQuery,
    answers=ProjectList,
)
async def list_projects(request: ApiRequest, query: ProjectQuery) -> ProjectList:
    def load() -> ProjectList:
        user = request.user
        if query.deleted:
            found = queries.deleted_projects_for(user).exclude(name="")
            return ProjectList(projects=[_serialize(row, Role.OWNER) for row in found])
        places = queries.list_places(user)
        return ProjectList(projects=[_serialize_place(place) for place in places])

    return await run_db(load)


@endpoint(
    "POST",
    "projects",
    "Create a project, which you own",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=NewProject,
    answers={201: ProjectView},
    errors=(409,),
)
async def create_project(request: ApiRequest, body: NewProject) -> HttpResponseBase:
    made = await run_db(lambda: services.create_project(request.user, body.name))
    return json_response(_serialize(made, Role.OWNER), 201)


@endpoint(
    "GET",
    PROJECT_PATH,
    "One project",
    scopes=[Scope.READ, Scope.ASK, Scope.PROJECTS],
    answers=ProjectView,
)
async def show_project(request: ApiRequest, project_id: UUID) -> ProjectView:
    return await run_db(lambda: _load(request.user, project_id))


@endpoint(
    "PATCH",
    PROJECT_PATH,
    "Rename, archive or unarchive a project",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=ProjectChange,
    answers=ProjectView,
)
async def change_project(request: ApiRequest, project_id: UUID, body: ProjectChange) -> ProjectView:
    def change() -> ProjectView:
        user = request.user
        project = queries.get_project(user, project_id, at_least=Role.OWNER)
        if body.name is not None:
            services.rename_project(project, body.name, by=user)
        if body.archived is not None and body.archived != project.is_archived:
            act = services.archive_project if body.archived else services.unarchive_project
            act(project, by=user)
        return _load(user, project_id)

    return await run_db(change)


@endpoint(
    "DELETE",
    PROJECT_PATH,
    "Delete a project; for 30 days it can be restored",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def delete_project(request: ApiRequest, project_id: UUID) -> HttpResponseBase:
    """Everybody's runs in it are stopped."""

    def delete() -> None:
        project = queries.get_project(request.user, project_id, at_least=Role.OWNER)
        services.delete_project(project, by=request.user)

    await run_db(delete)
    return HttpResponse(status=204)


@endpoint(
    "POST",
    f"{PROJECT_PATH}/restore",
    "Undo a deletion",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    answers=ProjectView,
    errors=(409,),
)
async def restore_project(request: ApiRequest, project_id: UUID) -> ProjectView:
    """Harmless for a project that is not deleted."""

    def restore() -> ProjectView:
        if not queries.projects_for(request.user).filter(pk=project_id).exists():
            project = queries.get_deleted_project(request.user, project_id)
            services.restore_project(project, by=request.user)
        queries.get_project(request.user, project_id, at_least=Role.OWNER)
        return _load(request.user, project_id)

    return await run_db(restore)


def _load(user: User, project_id: UUID) -> ProjectView:
    project = queries.get_project(user, project_id)
    role = queries.get_role(user, project)
    if role is None:
        raise ProjectNotFound(queries.NO_PROJECT_MESSAGE)
    return _serialize(project, role)


def _serialize_place(place: Membership) -> ProjectView:
    return _serialize(place.project, Role(place.role))


def _serialize(project: Project, role: Role) -> ProjectView:
    return ProjectView(
        id=project.pk,
        name=project.name,
        slug=project.slug,
        role=role,
        is_sample=project.is_sample,
        created_at=project.created_at,
        archived_at=project.archived_at,
        deleted_at=project.deleted_at,
    )
