"""Threads and their entries, as they go in and out."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from agents.vault.thread_service import EntryType, StatusFilter
from chat.api.schemas import Query, Schema

MAX_NUMBER = 2**31 - 1
MAX_CONTENT_LENGTH = 60_000
"""A body may have 64 KiB, as may an entry."""
Status = Literal["active", "archived"]


class ThreadView(Schema):
    name: str = Field(description="It never changes; upper and lower case are the same.")
    status: Status = Field(description="An archived thread takes no entries.")
    entry_count: int = Field(description="The number of the newest entry.")
    created_at: datetime
    updated_at: datetime


class ThreadList(Schema):
    threads: list[ThreadView]
    total: int


class ThreadQuery(Query):
    status: StatusFilter = "active"
    limit: int = Field(50, ge=1, le=200)
    offset: int = Field(0, ge=0, le=MAX_NUMBER)


class EntryQuery(Query):
    limit: int = Field(10, ge=1, le=50)
    before: int | None = Field(
        None, ge=1, le=MAX_NUMBER, description="Only entries older than this one."
    )


class EntryView(Schema):
    number: int
    type: EntryType
    content: str | None = Field(description="Markdown; none if the entry was withdrawn.")
    author: str | None = Field(description="None if they are no longer here, or it was imported.")
    run_id: UUID | None = Field(description="The run of yours that it came from.")
    at: datetime
    withdrawn_at: datetime | None


class ThreadText(Schema):
    thread: ThreadView
    entries: list[EntryView]
    next: int | None = Field(description="Pass it as `before` for older entries.")


class NewThreadEntry(Schema):
    content: str = Field(
        min_length=1,
        max_length=MAX_CONTENT_LENGTH,
        pattern=r"^[^\x00]*[^\x00\s][^\x00]*$",
        examples=["We take LFP."],
    )
    type: EntryType = "thought"


class ThreadChange(Schema):
    status: Status
