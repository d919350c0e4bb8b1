"""Errors of a model endpoint, sorted by who must act.

    ModelError
    +-- EndpointError
        +-- SettingsError         the person: something in the settings is wrong
        |   +-- KeyRefused            auth
        |   +-- OutOfCredit           quota
        |   +-- NotFound              not_found
        |   |   +-- UnknownModel          says which models there are, if the endpoint does
        |   +-- WrongAddress          bad_address
        |   +-- NotAnApi              bad_response
        |   +-- Redirected            redirected
        |   +-- ToolsUnsupported      tools_unsupported
        +-- RequestRefused        the caller: this request cannot be answered    bad_request
        |   +-- ContextTooLong        context_length
        |   +-- OptionRefused         the client: ask again without the option
        +-- NoTimeToRetry         the caller: the code is that of the error it follows
        +-- TransientError        nobody: trying again may help
            +-- RateLimited           rate_limited
            +-- Overloaded            overloaded
            +-- TimedOut              timeout
            |   +-- IdleTimeout           no byte for too long; after content a BrokenStream
            +-- Unreachable           unreachable
            +-- BrokenStream          broken_stream
            +-- EmptyStream           empty_stream
            +-- BadResponse           bad_response

`str(error)` says what happened and what to do. It never holds what the endpoint wrote, nor the
key: both may be secret. Names of models are the exception: those that the settings list too.
"""

import math
from collections.abc import Sequence
from typing import ClassVar, Self

from agents.core.messages import ModelError


class EndpointError(ModelError):
    """The endpoint, or the way to it, failed. `retry_after`: seconds it asked us to wait."""

    message: ClassVar[str] = "The model endpoint failed."

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message or self.message)
        self.retry_after = retry_after
        self.detail = ""
        """What the endpoint said of it: for the log alone."""


# -- the person must act --------------------------------------------------------------------------


class SettingsError(EndpointError):
    """Trying again cannot help until somebody changes a setting."""

    is_permanent = True


class KeyRefused(SettingsError):
    code = "auth"
    message = "The model endpoint refused the API key. Check the key in the settings."


class OutOfCredit(SettingsError):
    code = "quota"
    message = (
        "The account at the model provider is out of credit. "
        "Add credit there, or use another key or model."
    )


class NotFound(SettingsError):
    code = "not_found"
    message = (
        "The model endpoint does not know this model, or the base URL is wrong. "
        "Check the model name, and that the base URL ends in /v1."
    )


class UnknownModel(NotFound):
    message = "The model endpoint does not know this model. Choose another in the settings."

    @classmethod
    def with_suggestions(cls, model: str, names: Sequence[str], others: int) -> Self:
        """Say which models there are instead: these, and so many others."""
        offered = ", ".join(names) + (f" and {others:,} more" if others else "")
        return cls(
            f"The model endpoint does not know the model {model!r}. It offers {offered}. "
            "Choose one of them in the settings."
        )


class WrongAddress(SettingsError):
    code = "bad_address"
    message = (
        "The base URL of the model endpoint is not a valid http or https address. "
        "Correct it; it should end in /v1."
    )


class NotAnApi(SettingsError):
    code = "bad_response"
    message = (
        "The model endpoint answered with a web page. Is the base URL right? It should end in /v1."
    )


class Redirected(SettingsError):
    code = "redirected"
    message = (
        "The model endpoint points to another address, which is not followed. "
        "Set the base URL to the final address; it should end in /v1."
    )


class ToolsUnsupported(SettingsError):
    code = "tools_unsupported"
    message = "This model cannot use tools. Choose a model that can."


# -- the caller must act --------------------------------------------------------------------------


class RequestRefused(EndpointError):
    is_permanent = True
    code = "bad_request"
    message = (
        "The model endpoint refused the request as invalid. "
        "Try another model; if it persists, the server's log has the details."
    )


class ContextTooLong(RequestRefused):
    code = "context_length"
    message = (
        "The conversation is longer than this model can read. "
        "Start a new conversation, or choose a model with a larger context."
    )


class OptionRefused(RequestRefused):
    """The endpoint does not know an optional parameter: ask at once again without it."""

    retryable = True

    def __init__(self, option: str) -> None:
        super().__init__(
            f"The model endpoint does not know the option {option!r}; asking without it.",
            retry_after=0.0,
        )
        self.option = option


class NoTimeToRetry(EndpointError):
    """Trying again might help, but not in the time that is left."""

    is_permanent = True

    def __init__(self, error: EndpointError, wait: float) -> None:
        duration = _display_duration(wait)
        why = (
            f"the next try would have to wait {duration}, longer than this run has left."
            if duration
            else "the endpoint asks not to be called again until much later."
        )
        super().__init__(f"{error} Not tried again: {why}", retry_after=error.retry_after)
        self.code = error.code


def _display_duration(seconds: float) -> str:
    """Return a duration that somebody may wait for; empty if nobody would."""
    if seconds <= 1:
        return "a second"
    for size, unit in ((1, "seconds"), (60, "minutes"), (3600, "hours")):
        if seconds <= 90 * size:
            return f"{math.ceil(seconds / size)} {unit}"
    return ""


# -- trying again may help ------------------------------------------------------------------------


class TransientError(EndpointError):
    retryable = True


class RateLimited(TransientError):
    code = "rate_limited"
    message = (
        "The model endpoint gets too many requests at the moment. "
        "Wait a little, then try again, or use another model."
    )


class Overloaded(TransientError):
    code = "overloaded"
    message = (
        "The model endpoint failed or is overloaded. Try again in a while, or use another model."
    )


class TimedOut(TransientError):
    code = "timeout"
    message = "The model endpoint did not answer in time. Try again, or use another model."


class IdleTimeout(TimedOut):
    """Not a byte came for so many seconds."""

    def __init__(self, seconds: float = 60.0) -> None:
        self.seconds = max(1, round(seconds))
        super().__init__(
            f"The model endpoint sent nothing for {self.seconds} s. "
            "Try again, or use another model."
        )


class Unreachable(TransientError):
    code = "unreachable"
    message = (
        "The model endpoint cannot be reached. "
        "Check that it is running, the base URL, and the network."
    )


class BrokenStream(TransientError):
    code = "broken_stream"
    message = (
        "The connection to the model broke before the answer was complete. "
        "What arrived is kept; continue or ask again."
    )


class EmptyStream(TransientError):
    code = "empty_stream"
    message = (
        "The model endpoint closed the answer without writing anything. "
        "Try again; if it persists, the endpoint may not support streaming with tools."
    )


class BadResponse(TransientError):
    code = "bad_response"
    message = (
        "The model endpoint sent an answer that cannot be read. "
        "Try again; if it persists, check that it is OpenAI-compatible."
    )
