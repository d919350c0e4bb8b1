"""Each exception has one answer: a status, where to look, and a word for programs."""

import pytest
from django.core.exceptions import DisallowedHost, ValidationError
from django.db import OperationalError

from agents.code.service import CodeUnavailable
from agents.projects.errors import InvalidName, ProjectForbidden, ProjectNotFound, ProjectRefused
from agents.runtime import ConversationBusy, RunRefused, TooManyRuns
from agents.stored_texts import TextLocked, TextNotFound, TextRefused
from agents.vault.errors import ThreadArchived, ThreadNameRefused, ThreadRefused
from agents.web.throttling import Throttled
from chat.api.errors import Location, error_for
from chat.errors import InvalidAction, NotFoundForUser

HERE: Location = ("path", "run_id")


@pytest.mark.parametrize(
    ("error", "status", "loc", "word"),
    [
        (NotFoundForUser("It is gone."), 404, HERE, "not_found"),
        (ProjectNotFound("It is gone."), 404, HERE, "not_found"),
        (TextNotFound("It is gone."), 404, HERE, "not_found"),
        (ThreadNameRefused("No such name."), 404, HERE, "not_found"),
        (CodeUnavailable("No such file."), 404, ("query",), "not_found"),
        (ProjectForbidden("Not you."), 403, HERE, "forbidden"),
        (TextLocked("Not you."), 403, HERE, "forbidden"),
        (ThreadArchived("It is archived."), 409, HERE, "conflict"),
        (ThreadRefused("It is empty."), 422, ("body",), "value_error"),
        (InvalidName("It is taken."), 422, ("body", "name"), "value_error"),
        (InvalidAction("Not now."), 409, HERE, "conflict"),
        (ConversationBusy("Not now."), 409, HERE, "conflict"),
        (ProjectRefused("Not now."), 409, HERE, "conflict"),
        (TextRefused("Not so."), 409, ("body",), "conflict"),
        (ValidationError("Not so."), 422, ("body",), "value_error"),
        (Throttled("Too often."), 429, ("body",), "rate_limit"),
        (TooManyRuns("Too many."), 429, ("body",), "too_many_runs"),
        (RunRefused("It closes."), 503, (), "unavailable"),
        (DisallowedHost("evil.example"), 400, ("header", "host"), "host"),
        (OperationalError("locked"), 503, (), "unavailable"),
        (KeyError("secret"), 500, (), "server_error"),
    ],
)
def test_an_exception_is_answered_by_what_it_is(
    error: Exception, status: int, loc: Location, word: str
) -> None:
    answer = error_for(error, HERE)
    told = answer.details[0]
    assert (answer.status, told.loc, told.type) == (status, loc, word)


@pytest.mark.parametrize("error", [OperationalError("secret"), KeyError("secret")])
def test_what_went_wrong_inside_is_not_told(error: Exception) -> None:
    assert "secret" not in error_for(error, HERE).details[0].msg


@pytest.mark.parametrize("error", [Throttled("No."), TooManyRuns("No."), RunRefused("No.")])
def test_who_is_to_wait_is_told_how_long(error: Exception) -> None:
    assert int(error_for(error, HERE).headers["Retry-After"]) > 0
