"""Pages while the database cannot be used: what they say, and what the log has of it."""

import logging

import pytest
from django.contrib.auth.models import User
from django.contrib.sessions.middleware import SessionMiddleware
from django.db import OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import AsyncClient, Client
from django.urls import path

from oracle_site.log_filters import SuppressTracebackFilter
from oracle_site.urls import handler500  # noqa: F401  # what a list of addresses answers with
from oracle_site.urls import urlpatterns as site_urls
from tests.support.pages import Page, problems

PASSWORD = "a harbour in november"


def write(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA query_only = 1")
        try:
            User.objects.create_user("eve")
        finally:
            cursor.execute("PRAGMA query_only = 0")
    return HttpResponse()


def wrong(request: HttpRequest) -> HttpResponse:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM nothing")
    return HttpResponse()


urlpatterns = [*site_urls, path("write", write), path("wrong", wrong)]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.urls("tests.oracle_site.test_error_views"),
    pytest.mark.skipif(connection.vendor != "sqlite", reason="a switch of SQLite's"),
]


def test_a_page_that_cannot_write_says_what_is_the_matter(caplog: pytest.LogCaptureFixture) -> None:
    response = Client(raise_request_exception=False).get("/write", secure=True)
    assert (response.status_code, response["Retry-After"]) == (503, "5")
    html = response.content.decode()
    assert problems(html) == []
    assert "The database is read-only." in Page(html).text()
    (record,) = [each for each in caplog.records if each.levelno >= logging.WARNING]
    assert record.exc_info is None
    assert "GET /write could not be answered: The database is read-only." in record.getMessage()


async def test_the_same_under_asgi(caplog: pytest.LogCaptureFixture) -> None:
    response = await AsyncClient(raise_request_exception=False).get("/write", secure=True)
    assert response.status_code == 503
    assert not any(record.exc_info for record in caplog.records)


def test_a_part_of_a_page_is_told_in_a_sentence() -> None:
    client = Client(raise_request_exception=False, headers={"hx-request": "true"})
    response = client.get("/write", secure=True)
    assert response.status_code == 503
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content == b"The database is read-only. Try again later."


def test_a_mistake_of_ours_is_still_one(caplog: pytest.LogCaptureFixture) -> None:
    response = Client(raise_request_exception=False).get("/wrong", secure=True)
    assert response.status_code == 500
    assert any(record.exc_info for record in caplog.records)


def test_a_failed_sign_in_that_cannot_be_counted_signs_nobody_in(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    User.objects.create_user("ada", password=PASSWORD)

    def fail(self: object) -> bool:
        raise OperationalError("database or disk is full")

    monkeypatch.setattr("chat.accounts.login_throttle.SignInAttempts.register", fail)
    client = Client(raise_request_exception=False)
    answer = client.post("/sign-in/", {"username": "ada", "password": PASSWORD}, secure=True)
    assert answer.status_code == 503
    assert "sessionid" not in client.cookies


def test_suspicious_requests_are_a_line_in_the_log() -> None:
    try:
        raise ValueError
    except ValueError as error:
        info = type(error), error, error.__traceback__
    name = "django.security.TooManyFieldsSent"
    record = logging.LogRecord(name, logging.ERROR, "x.py", 1, "Too many", (), info)
    ours = logging.LogRecord("chat", logging.ERROR, "x.py", 1, "Broken", (), info)
    assert SuppressTracebackFilter().filter(record)
    assert SuppressTracebackFilter().filter(ours)
    assert (record.exc_info, ours.exc_info) == (None, info)


def test_a_part_of_a_page_gets_a_sentence_also_before_htmx_was_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Sessions are read by an earlier middleware."""

    def fail(*args: object) -> None:
        raise OperationalError("away")

    monkeypatch.setattr(SessionMiddleware, "process_request", fail)
    response = Client(raise_request_exception=False).get(
        "/write", secure=True, headers={"HX-Request": "true"}
    )
    assert response.status_code == 503
    assert response["Content-Type"].startswith("text/plain")
