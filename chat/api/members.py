"""Who is in a project, and the links that let people in."""

from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse

from agents.models import Invitation, Membership, Project
from agents.models.api_tokens import Scope
from agents.projects import invitations, members, queries
from agents.projects.errors import ProjectNotFound, ProjectRefused
from agents.projects.queries import Role
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint, json_response
from chat.api.project_schemas import (
    CreatedInvitation,
    InvitationList,
    InvitationView,
    MemberList,
    MemberView,
    NewInvitation,
    NewMember,
    RoleChange,
)
from chat.api.projects import PROJECT_PATH
from chat.api.runtime import run_db
from chat.api.throttling import Rate

MEMBER_PATH = f"{PROJECT_PATH}/members/<int:user_id>"
INVITATION_PATH = f"{PROJECT_PATH}/invitations/<int:invitation_id>"
MAX_ID = 2**63 - 1


@endpoint(
    "GET",
    f"{PROJECT_PATH}/members",
    "Who is in a project, by name",
    scopes=[Scope.PROJECTS],
    answers=MemberList,
)
async def list_members(request: ApiRequest, project_id: UUID) -> MemberList:
    def load() -> MemberList:
        project = queries.get_project(request.user, project_id)
        return MemberList(members=[_serialize(row) for row in queries.list_members(project)])

    return await run_db(load)


@endpoint(
    "POST",
    f"{PROJECT_PATH}/members",
    "Add somebody, by username",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=NewMember,
    answers={201: MemberView},
    errors=(409,),
)
async def add_member(request: ApiRequest, project_id: UUID, body: NewMember) -> HttpResponseBase:
    def add() -> MemberView:
        project = _get_owned(request.user, project_id)
        try:
            person = members.find_person(body.username)
        except ProjectRefused as error:
            raise api_error(409, ("body", "username"), str(error), "conflict") from None
        return _serialize(members.add_member(project, person, body.role, by=request.user))

    return json_response(await run_db(add), 201)


@endpoint(
    "PATCH",
    MEMBER_PATH,
    "Change a member's role",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=RoleChange,
    answers=MemberView,
    errors=(409,),
)
async def change_role(
    request: ApiRequest, project_id: UUID, user_id: int, body: RoleChange
) -> MemberView:
    def change() -> MemberView:
        project = _get_owned(request.user, project_id)
        member = _get_member(project, user_id)
        members.change_role(project, member.user, body.role, by=request.user)
        return _serialize(_get_member(project, user_id))

    return await run_db(change)


@endpoint(
    "DELETE",
    MEMBER_PATH,
    "Remove a member (owners), or leave the project (everybody)",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    answers={204: None},
    errors=(409,),
)
async def remove_member(request: ApiRequest, project_id: UUID, user_id: int) -> HttpResponseBase:
    """Their runs there are stopped."""

    def remove() -> None:
        needed = Role.READER if user_id == request.user.pk else Role.OWNER
        project = queries.get_project(request.user, project_id, at_least=needed)
        members.remove_member(project, _get_member(project, user_id).user, by=request.user)

    await run_db(remove)
    return HttpResponse(status=204)


@endpoint(
    "GET",
    f"{PROJECT_PATH}/invitations",
    "The links of a project that still work",
    scopes=[Scope.PROJECTS],
    answers=InvitationList,
)
async def list_invitations(request: ApiRequest, project_id: UUID) -> InvitationList:
    def load() -> InvitationList:
        found = invitations.open_invitations(_get_owned(request.user, project_id))
        return InvitationList(invitations=[InvitationView(**_fields(row)) for row in found])

    return await run_db(load)


@endpoint(
    "POST",
    f"{PROJECT_PATH}/invitations",
    "Create a link that lets one person in, once, within a week",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    takes=NewInvitation,
    answers={201: CreatedInvitation},
    errors=(409,),
)
async def create_invitation(
    request: ApiRequest, project_id: UUID, body: NewInvitation
) -> HttpResponseBase:
    def create() -> CreatedInvitation:
        project = _get_owned(request.user, project_id)
        made, token = invitations.create_invitation(project, body.role, by=request.user)
        path = reverse("invitation", args=[token])
        url = request.http_request.build_absolute_uri(path)
        return CreatedInvitation(url=url, **_fields(made))

    return json_response(await run_db(create), 201)


@endpoint(
    "DELETE",
    INVITATION_PATH,
    "Revoke a link",
    scopes=[Scope.PROJECTS],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def revoke_invitation(
    request: ApiRequest, project_id: UUID, invitation_id: int
) -> HttpResponseBase:
    def revoke() -> None:
        project = _get_owned(request.user, project_id)
        number = min(invitation_id, MAX_ID)
        invitations.revoke_invitation(project, number, by=request.user)

    await run_db(revoke)
    return HttpResponse(status=204)


def _get_owned(user: User, project_id: UUID) -> Project:
    return queries.get_project(user, project_id, at_least=Role.OWNER)


def _get_member(project: Project, user_id: int) -> Membership:
    found = queries.list_members(project).filter(user=min(user_id, MAX_ID)).first()
    if found is None:
        raise ProjectNotFound("There is no such member of this project.")
    return found


def _serialize(member: Membership) -> MemberView:
    return MemberView(
        user_id=member.user_id,
        username=member.user.username,
        role=Role(member.role),
        joined_at=member.joined_at,
    )


def _fields(row: Invitation) -> dict[str, Any]:
    return {
        "id": row.pk,
        "role": Role(row.role),
        "created_at": row.created_at,
        "expires_at": row.expires_at,
    }
