"""What a page may ask for over its socket: one model per verb, nothing else is understood.

htmx sends a form as one JSON object of strings, with its request headers under HEADERS; those are
dropped before anything else happens, because they carry the CSRF token.
"""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agents.core.sanitize import replace_unstorable
from chat.errors import InvalidAction
from chat.models import MAX_NAME_LENGTH
from chat.services.ask import MAX_MESSAGE_ID_LENGTH, MAX_QUESTION_LENGTH

MessageId = Annotated[str, Field(max_length=MAX_MESSAGE_ID_LENGTH)]


class PageCommand(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Submit(PageCommand):
    """A question: at HEAD, or as another version of the exchange that `edits` names."""

    verb: Literal["submit"]
    question: str = Field(max_length=MAX_QUESTION_LENGTH)
    client_message_id: MessageId
    edits: UUID | Literal[""] = ""
    tree: str = Field("", max_length=64)
    model: str = Field("", max_length=200)


class Stop(PageCommand):
    verb: Literal["stop"]


class ResumePage(PageCommand):
    """The page says what it shows: its last exchange, and the runs that were going on."""

    verb: Literal["resume"]
    head: UUID | Literal[""] = ""
    live: list[UUID] = Field(default_factory=list, max_length=20)


class Regenerate(PageCommand):
    verb: Literal["regenerate"]
    exchange: UUID
    client_message_id: MessageId | None = None


class Continue(PageCommand):
    """Go on from a run that ended early; with a limit raised, if one is named."""

    verb: Literal["continue"]
    run: UUID
    limit: str = Field("", max_length=64)
    value: int | None = None
    save: Literal["", "yes"] = ""
    client_message_id: MessageId | None = None


class Switch(PageCommand):
    """Show another version."""

    verb: Literal["switch"]
    exchange: UUID


class Checkout(PageCommand):
    """Move HEAD to an exchange: the next question hangs under it."""

    verb: Literal["checkout"]
    exchange: UUID


class RenameConversation(PageCommand):
    verb: Literal["rename"]
    title: str = Field(max_length=MAX_NAME_LENGTH * 2)


class Ack(PageCommand):
    """The page has got so many frames."""

    verb: Literal["ack"]
    frames: int = Field(ge=0)


AnyCommand = (
    Submit
    | Stop
    | ResumePage
    | Regenerate
    | Continue
    | Switch
    | Checkout
    | RenameConversation
    | Ack
)
_commands: TypeAdapter[AnyCommand] = TypeAdapter(Annotated[AnyCommand, Field(discriminator="verb")])


def parse_command(text: str) -> AnyCommand:
    """Return the verb of a message; InvalidAction says what is wrong with it."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise InvalidAction("That message could not be read.") from None
    if not isinstance(data, dict):
        raise InvalidAction("That message could not be read.")
    data.pop("HEADERS", None)
    for name in ("question", "title"):  # what people wrote is repaired, not refused
        if isinstance(data.get(name), str):
            data[name] = replace_unstorable(data[name])
    try:
        return _commands.validate_python(data)
    except (ValidationError, RecursionError) as error:
        raise InvalidAction(_error_message(error)) from None


def _error_message(error: ValidationError | RecursionError) -> str:
    if not isinstance(error, ValidationError):
        return "That message could not be read."
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "string_too_long" and "question" in first["loc"]:
        return (
            f"The question is too long: {MAX_QUESTION_LENGTH:,} characters are allowed. "
            "Put long material into a note and ask about that."
        )
    if not first["loc"] or first["type"].startswith("union_tag"):
        return "That cannot be done: there is no such verb."
    return f"That cannot be done: {str(first['loc'][-1])[:40]}: {first['msg'][:200]}."


def parse_message(text: str | None) -> AnyCommand | InvalidAction:
    """Return the command, or why there is none: for a socket both count as a message."""
    if text is None:
        return InvalidAction("That message could not be read.")
    try:
        return parse_command(text)
    except InvalidAction as error:
        return error
