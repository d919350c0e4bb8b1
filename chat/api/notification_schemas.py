"""Notifications and reminders as they go in and out."""

from datetime import datetime
from uuid import UUID

from pydantic import Field, StrictBool

from chat.api.schemas import Schema


class LastSpokeView(Schema):
    """When a notification last spoke in your newest runs, and in which."""

    at: datetime
    run_id: UUID


class NotificationView(Schema):
    id: str
    name: str
    description: str
    events: list[str] = Field(description="What it listens to: names, or patterns like x.*")
    at: str = Field(description="When in a run it is shown.")
    to: list[str] = Field(description="Who is told: user, model or both.")
    enabled: bool
    locked: str = Field(description="Why it cannot be switched; empty: it can.")
    last_spoke: LastSpokeView | None


class NotificationList(Schema):
    notifications: list[NotificationView]


class NotificationChange(Schema):
    enabled: StrictBool = Field(description="Whether it is on in runs that you start from now on.")


class NotificationPreview(Schema):
    """What it would say, made of examples: no run, no model."""

    message: str = Field(description="To you; empty: nothing.")
    hint: str = Field(description="To the model; empty: nothing.")
    hint_of_two: str = Field(description="To the model, for two events at once.")


class ReminderView(Schema):
    id: int
    text: str
    category: str
    priority: str
    project_id: UUID | None
    kept_at: datetime
    expires_at: datetime
    source_run_id: UUID | None


class ReminderList(Schema):
    enabled: bool = Field(description="Whether your runs keep reminders and get them back.")
    reminders: list[ReminderView] = Field(description="Reminders that a later run may still get.")


class ReminderChange(Schema):
    enabled: StrictBool
