"""Request and response bodies as models: strict, closed, the source of the OpenAPI document.

The fields of AgentConfig are taken from its one definition; none is written here again.
"""

from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)
from pydantic_core import PydanticCustomError

from agents.core.chunks import SourceRef
from agents.core.config import CAMEL_CASE_NAMES, LIMITS, AgentConfigBounds, use_field_names
from agents.core.decisions import TREES
from agents.core.reasons import Outcome, Severity
from agents.core.sanitize import replace_unstorable
from agents.runtime import list_common_behaviours
from chat.models import MAX_NAME_LENGTH
from chat.services.ask import MAX_MESSAGE_ID_LENGTH, MAX_QUESTION_LENGTH


class Schema(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, hide_input_in_errors=True)


class Query(BaseModel):
    """Not strict: everything in an address is text."""

    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class NoQuery(Query):
    pass


class Problem(Schema):
    """One thing that is wrong."""

    loc: list[str | int] = Field(description="Where: body, query, path or header, then the field.")
    msg: str = Field(description="What is wrong and what to do, for people.")
    type: str = Field(description="The same for programs.")
    ctx: dict[str, Any] | None = Field(None, description="For a conflict: what is in force now.")


class Problems(Schema):
    """The body of every refusal."""

    detail: list[Problem]


# -- limits ---------------------------------------------------------------------------------------


def _limit_field_args(limit: AgentConfigBounds) -> dict[str, Any]:
    return {
        "ge": limit.minimum,
        "le": limit.maximum,
        "title": limit.label,
        "description": f"{limit.help} Default: {limit.default:,}.",
        "examples": [limit.default],
    }


def without_default(schema: dict[str, Any]) -> None:
    """Drop the default: what is left out is left as it is."""
    schema.pop("default", None)


