"""The behaviours that come with Oracle."""

import pytest

from agents.core.behaviours import BehaviourVocabulary, read_behaviour
from agents.core.behaviours.drawing import draw_behaviour
from agents.core.behaviours.shipped import BEHAVIOUR_NAMES, load_shipped_texts
from agents.core.decisions import TREES
from agents.tools import registry
from tests.support.timing import count_calls


@pytest.mark.parametrize("name", BEHAVIOUR_NAMES)
def test_every_shipped_behaviour_can_be_read_on_a_site(name: str) -> None:
    vocabulary = BehaviourVocabulary(tools=registry.list_parameters(), decision_trees=TREES.names())
    behaviour = read_behaviour(load_shipped_texts()[name], vocabulary)
    assert behaviour.name == name
    assert behaviour.description.endswith(".")


@pytest.mark.parametrize("name", BEHAVIOUR_NAMES)
def test_a_behaviour_is_read_in_few_calls_a_character(name: str) -> None:
    text = load_shipped_texts()[name]
    assert count_calls(lambda: read_behaviour(text)) < 10 * len(text)


def test_the_lines_of_a_drawing_show_what_is_in_what() -> None:
    behaviour = read_behaviour(
        '(tree "mine" :description "Tries." :decision-tree "quick" :blackboard-schema {:plan ""}\n'
        '  (selector (sequence (condition "turn.answered") (fail "No.")) (set :plan\n  "x"))'
        ' :finally (notify "Over."))'
    )
    assert list(draw_behaviour(behaviour)) == [
        "mine: Tries.",
        "decision tree: quick",
        ":plan is a text",
        "",
        "   1  selector",
        "   2  ├─ sequence",
        '   3  │  ├─ condition "turn.answered"',
        '   4  │  └─ fail "No."',
        '   5  └─ set :plan "x"',
        "finally",
        '   6  notify "Over."',
    ]
