"""`manage.py projects`, as whoever runs the server uses it."""

import pytest
from django.core.management import CommandError, call_command

from agents.models import Membership, Project
from agents.projects.queries import Role, get_role
from tests.agents.management.test_commands import said
from tests.agents.projects.people import Team, person

pytestmark = pytest.mark.django_db
Output = pytest.CaptureFixture[str]


def test_a_project_is_created_renamed_archived_deleted_and_restored(capsys: Output) -> None:
    person("ada")
    assert (
        said(capsys, "projects", "create", "Our loom") == "our-loom  Our loom  open  ada (owner)\n"
    )
    said(capsys, "projects", "rename", "our-loom", "Wheel")
    assert "our-loom  Wheel  archived" in said(capsys, "projects", "archive", "our-loom")
    assert "open" in said(capsys, "projects", "unarchive", "our-loom")
    said(capsys, "projects", "delete", "our-loom")
    assert said(capsys, "projects", "list") == ""
    assert "our-loom  Wheel  deleted" in said(capsys, "projects", "list", "--deleted")
    said(capsys, "projects", "restore", "our-loom")
    assert "our-loom  Wheel  open" in said(capsys, "projects", "list")


def test_people_are_let_in_get_another_role_and_are_removed(capsys: Output) -> None:
    team = Team()
    said(capsys, "projects", "add-member", "engine", "eve", "--role", "reader")
    assert get_role(team.eve, team.project) == Role.READER
    said(capsys, "projects", "add-member", "engine", "eve", "--role", "owner")
    assert get_role(team.eve, team.project) == Role.OWNER
    assert "eve" not in said(capsys, "projects", "remove-member", "engine", "eve")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["archive", "nothing"], "There is no project 'nothing'"),
        (["archive", "\0"], "There is no project"),
        (["restore", "engine"], "There is no deleted project 'engine'"),
        (["rename", "engine", "\x1b"], "Give the project a name"),
        (["create", "x", "--user", "nobody"], "There is no user 'nobody'"),
        (["remove-member", "engine", "ada"], "needs an owner"),
        (["remove-member", "engine", "eve"], "no such member"),
    ],
)
def test_what_cannot_be_done_is_refused_in_words(arguments: list[str], words: str) -> None:
    Team()
    with pytest.raises(CommandError, match=words):
        call_command("projects", *arguments)
    assert (Project.objects.get().name, Membership.objects.count()) == ("Engine", 3)