def coerce_whole(value: Any) -> Any:
    """Turn 15.0 into 15: JSON has one kind of number."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


WholeNumber = Annotated[int, BeforeValidator(coerce_whole)]


def required_limits() -> dict[str, Any]:
    return {
        name: (WholeNumber, Field(**_limit_field_args(limit))) for name, limit in LIMITS.items()
    }


def optional_limits() -> dict[str, Any]:
    return {
        name: (
            WholeNumber,
            Field(None, json_schema_extra=without_default, **_limit_field_args(limit)),
        )
        for name, limit in LIMITS.items()
    }


Version = Annotated[int, Field(ge=1, le=2**31 - 1), BeforeValidator(coerce_whole)]


class Versioned(Schema):
    version: Version | None = Field(
        None, description="The version you saw. If it has changed since: 409."
    )


class LimitsByName(Schema):
    """Base of bodies with limits, which may also be named in camelCase (`maxIterations`)."""

    @model_validator(mode="before")
    @classmethod
    def _use_field_names(cls, values: Any) -> Any:
        return use_field_names(values)


class VersionedLimits(Versioned, LimitsByName):
    pass


AgentConfigView: Any = create_model(
    "AgentConfigView",
    __base__=Schema,
    __doc__="A person's limits, and a version that grows with every change.",
    version=(Version, ...),
    **required_limits(),
)
AgentConfigPut: Any = create_model(
    "AgentConfigPut", __base__=VersionedLimits, __doc__="All limits.", **required_limits()
)
AgentConfigPatch: Any = create_model(
    "AgentConfigPatch", __base__=VersionedLimits, __doc__="Some limits.", **optional_limits()
)
Overrides: Any = create_model(
    "Overrides", __base__=LimitsByName, __doc__="Limits for one run only.", **optional_limits()
)
LimitName = StrEnum("LimitName", {name: name for name in LIMITS})  # type: ignore[misc]  # made from the one definition


def _parse_limit_name(name: Any) -> Any:
    """Return a limit by its field name or its camelCase name, and what is neither as it is."""
    if not isinstance(name, str):
        return name
    field = CAMEL_CASE_NAMES.get(name, name)
    return LimitName(field) if field in LIMITS else name


class AgentConfigReset(Versioned):
    """Which limits go back to their defaults; all, if none are named."""

    fields: list[Annotated[LimitName, BeforeValidator(_parse_limit_name)]] | None = Field(
        None, max_length=len(LIMITS)
    )


# -- asking ---------------------------------------------------------------------------------------


def _validate_not_blank(question: str) -> str:
    if not replace_unstorable(question).strip():
        raise ValueError("The question is empty")
    return question


def _parse_context_id(value: Any) -> Any:
    """Return the id as a UUID; of two types, pydantic would report what is wrong twice."""
    if value is None or value == "active":
        return value
    with suppress(ValueError, AttributeError, TypeError):
        return UUID(value)
    raise PydanticCustomError("context_id", "Give the id of an exchange or its run, or `active`")


def _list_modes(schema: dict[str, Any]) -> None:
    schema["enum"] = [*TREES.names(), *(each.name for each in list_common_behaviours())]


ContextId = Annotated[UUID | Literal["active"] | None, BeforeValidator(_parse_context_id)]
MessageId = Annotated[
    str, Field(min_length=1, max_length=MAX_MESSAGE_ID_LENGTH, pattern=r"^[ -~]+$")
]


class Ask(Schema):
    """A question, and how to answer it where that differs from the settings."""

    question: Annotated[str, AfterValidator(_validate_not_blank)] = Field(
        min_length=1,
        max_length=MAX_QUESTION_LENGTH,
        pattern=r"\S",
        examples=["When did the work begin, and who leads it?"],
    )
    project: UUID | None = Field(None, description="By default your first one, by name.")
    conversation_id: UUID | None = Field(
        None, description="Ask at its HEAD. Left out: a new conversation."
    )
    context_id: ContextId = Field(
        None,
        description="Ask under this exchange, named by its id or its run's; `active`: at the HEAD "
        "of your newest conversation of the project, or in a new one if there is none.",
    )
    continued_from: UUID | None = Field(
        None, description="Go on from this run, which ended early; its tool calls are replayed."
    )
    tree: Annotated[str, Field(max_length=64, json_schema_extra=_list_modes)] | None = Field(
        None,
        description="The mode of this run: one that everybody has, as listed here, or another one "
        "that `GET /api/modes` lists for you.",
    )
    model: Annotated[str, Field(max_length=200)] | None = Field(
        None, description="One of the models that your settings let you choose from."
    )
    overrides: Overrides | None = Field(None, description="Limits for this run only.")
    client_message_id: MessageId | None = Field(
        None, description="The same id twice is one run: a request can be repeated safely."
    )


class Notice(Schema):
    """A system message of a run. `system_message` and `at` repeat `content` and `timestamp`."""

    role: Literal["system"]
    content: str
    timestamp: datetime
    system_type: str = Field(description="A value from docs/chunks.md; more may be added.")
    system_message: str
    severity: Severity
    metadata: dict[str, Any] = Field(
        description="What it is about: `limit_type`, `current_value`, `limit_value`, `percent` and "
        "the like, as in docs/chunks.md."
    )
    at: datetime


class Why(Schema):
    """Why a run ended, as its page says it too."""

    label: str
    sentence: str
    remedy: str


class RunView(Schema):
    """One question and everything that is known of its answer."""

    id: UUID
    conversation_id: UUID | None
    project_id: UUID
    continued_from: UUID | None
    client_message_id: str | None
    question: str
    answer: str = Field(description="The model's own words; so far, while the run is in progress.")
    explanation: str = Field(description="Written by code when a limit ended the run.")
    outcome: Outcome | None = Field(description="Null while the run is in progress.")
    reason: str = Field(description="Why it ended: a code of docs/limits.md. Empty: it has not.")
    why: Why | None = Field(description="The same for people. Null while the run is in progress.")
    silence: str = Field(
        description="What to expect of a run in progress whose server process does not respond. "
        "Empty: it responds, or the run has ended."
    )
    also_triggered: list[str]
    error: str
    sources: list[SourceRef] = Field(description="Those that were read for it, or that it cites.")
    sources_note: str = Field(
        description="What is said under an answer that used no source. Empty: it used one, or has "
        "not ended."
    )
    notices: list[Notice]
    turns: int
    tool_calls: int
    tokens_in: int
    tokens_out: int
    usage_source: str
    model: str
    tree: str = Field(description="The decision tree: it said whether the run goes on.")
    behaviour: str = Field(description="What drove the run. Empty: turn after turn.")
    config: dict[str, int] = Field(description="The limits in force, as they were at the start.")
    last_seq: int = Field(description="The number of its newest chunk.")
    started_at: datetime
    ended_at: datetime | None


class ResumeQuery(Query):
    last_event_id: int = Field(
        0, ge=0, le=2**31 - 1, description="Send what comes after this chunk; 0: everything."
    )


# -- conversations --------------------------------------------------------------------------------

CURSOR = r"^[0-9]{1,16}-[0-9a-f]{32}$"


class ListQuery(Query):
    limit: int = Field(50, ge=1, le=100)
    before: str | None = Field(None, pattern=CURSOR, description="`next` of the page before.")
    project: UUID | None = Field(None, description="Only those of this project.")


class ConversationView(Schema):
    id: UUID
    project_id: UUID
    title: str
    head: UUID | None = Field(description="The exchange that the next question hangs under.")
    created_at: datetime
    updated_at: datetime


class ListedConversation(ConversationView):
    running: bool = Field(description="Whether a run is in progress in it.")


class ConversationList(Schema):
    """Newest first."""

    conversations: list[ListedConversation]
    next: str | None = Field(description="Pass it as `before` for the next page; null: the end.")


class ExchangeView(Schema):
    id: UUID
    parent: UUID | None
    label: str
    checkpoint: bool
    created_at: datetime
    run: RunView


class ConversationPath(ConversationView):
    """The path to HEAD, or its last stretch."""

    exchanges: list[ExchangeView] = Field(description="Oldest first.")
    earlier: UUID | None = Field(description="Pass it as `upto` for what comes before.")


class PathQuery(Query):
    limit: int = Field(30, ge=1, le=100)
    upto: UUID | None = Field(None, description="The last exchange to send; by default HEAD.")


class Rename(Schema):
    title: str = Field(
        max_length=MAX_NAME_LENGTH, description="Empty: the title is made from the first question."
    )


class ExportQuery(Query):
    format: Literal["json", "md"] = "json"
