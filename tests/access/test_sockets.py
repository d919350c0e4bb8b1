"""The socket of a page, opened by everybody: it shows and starts what they may."""

from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import AgentRun, Membership, Project
from agents.projects.members import remove_member
from agents.projects.queries import ARCHIVED_MESSAGE
from chat.close_codes import NOT_ALLOWED
from chat.routing import websocket_urlpatterns
from tests.chat.sockets import Site, signed_in, site
from tests.support.script import say

pytestmark = pytest.mark.django_db(transaction=True)
CASES = [
    ("owner", "open", True),
    ("member", "open", True),
    ("reader", "open", True),
    ("former", "open", False),
    ("outsider", "open", False),
    ("owner", "archived", True),
    ("owner", "deleted", False),
]
"""Who, in which state of the project, and whether a page may be open."""


def test_every_socket_is_classified() -> None:
    found = [str(each.pattern) for each in websocket_urlpatterns]
    assert found == ["ws/<uuid:project_id>/<uuid:conversation_id>/", ""], "and the last is nothing"


@sync_to_async
def let_in(project: Project, who: str, state: str) -> User:
    user = User.objects.create_user(who)
    if who in Membership.Role.values:
        Membership.objects.create(project=project, user=user, role=who)
    if who == "former":
        Membership.objects.create(project=project, user=user)
        remove_member(project, user, by=None)
    columns = {"archived": "archived_at", "deleted": "deleted_at"}
    if state in columns:
        Project.objects.filter(pk=project.pk).update(**{columns[state]: timezone.now()})
    return user


@pytest.mark.parametrize(("who", "state", "may"), CASES)
async def test_a_page_is_open_for_whoever_may(who: str, state: str, may: bool) -> None:
    async with site(then=say("It is so.")) as place:
        session = await signed_in(await let_in(place.project, who, state))
        page = await place.socket(session=session)
        if not may:
            assert (page.code or await page.closed()) == NOT_ALLOWED
            return
        if state == "archived":
            await page.says("submit", question="Why?", client_message_id=uuid4().hex)
            assert await page.read_sentence() == ARCHIVED_MESSAGE
            assert not await AgentRun.objects.aexists()
        else:
            await place.started(page)


@pytest.mark.parametrize("who", ["owner", "member", "reader", "outsider"])
async def test_nobody_elses_conversation_is_shown_or_changed(who: str) -> None:
    async with site(then=say("It is so.")) as place:
        asked = await place.asked()
        session = await signed_in(await let_in(place.project, who, "open"))
        page = await place.socket(asked.conversation_key, session=session)
        assert (page.code or await page.closed()) == NOT_ALLOWED
        assert "It is so." not in "".join(page.frames)
        assert await count_runs(place) == 1


@sync_to_async
def count_runs(place: Site) -> int:
    return AgentRun.objects.filter(project=place.project).count()
