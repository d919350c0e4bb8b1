"""What a behaviour holds a turn to."""

from agents.core.behaviours.run_interface import PLAIN_TURN, TurnOrder
from agents.core.loop.turn_limits import TurnLimits
from tests.support.tools import FakeTools, returns


def limits_of(order: TurnOrder) -> TurnLimits:
    limits = TurnLimits(FakeTools({"look": returns("a"), "save": returns("b", writes=True)}))
    limits.apply(order)
    return limits


def test_a_turn_without_wishes_withholds_nothing() -> None:
    assert limits_of(PLAIN_TURN).withheld == frozenset()
    assert limits_of(TurnOrder(tools="all")).withheld == frozenset()


def test_tools_are_a_part_of_what_the_run_has() -> None:
    assert limits_of(TurnOrder(tools="reading")).withheld == {"save"}
    assert limits_of(TurnOrder(tools="none")).withheld == {"look", "save"}
    assert limits_of(TurnOrder(tools=("save", "other"))).withheld == {"look"}


def test_subagents_write_nothing_where_only_reading_is_wanted() -> None:
    rules = {"look"}
    forbidden = limits_of(TurnOrder(tools="reading")).forbid(rules)
    assert forbidden == {"look", "save"}
    rules.add("more")  # a rule that takes something away while a subagent is at work
    assert "more" in forbidden
    assert limits_of(TurnOrder(tools=("delegate_librarian",))).forbid(rules) is rules
