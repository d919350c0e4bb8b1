"""What the database itself holds to."""

import pytest
from django.db import IntegrityError, connection, transaction
from django.db.models import RestrictedError
from django.utils import timezone

from agents import context_messages
from agents.audit.erasure import erase
from agents.models import AgentRun
from chat.conversations import queries
from chat.models import Conversation, Exchange
from tests.chat.factories import Talk, grown

pytestmark = pytest.mark.django_db


def test_a_first_exchange_cannot_be_pruned() -> None:
    talk = Talk()
    with pytest.raises(IntegrityError, match="first_ones_and_checkpoints"), transaction.atomic():
        Exchange.objects.filter(pk=talk.first.pk).update(pruned_at=timezone.now())


def test_a_checkpoint_cannot_be_pruned() -> None:
    later = Talk().ask()
    with pytest.raises(IntegrityError, match="first_ones_and_checkpoints"), transaction.atomic():
        Exchange.objects.filter(pk=later.pk).update(pruned_at=timezone.now(), checkpoint=True)


def test_no_exchange_is_its_own_parent() -> None:
    later = Talk().ask()
    with pytest.raises(IntegrityError, match="own_parent"), transaction.atomic():
        Exchange.objects.filter(pk=later.pk).update(parent=later.pk)


def test_a_run_has_one_exchange() -> None:
    talk = Talk()
    with pytest.raises(IntegrityError), transaction.atomic():
        Exchange.objects.create(conversation_id=talk.id, run=talk.first.run)


def test_deleted_conversations_and_pruned_exchanges_are_hidden_unless_asked_for() -> None:
    talk = Talk()
    later = talk.ask()
    Exchange.objects.filter(pk=later.pk).update(pruned_at=timezone.now())
    assert list(talk.now.exchanges.all()) == [talk.first]
    assert Exchange.all_objects.count() == 2
    Conversation.objects.filter(pk=talk.id).update(deleted_at=timezone.now())
    assert not Conversation.objects.exists()
    assert not talk.user.conversations.exists()
    assert Conversation.all_objects.count() == 1


def test_an_exchange_with_others_below_it_and_the_run_of_an_exchange_cannot_be_deleted() -> None:
    talk = Talk()
    talk.ask()
    with pytest.raises(RestrictedError):
        talk.first.delete()
    with pytest.raises(RestrictedError):
        talk.first.run.delete()


@pytest.mark.ci
def test_deleting_a_user_takes_a_long_conversation_along() -> None:
    talk = Talk()
    grown(talk, 1_500)
    talk.user.delete()
    assert not Conversation.all_objects.exists()
    assert not Exchange.all_objects.exists()
    assert not AgentRun.objects.exclude(user=None, question="", answer="").exists()
    assert AgentRun.objects.count() >= 1_500


def test_the_list_is_read_from_its_index() -> None:
    plan = queries.list_recent(Talk().user).explain()
    if connection.vendor == "sqlite":
        assert "newest_of_a_user" in plan
        assert "TEMP B-TREE" not in plan


def test_an_erased_conversation_has_lost_its_words_everywhere() -> None:
    talk = Talk()
    talk.ask("What of the rhubarb?")
    Conversation.objects.update(title="Rhubarb")
    Exchange.objects.update(label="rhubarb")
    runs = list(AgentRun.objects.values_list("pk", flat=True))
    erase(runs, why="retention")
    assert not Conversation.objects.exclude(title="").exists()
    assert not Exchange.objects.exclude(label="").exists()
    assert context_messages.build_messages(runs) == []
