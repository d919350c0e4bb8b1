"""Who wants a call held, and what a person is asked."""

import pytest

from agents.core.loop.holds import AskMode, CallHolds, choose_strictest
from agents.core.loop.tool_plan import PlannedCall


def planned(name: str, call_id: str = "c1") -> PlannedCall:
    return PlannedCall(0, call_id, name, {}, name)


@pytest.mark.parametrize(
    ("mode", "has_consent", "is_held"),
    [
        ("never", False, False),
        ("once", False, True),
        ("once", True, False),
        ("always", False, True),
        ("always", True, True),
    ],
)
def test_a_tool_asks_as_its_mode_says(mode: AskMode, has_consent: bool, is_held: bool) -> None:
    holds = CallHolds({"write": mode}, has_consent=has_consent)
    assert holds.must_hold(planned("write")) is is_held
    assert not holds.must_hold(planned("look"))


def test_what_a_rule_holds_no_earlier_yes_lets_go() -> None:
    holds = CallHolds(has_consent=True)
    holds.hold_for_rule("c1", "Too many.")
    assert holds.must_hold(planned("write"))
    assert not holds.must_hold(planned("write", "c2"))


def test_of_several_wishes_the_strictest_holds() -> None:
    assert choose_strictest("once", "never") == "once"
    assert choose_strictest("never", "always", "once") == "always"


def test_the_question_has_the_words_of_each_rule_once() -> None:
    holds = CallHolds({"write": "always"})
    holds.calls = [planned("write", call_id) for call_id in ("c1", "c2", "c3")]
    assert (holds.asker, holds.question) == ("tool", "May I run these 3 calls?")
    for call_id in ("c1", "c3"):
        holds.hold_for_rule(call_id, "Too many.")
    assert (holds.asker, holds.question) == ("rule", "Too many.\nMay I run these 3 calls?")
