"""What the editor of rules and that of behaviours promise alike."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache

from agents.web.throttling import MAX_PER_MINUTE, check_rate
from chat.api.behaviour_schemas import EXAMPLE as BEHAVIOUR
from settings_ui.views.rules import STARTER as RULE
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.parametrize(("kind", "text"), [("rules", RULE), ("behaviours", BEHAVIOUR)]),
]


@pytest.fixture(autouse=True)
def counts_of_its_own() -> Iterator[None]:
    """People of other tests have the same keys."""
    cache.clear()
    yield
    cache.clear()


def post(user: User, path: str, *, htmx: bool = False, **given: Any) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    return browser(user).post(f"/settings/{path}", given, secure=True, headers=headers)


def test_checks_have_a_rate_and_what_is_over_it_is_said(kind: str, text: str) -> None:
    ada, bob = make_ada(), User.objects.create_user("bob")
    most = MAX_PER_MINUTE["check"]
    for _ in range(most - 1):
        check_rate(ada, "check")
    allowed = post(ada, f"{kind}/check/", htmx=True, text=text)
    assert (allowed.status_code, "No problems." in allowed.content.decode()) == (200, True)
    refused = post(ada, f"{kind}/check/", htmx=True, text=text)
    assert refused.status_code == 422  # which is shown
    said = f"Not checked: That was more than {most} times in a minute. Wait a little."
    assert said in Page(refused.content.decode()).text()
    assert "No problems." not in refused.content.decode()
    assert post(bob, f"{kind}/check/", htmx=True, text=text).status_code == 200


def test_a_text_is_saved_also_when_there_were_too_many_checks(kind: str, text: str) -> None:
    ada = make_ada()
    for _ in range(MAX_PER_MINUTE["check"]):
        check_rate(ada, "check")
    wrong = post(ada, f"{kind}/new/", text=text[:-3])
    assert (wrong.status_code, problems(wrong.content.decode())) == (422, [])
    assert "Line " in Page(wrong.content.decode()).text()
    assert post(ada, f"{kind}/new/", text=text).status_code == 302


def test_lines_that_end_in_two_characters_are_checked_as_they_are_stored(
    kind: str, text: str
) -> None:
    checked = post(make_ada(), f"{kind}/check/", htmx=True, text=text.replace("\n", "\r\n"))
    assert "No problems." in checked.content.decode()


def test_ten_megabytes_are_refused_and_the_next_text_is_read(kind: str, text: str) -> None:
    ada = make_ada()
    for path in ("new/", "check/", "try/"):
        refused = post(ada, f"{kind}/{path}", text=text + "#" * 10_000_000)
        assert refused.status_code in (400, 413)
        assert len(refused.content) < 20_000
    assert post(ada, f"{kind}/new/", text=text).status_code == 302
