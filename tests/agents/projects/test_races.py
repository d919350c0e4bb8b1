"""What two people do to a project at the same time."""

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest
from django.contrib.auth.models import User
from django.db import connection, transaction

from agents.models import Membership
from agents.projects import invitations, members
from agents.projects.errors import ProjectError, ProjectRefused
from agents.projects.queries import Role, check_can_ask, hold_write_access
from agents.projects.services import archive_project
from tests.agents.projects.people import Team
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


def together(*acts: Callable[[], object]) -> list[str]:
    """Do things at the same time; return what each was refused with, or nothing."""
    barrier, refusals = threading.Barrier(len(acts)), [""] * len(acts)

    def do(number: int) -> None:
        try:
            barrier.wait(PATIENCE)
            acts[number]()
        except ProjectError as error:
            refusals[number] = str(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=do, args=[number]) for number in range(len(acts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    return refusals


def test_of_two_who_take_one_link_at_once_one_is_in() -> None:
    team = Team()
    fay = User.objects.create_user("fay")
    _, token = invitations.create_invitation(team.project, Role.READER, by=team.ada)
    refusals = together(
        lambda: invitations.accept_invitation(token, team.eve),
        lambda: invitations.accept_invitation(token, fay),
    )
    assert sorted(refusals) == ["", invitations.SPENT_MESSAGE]
    assert Membership.objects.filter(user__in=[team.eve, fay]).count() == 1


def test_of_two_owners_who_leave_at_once_one_stays() -> None:
    team = Team()
    members.change_role(team.project, team.bob, Role.OWNER, by=team.ada)
    refusals = together(
        lambda: members.remove_member(team.project, team.ada, by=team.ada),
        lambda: members.remove_member(team.project, team.bob, by=team.bob),
    )
    assert sorted(refusals) == ["", members.LAST_OWNER_MESSAGE]
    assert Membership.objects.filter(project=team.project, role=Role.OWNER).count() == 1


def test_who_waited_for_an_archiving_neither_writes_nor_asks() -> None:
    team = Team()
    allowed: list[bool] = []

    def write() -> None:
        with transaction.atomic():
            allowed.append(hold_write_access(team.bob.pk, team.project.pk))
        connection.close()

    def ask() -> None:
        with suppress(ProjectRefused), transaction.atomic():
            check_can_ask(team.bob, team.project.pk)
            allowed.append(True)
        connection.close()

    waiting = [threading.Thread(target=work) for work in (write, ask)]
    with transaction.atomic():
        archive_project(team.project, by=team.ada)
        for thread in waiting:
            thread.start()
            thread.join(0.2)
            assert thread.is_alive()
    for thread in waiting:
        thread.join(PATIENCE)
    assert allowed == [False]
