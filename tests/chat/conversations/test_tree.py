"""The tree in the database: what asking, editing, moving and pruning leave behind."""

from uuid import UUID, uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from agents.models import AgentRun
from chat.conversations import commands, tree
from chat.conversations.tree import Position
from chat.errors import InvalidAction, NotFoundForUser
from chat.models import Conversation, Exchange
from tests.chat.factories import Talk, grown
from tests.support.timing import measure_multiple

pytestmark = pytest.mark.django_db


def test_a_stretch_is_the_end_of_the_path_and_says_where_the_one_before_ends() -> None:
    talk = Talk()
    rest = [talk.ask(f"{n}?") for n in range(6)]
    whole = [talk.first.pk, *(e.pk for e in rest)]
    last = tree.get_path_segment(talk.head, 3)
    assert [e.pk for e in last.exchanges] == whole[4:]
    assert last.earlier == whole[3]
    middle = tree.get_path_segment(last.earlier, 3)
    assert [e.pk for e in middle.exchanges] == whole[1:4]
    first = tree.get_path_segment(middle.earlier, 3)
    assert [e.pk for e in first.exchanges] == whole[:1]
    assert first.earlier is None
    assert tree.get_path_segment(None) == tree.PathSegment([], None)


def test_a_stretch_brings_its_runs_along() -> None:
    talk = Talk()
    talk.ask("And then?")
    exchanges = tree.get_path_segment(talk.head).exchanges
    with CaptureQueriesContext(connection) as queries:
        assert [e.run.question for e in exchanges] == ["What is it?", "And then?"]
    assert len(queries) == 0


def opened(head: UUID) -> int:
    """What a page reads of a conversation, and a question of its past; how many exchanges."""
    found = tree.get_path_segment(head)
    tree.get_positions(found.exchanges)
    assert len(tree.run_ids_on_path(head, 30)) == 30
    return len(found.exchanges)


@pytest.mark.ci
def test_a_long_conversation_opens_with_the_queries_rows_and_time_of_a_short_one() -> None:
    short, long = Talk(name="ada"), Talk(name="bob")
    grown(short, 40)
    grown(long, 2_000)
    for head in (short.head, long.head):
        with CaptureQueriesContext(connection) as queries:
            assert opened(head) == 30
        assert len(queries) == 4
    multiple = measure_multiple(
        lambda: opened(long.head), lambda: opened(short.head), enough=1.5, tries=30
    )
    assert multiple <= 1.5


def test_siblings_know_their_place_and_their_neighbours() -> None:
    talk = Talk()
    one = talk.ask()
    two, three = talk.edit(one), talk.edit(one)
    places = tree.get_positions([talk.first, one, two, three])
    assert places[talk.first.pk] == Position(1, 1, None, None)
    assert places[one.pk] == Position(1, 3, None, two.pk)
    assert places[two.pk] == Position(2, 3, one.pk, three.pk)
    assert places[three.pk] == Position(3, 3, two.pk, None)
    assert list(tree.siblings(two)) == [one, two, three]
    assert list(tree.children(talk.first)) == [one, two, three]


def test_first_questions_are_siblings_within_their_conversation_only() -> None:
    talk, other = Talk(name="ada"), Talk(name="bob")
    again = talk.edit(talk.first, "What was it?")
    assert tree.get_positions([again])[again.pk] == Position(2, 2, talk.first.pk, None)
    assert tree.get_positions([other.first])[other.first.pk].total == 1


def test_an_exchange_that_was_pruned_meanwhile_has_no_place() -> None:
    talk = Talk()
    one = talk.ask()
    two = talk.edit(one)
    tree.prune(talk.now)
    assert tree.get_positions([one, two]) == {two.pk: Position(1, 1, None, None)}


def test_checking_out_moves_head_to_that_very_exchange() -> None:
    talk = Talk()
    talk.ask()
    tree.checkout(talk.now, talk.first.pk)
    assert talk.head == talk.first.pk


def test_switching_to_a_version_moves_head_to_where_it_went_on_last() -> None:
    talk = Talk()
    one = talk.ask("one")
    deeper = talk.ask("deeper")
    newest = talk.ask("newest", under=one)
    two = talk.edit(one)
    assert talk.head == two.pk
    tree.switch(talk.now, one.pk)
    assert talk.head == newest.pk
    tree.switch(talk.now, deeper.pk)
    assert talk.head == deeper.pk


def test_head_moves_only_within_its_conversation() -> None:
    talk, other = Talk(name="ada"), Talk(name="bob")
    for move in (tree.checkout, tree.switch):
        for stranger in (other.first.pk, uuid4()):
            with pytest.raises(NotFoundForUser, match="no such exchange"):
                move(talk.now, stranger)
    assert talk.head == talk.first.pk


