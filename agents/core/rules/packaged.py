"""Rules that packages bring: registered at start-up, read like any other."""

from collections.abc import Collection
from dataclasses import dataclass

from agents.core.control.toml import InvalidToml
from agents.core.registry import RegistrationError, Registry
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.shipped import RULE_IDS


@dataclass(frozen=True, slots=True)
class PackagedRule:
    """A rule of a package, with its text."""

    rule: Rule
    text: str


PACKAGED: Registry[PackagedRule] = Registry("rule")


def register_rule(text: str) -> Rule:
    """Let a rule hold for all runs of the site, unless somebody switches it off."""
    try:
        rule = read_rule(text)
    except InvalidToml as error:
        raise RegistrationError(f"a rule cannot be read: {error}") from None
    if rule.id in RULE_IDS:
        raise RegistrationError(f"rule {rule.id!r} comes with Oracle. Give yours another id.")
    PACKAGED.register(rule.id, PackagedRule(rule, text))
    return rule


def find_unknown_tools(tools: Collection[str]) -> list[RegistrationError]:
    """Return what is wrong with rules that name a tool which is not among all there are. That is
    known when every package has registered its own."""
    found = []
    for name, package in PACKAGED:
        try:
            read_rule(package.text, tools)
        except InvalidToml as error:
            found.append(RegistrationError(f"rule {name!r} cannot be read: {error}"))
    return found
