"""The rules that come with Oracle: one file each."""

from functools import cache
from importlib import resources

from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule

RULE_IDS = (
    "same-tool-fails",
    "read-before-write",
    "half-way-summary",
    "slow-tool",
    "unfinished-work",
    "answer-needs-source",
    "many-writes",
)


@cache
def read_shipped_texts() -> tuple[str, ...]:
    """Return the texts of all of them."""
    folder = resources.files(__package__)
    return tuple(folder.joinpath(f"{rule_id}.toml").read_text("utf-8") for rule_id in RULE_IDS)


def load_shipped_rules() -> tuple[Rule, ...]:
    """Read all of them."""
    return tuple(map(read_rule, read_shipped_texts()))
