"""The rules that come with Oracle: one file each."""

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
)


def load_shipped_rules() -> tuple[Rule, ...]:
    """Read all of them."""
    folder = resources.files(__package__)
    return tuple(
        read_rule(folder.joinpath(f"{rule_id}.toml").read_text("utf-8")) for rule_id in RULE_IDS
    )
