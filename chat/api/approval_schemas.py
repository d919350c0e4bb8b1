"""What programs are told of runs that wait for a person, and what they may decide."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from agents.approvals import MAX_WORDS_LENGTH
from chat.api.schemas import Schema

DecisionName = Literal["approved", "refused", "differently"]
Decided = Literal["", "approved", "refused", "differently", "not_decided"]


class HeldCallView(Schema):
    """One call that waits, or has waited."""

    id: str
    name: str
    arguments: dict[str, Any]
    digest: str = Field(description="A digest of its name and arguments.")
    diff: str = Field(description="What it would change in a note, as a diff. Empty: no note.")
    conflict: bool = Field(description="Whether the note has changed since: a yes is refused.")
    decision: Decided
    words: str


class ApprovalView(Schema):
    """What a run has asked, and what was decided."""

    run: UUID
    asker: Literal["behaviour", "rule", "tool"]
    question: str
    digest: str = Field(description="A digest of everything asked; a decision must send it back.")
    calls: list[HeldCallView]
    asked_at: datetime
    expires_at: datetime
    decision: Decided = Field(description="Empty: nobody has decided yet.")
    words: str
    decided_at: datetime | None
    decided_via: str
    continuation: UUID | None = Field(description="The run that does what was decided.")


class CallDecision(Schema):
    """What is decided about one call."""

    decision: DecisionName
    words: str = Field("", max_length=MAX_WORDS_LENGTH)


class NewDecision(CallDecision):
    """What is decided about all calls, but for those that `calls` names."""

    digest: str = Field(max_length=64, description="The digest of the run's approval.")
    calls: dict[str, CallDecision] = Field(default={}, max_length=100)
