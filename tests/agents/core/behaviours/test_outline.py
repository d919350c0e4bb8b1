"""A behaviour as plain values."""

import json

import pytest

from agents.core.behaviours import BehaviourVocabulary, read_behaviour
from agents.core.behaviours.outline import build_outline, parse_outline, serialize_outline
from agents.core.behaviours.shipped import BEHAVIOUR_NAMES, load_shipped_texts

OUTER = '(tree "outer" (sequence (subtree inner) (turn)) :finally (notify "Over."))'
INNER = '(tree "inner" (repeater :until-success (turn)))'


@pytest.mark.parametrize("name", BEHAVIOUR_NAMES)
def test_an_outline_has_all_nodes_and_is_read_as_it_was_stored(name: str) -> None:
    behaviour = read_behaviour(load_shipped_texts()[name])
    outline = build_outline(behaviour)
    assert [node.number for node in outline.nodes] == [node.number for node in behaviour.walk()]
    assert parse_outline(json.loads(json.dumps(serialize_outline(outline)))) == outline


def test_it_tells_what_is_of_another_behaviour_and_what_is_done_at_the_end() -> None:
    behaviour = read_behaviour(OUTER, BehaviourVocabulary(behaviours={"inner": INNER}))
    nodes = build_outline(behaviour).nodes
    assert [(node.depth, node.kind, node.within, node.is_cleanup) for node in nodes] == [
        (0, "sequence", "", False),
        (1, "subtree", "", False),
        (2, "repeater", "inner", False),
        (3, "turn", "inner", False),
        (1, "turn", "", False),
        (0, "notify", "", True),
    ]


def test_the_digest_covers_the_behaviours_that_are_named() -> None:
    texts = [INNER, INNER.replace("(turn)", "(turn :tools :none)")]
    digests = {
        read_behaviour(OUTER, BehaviourVocabulary(behaviours={"inner": text})).digest
        for text in texts
    }
    assert len(digests) == 2