def test_an_exchange_hangs_only_under_one_of_its_own_conversation() -> None:
    talk, other = Talk(name="ada"), Talk(name="bob")
    run = AgentRun.objects.create(
        user=talk.user, project=talk.project, question="?", conversation_key=talk.id, config={}
    )
    with pytest.raises(NotFoundForUser, match="no such exchange"):
        tree.add_exchange(talk.now, other.first.pk, run)
    with pytest.raises(ValueError, match="is not of conversation"):
        tree.add_exchange(other.now, other.first.pk, run)
    run.user = other.user
    with pytest.raises(ValueError, match="is not of conversation"):
        tree.add_exchange(talk.now, talk.first.pk, run)
    assert Exchange.objects.count() == 2


def test_a_label_is_kept_on_one_line_and_within_its_length() -> None:
    talk = Talk()
    assert tree.set_label(talk.first, " the\nstart\x00 ") == "the start\ufffd"
    assert len(tree.set_label(talk.first, "x" * 500)) == 200
    tree.set_label(talk.first, "")
    talk.first.refresh_from_db()
    assert talk.first.label == ""


def test_pruning_takes_side_branches_and_undo_brings_them_back() -> None:
    talk = Talk()
    one = talk.ask()
    below = talk.ask()
    talk.edit(one)
    assert tree.find_prunable(talk.now) == [one.pk, below.pk]
    pruned = tree.prune(talk.now)
    assert pruned.exchanges == (one.pk, below.pk)
    assert Exchange.objects.count() == 2
    assert tree.undo_prune(talk.now, pruned.at) == 2
    assert Exchange.objects.count() == 4


def test_pruning_keeps_checkpoints_running_ones_and_what_is_above_them() -> None:
    talk = Talk()
    one = talk.ask()
    marked = talk.ask("marked")
    beside = talk.ask("beside", under=one)
    running = talk.ask("running", under=one)
    talk.edit(one)
    AgentRun.objects.filter(pk=running.run_id).update(outcome=None)
    tree.set_checkpoint(marked, True)
    assert tree.prune(talk.now).exchanges == (beside.pk,)
    tree.set_checkpoint(marked, False)
    assert tree.prune(talk.now).exchanges == (marked.pk,)
    AgentRun.objects.filter(pk=running.run_id).update(outcome="completed")
    assert tree.prune(talk.now).exchanges == (one.pk, running.pk)


def test_pruning_below_an_exchange_leaves_the_rest() -> None:
    talk = Talk()
    one = talk.ask()
    two = talk.edit(one)
    talk.edit(one)
    assert tree.prune(talk.now, two.pk).exchanges == (two.pk,)
    assert Exchange.objects.filter(pk=one.pk).exists()


def test_undoing_an_older_pruning_brings_back_what_its_exchanges_hang_under() -> None:
    talk = Talk()
    one = talk.ask()
    leaf = talk.ask()
    talk.edit(one)
    first = tree.prune(talk.now, leaf.pk)
    second = tree.prune(talk.now)
    assert (first.exchanges, second.exchanges) == ((leaf.pk,), (one.pk,))
    tree.undo_prune(talk.now, first.at)
    assert Exchange.objects.count() == 4


def test_undo_leaves_what_was_pruned_before() -> None:
    talk = Talk()
    one = talk.ask()
    leaf = talk.ask()
    talk.edit(one)
    tree.prune(talk.now, leaf.pk)
    second = tree.prune(talk.now)
    assert tree.undo_prune(talk.now, second.at) == 1
    assert not Exchange.objects.filter(pk=leaf.pk).exists()


def test_nothing_can_be_done_with_a_pruned_exchange() -> None:
    talk = Talk()
    one = talk.ask()
    talk.edit(one)
    tree.prune(talk.now)
    for act in (
        lambda: tree.checkout(talk.now, one.pk),
        lambda: tree.switch(talk.now, one.pk),
        lambda: tree.prune(talk.now, one.pk),
        lambda: tree.set_checkpoint(one, True),
        lambda: talk.ask(under=one),
    ):
        with pytest.raises(InvalidAction, match="was pruned"):
            act()


def test_a_deleted_conversation_cannot_be_changed() -> None:
    talk = Talk()
    before = talk.now
    commands.delete(before)
    with pytest.raises(NotFoundForUser):
        tree.checkout(before, talk.first.pk)
    assert Conversation.all_objects.get().head_id == talk.first.pk
