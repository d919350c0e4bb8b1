"""What a page may ask for over its socket: one model per verb, nothing else is understood.

htmx sends a form as one JSON object of strings, with its request headers under HEADERS; those are
dropped before anything else happens, because they carry the CSRF token.
"""

import json
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from agents.core.text import storable
from chat.asking import LONGEST_MESSAGE_ID, LONGEST_QUESTION
from chat.errors import CannotDo
from chat.models import LONGEST_NAME

MessageId = Annotated[str, Field(max_length=LONGEST_MESSAGE_ID)]


class Verb(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, hide_input_in_errors=True)


class Submit(Verb):
    """A question: at HEAD, or as another version of the exchange that `edits` names."""

    verb: Literal["submit"]
    question: str = Field(max_length=LONGEST_QUESTION)
    client_message_id: MessageId
    edits: UUID | Literal[""] = ""
    tree: str = Field("", max_length=64)
    model: str = Field("", max_length=200)


class Stop(Verb):
    verb: Literal["stop"]


class Resume(Verb):
    """The page says what it shows: its last exchange, and the runs that were going on."""

    verb: Literal["resume"]
    head: UUID | Literal[""] = ""
    live: list[UUID] = Field(default_factory=list, max_length=20)


class Regenerate(Verb):
    verb: Literal["regenerate"]
    exchange: UUID
    client_message_id: MessageId | None = None


class Continue(Verb):
    """Go on from a run that ended early; with a limit raised, if one is named."""

    verb: Literal["continue"]
    run: UUID
    limit: str = Field("", max_length=64)
    value: int | None = None
    save: Literal["", "yes"] = ""
    client_message_id: MessageId | None = None


class Switch(Verb):
    """Show another version."""

    verb: Literal["switch"]
    exchange: UUID


class Checkout(Verb):
    """Move HEAD to an exchange: the next question hangs under it."""

    verb: Literal["checkout"]
    exchange: UUID


class Rename(Verb):
    verb: Literal["rename"]
    title: str = Field(max_length=LONGEST_NAME * 2)


class Ack(Verb):
    """The page has got so many frames."""

    verb: Literal["ack"]
    frames: int = Field(ge=0)


AnyVerb = Submit | Stop | Resume | Regenerate | Continue | Switch | Checkout | Rename | Ack
_verbs: TypeAdapter[AnyVerb] = TypeAdapter(Annotated[AnyVerb, Field(discriminator="verb")])


def understood(text: str) -> AnyVerb:
    """The verb of a message; CannotDo says what is wrong with it."""
    try:
        data: Any = json.loads(text)
    except (ValueError, RecursionError):
        raise CannotDo("That message could not be read.") from None
    if not isinstance(data, dict):
        raise CannotDo("That message could not be read.")
    data.pop("HEADERS", None)
    for name in ("question", "title"):  # what people wrote is mended, not refused
        if isinstance(data.get(name), str):
            data[name] = storable(data[name])
    try:
        return _verbs.validate_python(data)
    except (ValidationError, RecursionError) as error:
        raise CannotDo(_problem(error)) from None


def _problem(error: ValidationError | RecursionError) -> str:
    if not isinstance(error, ValidationError):
        return "That message could not be read."
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    if first["type"] == "string_too_long" and "question" in first["loc"]:
        return (
            f"The question is too long: {LONGEST_QUESTION:,} characters are allowed. "
            "Put long material into a note and ask about that."
        )
    if not first["loc"] or first["type"].startswith("union_tag"):
        return "That cannot be done: there is no such verb."
    return f"That cannot be done: {str(first['loc'][-1])[:40]}: {first['msg'][:200]}."
