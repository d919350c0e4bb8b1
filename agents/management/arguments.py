"""Values that are given on the command line as NAME=NUMBER."""

from collections.abc import Iterable

from django.core.management.base import CommandError

from agents.core.config import AgentConfig, ConfigError
from agents.core.decisions import check_tree_name
from agents.core.registry import NotRegistered
from agents.core.stuck import StuckRules


def parse_integers(option: str, pairs: Iterable[str]) -> dict[str, int]:
    """Return what `--set FIELD=VALUE` and its like say; the names are not looked at."""
    values = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        try:
            values[name.strip()] = int(value)
        except ValueError:
            raise CommandError(
                f"{option} {pair!r}: give FIELD=VALUE with a whole number."
            ) from None
    return values


def build_config(values: dict[str, int], in_force: AgentConfig | None = None) -> AgentConfig:
    try:
        return AgentConfig.build(values, in_force)
    except ConfigError as error:
        raise CommandError(str(error)) from None


def parse_tree(name: str) -> str:
    try:
        return check_tree_name(name, "tree")
    except NotRegistered as error:
        raise CommandError(str(error)) from None


def parse_stuck_rules(text: str) -> StuckRules:
    """Return the rules in `identical=3,writing=4,known=5,answers=7`; those that are not named are
    as shipped."""
    values = parse_integers("--stuck", text.split(","))
    known = StuckRules.__slots__
    if unknown := [name for name in values if name not in known]:
        raise CommandError(f"There is no stuck rule {unknown[0]!r}. Known: {', '.join(known)}.")
    try:
        return StuckRules(**values)
    except ValueError as error:
        raise CommandError(f"--stuck {error}") from None
