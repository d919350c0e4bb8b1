"""Import lines that the documentation showed once still work, and say where the names went."""

import importlib

import pytest

from agents.core.decisions.protocol import decision_tree
from agents.core.decisions.trees.default import DefaultDecisionTree


@pytest.mark.parametrize(
    ("module", "name", "now", "place"),
    [
        ("agents.core.decision", "decision_tree", decision_tree, "decisions.protocol"),
        (
            "agents.core.trees.default",
            "DefaultTree",
            DefaultDecisionTree,
            "decisions.trees.default",
        ),
    ],
)
def test_an_old_import_line_works_and_warns(
    module: str, name: str, now: object, place: str
) -> None:
    with pytest.warns(DeprecationWarning, match=place):
        assert getattr(importlib.import_module(module), name) is now


def test_a_name_that_never_was_is_missing_without_a_warning() -> None:
    with pytest.raises(AttributeError):
        _ = importlib.import_module("agents.core.decision").nothing
