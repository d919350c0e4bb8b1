"""What the log is not told, whatever is answered."""

import io
import logging

import pytest
from django.contrib.auth.models import User
from django.test import Client

from agents.projects import invitations
from agents.projects.queries import Role
from chat.accounts.links import build_sign_in_link
from oracle_site.log_filters import HideLinksFilter
from tests.agents.projects.people import Team

pytestmark = pytest.mark.django_db
HTTPS = {"X-Forwarded-Proto": "https"}


@pytest.fixture
def log(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """Return what the site's own handler writes."""
    written = io.StringIO()
    console = next(one for one in logging.getLogger().handlers if one.name == "console")
    monkeypatch.setattr(console, "stream", written)
    return written


def test_the_secret_of_a_link_that_still_works_is_not_logged(log: io.StringIO) -> None:
    team = Team()
    token = invitations.create_invitation(team.project, Role.READER, by=team.ada)[1]
    client = Client(enforce_csrf_checks=True, headers=HTTPS)
    assert client.post(f"/invite/{token}/").status_code == 403
    assert Client(headers=HTTPS).post(f"/invite/{token}/", {"username": "nia"}).status_code == 422
    assert log.getvalue().count("/invite/[hidden]/") == 2
    assert token not in log.getvalue()


def test_nor_is_that_of_a_link_that_signs_in(log: io.StringIO) -> None:
    link = build_sign_in_link(User.objects.create_user("nia"), "")
    token = link.split("/")[-2]
    assert Client(headers=HTTPS).post(link).status_code == 405
    assert "[hidden]" in log.getvalue()
    assert token not in log.getvalue()


def test_a_refusal_is_one_line_with_its_address(log: io.StringIO) -> None:
    client = Client(headers=HTTPS)
    client.force_login(User.objects.create_user("nia"))
    assert client.get("/admin/").status_code == 403
    assert client.get("/admin/agents/agentrun/").status_code == 403
    written = log.getvalue().splitlines()
    assert [line.partition("django.request: ")[2] for line in written] == [
        "Forbidden (Permission denied): /admin/",
        "Forbidden (Permission denied): /admin/agents/agentrun/",
    ]


def test_an_error_of_ours_keeps_its_traceback(log: io.StringIO) -> None:
    try:
        raise ZeroDivisionError
    except ZeroDivisionError:
        logging.getLogger("django.request").exception("Internal Server Error: /")
    assert "Traceback" in log.getvalue()


def test_other_addresses_are_logged_as_they_are(log: io.StringIO) -> None:
    assert Client(headers=HTTPS).get("/p/nothing-here/sign-in/").status_code == 404
    assert "/p/nothing-here/sign-in/" in log.getvalue()


def test_a_line_whose_arguments_do_not_fit_breaks_nobody() -> None:
    record = logging.LogRecord("x", logging.INFO, "", 0, "%d of %d", ("one",), None)
    assert HideLinksFilter().filter(record)
