"""Projects, their members and invitations, as they go in and out."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import Field

from agents.models import Membership
from agents.projects.services import MAX_NAME_LENGTH
from chat.api.schemas import Query, Schema, without_default

VISIBLE = r"[^\x00-\x20\x7f-\xa0\xad\u1680\u2000-\u206f\u3000]"
NO_CONTROLS = r"[^\x00-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
ProjectName = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_NAME_LENGTH,
        pattern=f"^{VISIBLE}{NO_CONTROLS}*$",
        examples=["Our notes"],
    ),
]
"""It begins with something that can be seen, and has no control characters."""
Role = Annotated[
    Membership.Role,
    Field(strict=False, description="Owners manage, members ask and write, readers ask."),
]


class ProjectView(Schema):
    id: UUID
    name: str
    slug: str = Field(description="Used in its addresses; it stays when the project is renamed.")
    role: Role
    is_sample: bool
    created_at: datetime
    archived_at: datetime | None = Field(description="When it was archived: read-only since then.")
    deleted_at: datetime | None = Field(
        description="When it was deleted; it can be restored for 30 days."
    )


class ProjectList(Schema):
    projects: list[ProjectView]


class ProjectQuery(Query):
    deleted: bool = Field(False, description="List the ones you deleted and may restore, instead.")


class NewProject(Schema):
    name: ProjectName


class ProjectChange(Schema):
    """What is left out stays as it is."""

    name: ProjectName | None = Field(None, json_schema_extra=without_default)
    archived: bool | None = Field(None, json_schema_extra=without_default)


class MemberView(Schema):
    user_id: int
    username: str
    role: Role
    joined_at: datetime


class MemberList(Schema):
    members: list[MemberView]


class NewMember(Schema):
    username: str = Field(min_length=1, max_length=150)
    role: Role = Membership.Role.MEMBER


class RoleChange(Schema):
    role: Role


class NewInvitation(Schema):
    role: Role = Membership.Role.MEMBER


class InvitationView(Schema):
    id: int
    role: Role
    created_at: datetime
    expires_at: datetime


class CreatedInvitation(InvitationView):
    url: str = Field(description="The link. It is not shown again.")


class InvitationList(Schema):
    invitations: list[InvitationView]
