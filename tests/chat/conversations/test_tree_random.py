"""Whatever people do to a conversation, in whatever order, its tree stays whole."""

from uuid import UUID, uuid4

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chat.conversations import tree
from chat.models import Conversation, Exchange
from chat.services import ask
from tests.chat.factories import Talk, started

pytestmark = pytest.mark.django_db

OPERATIONS = (
    "ask", "branch", "edit", "regenerate", "checkout", "switch", "mark", "unmark",
    "prune", "prune below", "undo", "undo older",
)  # fmt: skip
Step = tuple[str, int]


class Doing:
    """A conversation that things are done to. `which` picks one of the kept exchanges."""

    def __init__(self) -> None:
        self.talk = Talk(name=uuid4().hex)
        self.asked = 1
        self.prunings: list[tree.PruneResult] = []

    def do(self, operation: str, which: int) -> None:
        kept = list(Exchange.objects.filter(conversation=self.talk.id))
        chosen = kept[which % len(kept)]
        now = self.talk.now
        match operation:
            case "ask":
                self.talk.ask()
            case "branch":
                self.talk.ask(under=chosen)
            case "edit":
                self.talk.edit(chosen)
            case "regenerate":
                started(ask.regenerate(self.talk.user, chosen.pk))
            case "checkout":
                assert tree.checkout(now, chosen.pk) == self.talk.head == chosen.pk
            case "switch":
                assert tree.switch(now, chosen.pk) == self.talk.head
            case "mark" | "unmark":
                tree.set_checkpoint(chosen, operation == "mark")
            case "prune":
                self.prunings.append(tree.prune(now))
            case "prune below":
                self.prunings.append(tree.prune(now, chosen.pk))
            case "undo" if self.prunings:
                last = self.prunings.pop()
                assert tree.undo_prune(now, last.at) == len(last.exchanges)
            case "undo older" if self.prunings:
                tree.undo_prune(now, self.prunings[0].at)
                self.prunings = []
        self.asked += operation in ("ask", "branch", "edit", "regenerate")


def check(talk: Talk, asked: int) -> None:
    everything = {e.pk: e for e in Exchange.all_objects.filter(conversation=talk.id)}
    kept = {pk: e for pk, e in everything.items() if e.pruned_at is None}
    assert len(everything) == asked, "nothing is ever lost"
    now, path = talk.now, talk.path()
    assert now.head_id in kept
    for pk, exchange in everything.items():
        if pk in kept:
            assert exchange.parent_id is None or exchange.parent_id in kept
        else:
            assert exchange.parent_id is not None
            assert not exchange.checkpoint
    assert path == tree.load_shape(now).path(now.head_id)
    assert set(path) <= set(kept)
    check_positions(kept)


def check_positions(kept: dict[UUID, Exchange]) -> None:
    places = tree.get_positions(kept.values())
    for pk, exchange in kept.items():
        place, family = places[exchange.pk], list(tree.siblings(exchange))
        assert family[place.number - 1].pk == pk
        assert place.total == len(family)
        if place.next is not None:
            assert places[place.next].previous == pk
            assert places[place.next].number == place.number + 1
        else:
            assert place.number == place.total


@settings(max_examples=settings().max_examples // 2, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.tuples(st.sampled_from(OPERATIONS), st.integers(0, 30)), max_size=14))
def test_a_tree_stays_whole(steps: list[Step]) -> None:
    doing = Doing()
    for operation, which in steps:
        doing.do(operation, which)
        check(doing.talk, doing.asked)
    assert Conversation.objects.filter(pk=doing.talk.id).exists()
