"""Which conversations are somebody's, their list, titles, and deleting with undo."""

from uuid import uuid4

import pytest

from agents.models import AgentRun, Membership
from chat.conversations import commands, queries
from chat.errors import NotFoundForUser
from chat.models import Conversation
from chat.services import ask
from tests.chat.factories import Talk, member, started

pytestmark = pytest.mark.django_db


def listed(talk: Talk, *, most: int = 50) -> list[str]:
    return [c.title for c in queries.list_recent(talk.user, most)]


def another(talk: Talk, question: str) -> Conversation:
    return started(ask.start_conversation(talk.user, talk.project.pk, question)).conversation


def test_the_list_is_newest_first_and_a_new_question_brings_to_the_top() -> None:
    talk = Talk("First one?")
    another(talk, "Second one?")
    assert listed(talk) == ["Second one?", "First one?"]
    talk.ask()
    assert listed(talk) == ["First one?", "Second one?"]


def test_the_list_comes_in_pages_without_gaps_also_where_times_are_equal() -> None:
    talk = Talk("0?")
    for n in range(1, 9):
        another(talk, f"{n}?")
    Conversation.objects.update(updated_at=talk.now.created_at)
    seen, before = [], None
    while page := list(queries.list_recent(talk.user, 4, before)):
        seen += [c.pk for c in page]
        before = (page[-1].updated_at, page[-1].pk)
    assert sorted(seen) == sorted(Conversation.objects.values_list("pk", flat=True))


def test_the_list_says_which_are_running() -> None:
    talk = Talk("Idle?")
    busy = another(talk, "Busy?")
    AgentRun.objects.filter(conversation_key=busy.pk).update(outcome=None)
    assert {c.title: c.running for c in queries.list_recent(talk.user)} == {  # type: ignore[attr-defined]
        "Idle?": False,
        "Busy?": True,
    }


def test_only_one_s_own_conversations_in_one_s_projects_are_there() -> None:
    talk = Talk()
    bob, _ = member("bob", talk.project)
    assert list(queries.for_user(bob)) == []
    for pk in (talk.id, uuid4()):
        with pytest.raises(NotFoundForUser, match="no such conversation"):
            queries.get(bob, pk)
    assert queries.get(talk.user, talk.id).pk == talk.id
    Membership.objects.filter(user=talk.user).delete()
    with pytest.raises(NotFoundForUser, match="no longer in the project"):
        queries.get(talk.user, talk.id)
    with pytest.raises(NotFoundForUser, match="no longer in the project"):
        queries.get_exchange(talk.user, talk.first.pk, conversation_id=talk.id)
    with pytest.raises(NotFoundForUser, match="no such conversation"):
        queries.get(bob, talk.id)
    assert listed(talk) == []


def test_an_exchange_is_found_by_its_id_and_by_that_of_its_run() -> None:
    talk = Talk()
    assert queries.get_exchange(talk.user, talk.first.pk) == talk.first
    assert queries.get_exchange(talk.user, talk.first.run_id) == talk.first
    with pytest.raises(NotFoundForUser, match="no such exchange"):
        queries.get_exchange(talk.user, uuid4())


def test_a_title_is_kept_on_one_line_and_within_its_length() -> None:
    talk = Talk()
    assert commands.rename(talk.now, "  The\n tide\x00 ") == "The tide\ufffd"
    assert talk.now.title == "The tide\ufffd"
    assert len(commands.rename(talk.now, "x" * 999)) == 200


def test_an_empty_title_goes_back_to_the_first_question() -> None:
    talk = Talk("How high is the tide?")
    talk.ask("And now?")
    commands.rename(talk.now, "Mine")
    talk.ask("Still mine?")
    assert talk.now.title == "Mine"
    assert commands.rename(talk.now, "  ") == "How high is the tide?"


def test_a_deleted_conversation_is_gone_until_that_is_undone() -> None:
    talk = Talk()
    before = talk.now
    assert commands.delete(before) == []
    assert listed(talk) == []
    with pytest.raises(NotFoundForUser):
        queries.get(talk.user, talk.id)
    with pytest.raises(NotFoundForUser):
        queries.get_exchange(talk.user, talk.first.pk)
    assert commands.restore(talk.user, talk.id).pk == talk.id
    after = talk.now
    assert (after.head_id, after.updated_at) == (before.head_id, before.updated_at)
    assert after.deleted_at is None


def test_nobody_restores_another_s_conversation() -> None:
    talk = Talk()
    bob, _ = member("bob", talk.project)
    commands.delete(talk.now)
    with pytest.raises(NotFoundForUser):
        commands.restore(bob, talk.id)
    assert listed(talk) == []
