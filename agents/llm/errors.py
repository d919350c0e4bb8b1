"""What can go wrong with a model endpoint, sorted by who must act.

    ModelError
    +-- EndpointError
        +-- SettingsError         the person: something in the settings is wrong
        |   +-- KeyRefused            auth
        |   +-- OutOfCredit           quota
        |   +-- NotFound              not_found
        |   +-- WrongAddress          bad_address
        |   +-- NotAnApi              bad_response
        |   +-- Redirected            redirected
        |   +-- ToolsUnsupported      tools_unsupported
        +-- RequestRefused        the caller: this request cannot be answered    bad_request
        |   +-- ContextTooLong        context_length
        |   +-- OptionRefused         the client: ask again without the option
        +-- NoTimeToRetry         the caller: the code is that of the error it follows
        +-- PassingError          nobody: trying again may help
            +-- RateLimited           rate_limited
            +-- Overloaded            overloaded
            +-- TimedOut              timeout
            +-- Unreachable           unreachable
            +-- BrokenStream          broken_stream
            +-- EmptyStream           empty_stream
            +-- BadResponse           bad_response

`str(error)` says what happened and what to do. It never holds what the endpoint wrote, nor the
key: both may be secret.
"""

import math
from typing import ClassVar

from agents.core.ports import ModelError


class EndpointError(ModelError):
    """The endpoint, or the way to it, failed. `retry_after`: seconds it asked us to wait."""

    message: ClassVar[str] = "The model endpoint failed."

    def __init__(self, message: str = "", *, retry_after: float | None = None) -> None:
        super().__init__(message or self.message)
        self.retry_after = retry_after


# -- the person must act --------------------------------------------------------------------------


class SettingsError(EndpointError):
    """Trying again cannot help until somebody changes a setting."""


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

    def __init__(self, error: EndpointError, wait: float) -> None:
        seconds = "a second" if wait <= 1 else f"{math.ceil(wait)} seconds"
        super().__init__(
            f"{error} Not tried again: the next try would have to wait {seconds}, "
            "longer than this run has left.",
            retry_after=error.retry_after,
        )
        self.code = error.code


# -- trying again may help ------------------------------------------------------------------------


class PassingError(EndpointError):
    retryable = True


class RateLimited(PassingError):
    code = "rate_limited"
    message = (
        "The model endpoint gets too many requests at the moment. "
        "Wait a little, then try again, or use another model."
    )


class Overloaded(PassingError):
    code = "overloaded"
    message = (
        "The model endpoint failed or is overloaded. Try again in a while, or use another model."
    )


class TimedOut(PassingError):
    code = "timeout"
    message = "The model endpoint did not answer in time. Try again, or use another model."


class Unreachable(PassingError):
    code = "unreachable"
    message = (
        "The model endpoint cannot be reached. "
        "Check that it is running, the base URL, and the network."
    )


class BrokenStream(PassingError):
    code = "broken_stream"
    message = (
        "The connection to the model broke before the answer was complete. "
        "What arrived is kept; continue or ask again."
    )


class EmptyStream(PassingError):
    code = "empty_stream"
    message = (
        "The model endpoint closed the answer without writing anything. "
        "Try again; if it persists, the endpoint may not support streaming with tools."
    )


class BadResponse(PassingError):
    code = "bad_response"
    message = (
        "The model endpoint sent an answer that cannot be read. "
        "Try again; if it persists, check that it is OpenAI-compatible."
    )
