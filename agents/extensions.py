"""Where Oracle can be extended: every place, in one list.

A package named in ORACLE_APPS extends it by a module of the name given here, which is imported at
start-up and registers what it brings, or by a template. Afterwards the registries are closed: what
a person may choose does not change while the site runs. docs/extending.md shows each.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from django.apps import AppConfig
from django.utils.module_loading import module_has_submodule

from agents.core.behaviours.packaged import PACKAGED as PACKAGED_BEHAVIOURS
from agents.core.behaviours.words import WORDS
from agents.core.control.observers import OBSERVERS
from agents.core.decisions.protocol import TREES
from agents.core.notify.packaged import PACKAGED as PACKAGED_SUBSCRIBERS
from agents.core.reasons import REASONS
from agents.core.registry import RegistrationError, Registry
from agents.core.rules.packaged import PACKAGED as PACKAGED_RULES
from agents.core.rules.packaged import find_unknown_tools
from agents.llm.decoding.text_calls import FAMILIES
from agents.tools.registry import TOOLS


@dataclass(frozen=True, slots=True)
class ExtensionPoint:
    """One way to extend Oracle. `builtin` is the module that registers what comes with it."""

    name: str
    """Of the module that a package has for it."""
    about: str
    registry: Registry[Any]
    builtin: str


EXTENSION_POINTS = (
    ExtensionPoint(
        "reasons",
        "Why a run may end: `register_reason` with its code, outcome, label, sentence and remedy.",
        REASONS,
        "agents.core.reasons",
    ),
    ExtensionPoint(
        "decision_trees",
        "Whether a run goes on: a class with `@decision_tree(name)`, which people can choose.",
        TREES,
        "agents.core.decisions.trees",
    ),
    ExtensionPoint(
        "tools",
        "What a model may call: a typed function with `@tool()`, whose docstring the model reads.",
        TOOLS,
        "agents.tools.catalogue",
    ),
    ExtensionPoint(
        "text_calls",
        "How models write tool calls as text: a parser class with `@text_call_family(name)`.",
        FAMILIES,
        "agents.llm.decoding.text_calls",
    ),
    ExtensionPoint(
        "observers",
        "Who hears what happens: a function with `@observer(name)`, handed the events of all runs.",
        OBSERVERS,
        "agents.core.control.observers",
    ),
    ExtensionPoint(
        "behaviour_words",
        "What behaviours may name: functions with `@action(name)` and `@condition(name)`, classes "
        "with `@decorator(name)`.",
        WORDS,
        "agents.core.behaviours.builtin",
    ),
    ExtensionPoint(
        "behaviours",
        "What a run does next: `register_behaviour(text)` with the text of one, a mode for all.",
        PACKAGED_BEHAVIOURS,
        "agents.core.behaviours.packaged",
    ),
    ExtensionPoint(
        "subscribers",
        "What is said while runs go on: `register_subscriber(text)` with the TOML of one.",
        PACKAGED_SUBSCRIBERS,
        "agents.core.notify.packaged",
    ),
    ExtensionPoint(
        "rules",
        "What runs are held to: `register_rule(text)` with the TOML of one.",
        PACKAGED_RULES,
        "agents.core.rules.packaged",
    ),
)

CARD_TEMPLATE = "chat/tools/{tool}.html"
"""How a call of a tool is shown: a template of this name in the package's folder `templates`, made
of the blocks of `chat/fragments/_card.html`. Without one, all tools share that."""


def discover(configs: Iterable[AppConfig]) -> list[RegistrationError]:
    """Import what extends Oracle, then close the registries; refusals are returned, to be shown."""
    configs = [config for config in configs if config.name != "agents"]
    refused = []
    for point in EXTENSION_POINTS:
        refused += import_modules([point.builtin, *find_modules(configs, point.name)])
    for point in EXTENSION_POINTS:
        point.registry.close()
    return [*refused, *find_unknown_tools(TOOLS.names())]


def find_modules(configs: Iterable[AppConfig], name: str) -> list[str]:
    """Return the modules of that name in the apps that have one."""
    return [
        f"{config.name}.{name}"
        for config in configs
        if config.module is not None and module_has_submodule(config.module, name)
    ]


def import_modules(modules: Iterable[str]) -> list[RegistrationError]:
    """Import each module, so that what it brings is registered; return what was refused."""
    refused = []
    for module in modules:
        try:
            import_module(module)
        except RegistrationError as error:
            refused.append(error)
    return refused
