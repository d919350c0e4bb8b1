"""Rules that packages bring."""

import pytest

from agents.core.registry import RegistrationError
from agents.core.rules import register_rule
from agents.core.rules.packaged import PACKAGED

RULE = """[rule]
id = "{name}"
trigger = "{trigger}"
[[action]]
type = "log"
message = "so"
"""


def test_the_example_package_brings_one() -> None:
    assert PACKAGED.get("too-many-unsupported-claims").rule.once


@pytest.mark.parametrize(
    ("name", "trigger", "problem"),
    [
        ("own", "on_turn_ends", "a rule cannot be read: 3:11: "),
        ("slow-tool", "on_turn_end", "comes with Oracle"),
        ("own", "on_turn_end", "registered too late"),
    ],
)
def test_what_cannot_hold_is_refused_with_the_reason(name: str, trigger: str, problem: str) -> None:
    with pytest.raises(RegistrationError, match=problem):
        register_rule(RULE.format(name=name, trigger=trigger))
