"""The whole tree, as the panel lists it."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import AgentRun
from chat.conversations import tree
from chat.conversations.outline import build_outline
from tests.chat.factories import Talk, grown

pytestmark = pytest.mark.django_db


def test_the_outline_shows_forks_labels_versions_and_where_one_is() -> None:
    talk = Talk("Root?")
    one = talk.ask("One?")
    leaf = talk.ask("Leaf?")
    two = talk.edit(one, "Two?")
    tree.set_label(two, "the other way")
    tree.set_checkpoint(leaf, True)
    AgentRun.objects.filter(pk=two.run_id).update(outcome=None)
    items = build_outline(talk.now)
    assert [(i.name, i.depth, f"{i.number}/{i.total}") for i in items] == [
        ("Root?", 0, "1/1"),
        ("One?", 1, "1/2"),
        ("Leaf?", 1, "1/1"),
        ("the other way", 1, "2/2"),
    ]
    assert [i.id for i in items] == [talk.first.pk, one.pk, leaf.pk, two.pk]
    assert [i.is_on_path for i in items] == [True, False, False, True]
    assert [i.is_head for i in items] == [False, False, False, True]
    assert [i.checkpoint for i in items] == [False, False, True, False]
    assert [i.outcome for i in items] == ["completed", "completed", "completed", None]


def test_a_pruned_exchange_is_not_in_the_outline() -> None:
    talk = Talk()
    one = talk.ask()
    talk.edit(one)
    tree.prune(talk.now)
    assert one.pk not in [item.id for item in build_outline(talk.now)]


def test_a_long_conversation_is_outlined_in_one_query_without_a_staircase() -> None:
    talk = Talk()
    grown(talk, 300)
    conversation = talk.now
    with CaptureQueriesContext(connection) as queries:
        items = build_outline(conversation)
    assert len(queries) == 1
    assert len(items) == 300
    assert {item.depth for item in items} == {0}
    assert all(item.is_on_path for item in items)
