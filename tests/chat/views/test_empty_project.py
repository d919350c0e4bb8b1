"""What a new page says of a project that has nothing to ask about yet."""

import pytest

from agents.models import Membership
from tests.chat.factories import browser, member
from tests.support.notes import add_note

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize(
    ("role", "offered"), [("owner", True), ("member", True), ("reader", False)]
)
def test_those_who_may_write_are_offered_to_bring_in_notes(role: str, offered: bool) -> None:
    user, project = member("eve")
    Membership.objects.filter(user=user, project=project).update(role=role)
    html = browser(user).get("/new/").content.decode()
    assert (f"/library/{project.slug}/upload/" in html) is offered


def test_a_project_of_short_notes_is_not_said_to_have_none() -> None:
    user, project = member("eve")
    add_note(project, "plan.md", "We build a tide gauge.")
    html = browser(user).get("/new/").content.decode()
    assert "data-prompt=" not in html
    assert "There are no notes" not in html


def test_questions_are_suggested_where_there_are_notes() -> None:
    user, project = member("eve")
    add_note(project, "plan.md", "# Plan\n\n" + "We build a tide gauge. " * 40)
    html = browser(user).get("/new/").content.decode()
    assert "data-prompt=" in html
    assert "Upload notes" not in html
