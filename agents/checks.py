"""System checks: a mistake in an extension is told at start, in one line with a hint.

agents.E001  an extension was refused when it registered (its name is taken, it cannot be read)
agents.E002  a registered tree does not conform to the DecisionTree protocol
agents.E003  ORACLE_DEFAULT_TREE names no mode that can be chosen
agents.E004  the system prompt's template cannot be used
agents.E005  the template of a tool's card cannot be used
agents.W006  a file of the operator's with a rule, a subscriber or a behaviour cannot be read
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register
from django.template import TemplateDoesNotExist, TemplateSyntaxError
from django.template.loader import get_template

from agents.core.config import AgentConfig
from agents.core.decisions.protocol import METHODS, TREES
from agents.core.registry import RegistrationError
from agents.extensions import CARD_TEMPLATE
from agents.tools.registry import TOOLS

# What start-up could not register; filled by AgentsConfig.ready().
registration_errors: list[RegistrationError] = []


def register_all() -> None:
    for check in (
        check_registrations,
        check_trees,
        check_default_tree,
        check_system_prompt,
        check_card_templates,
        check_control_files,
    ):
        register(check, "agents")


def check_registrations(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    hint = (
        "Correct it in the package of ORACLE_APPS that brings it. Names have to differ from those "
        "of Oracle and of other packages."
    )
    return [Error(str(error), hint=hint, id="agents.E001") for error in registration_errors]


def check_trees(app_configs: Sequence[AppConfig] | None, **kwargs: Any) -> list[CheckMessage]:
    hint = "A decision tree is built as cls(config) and has the methods " + ", ".join(METHODS) + "."
    return [
        Error(
            f"Decision tree {name!r} ({tree.__module__}.{tree.__qualname__}) {fault}.",
            hint=hint,
            id="agents.E002",
        )
        for name, tree in TREES
        if (fault := find_fault(tree))
    ]


def check_default_tree(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    from agents.runtime import list_common_behaviours

    behaviours = [entry.name for entry in list_common_behaviours()]
    name, known = settings.ORACLE_DEFAULT_TREE, (*TREES.names(), *behaviours)
    if name in known:
        return []
    problem = f"There is no mode {name!r} to choose. Known: {', '.join(known)}."
    hint = "Set ORACLE_DEFAULT_TREE to a known name, or install the app that brings it."
    return [Error(f"ORACLE_DEFAULT_TREE: {problem}", hint=hint, id="agents.E003")]


def check_system_prompt(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    from agents.runtime import TEMPLATE_NAME, find_template_fault

    fault = find_template_fault()
    hint = "Fix the file in the folder templates of ORACLE_DATA_DIR, or remove it."
    return [Error(f"{TEMPLATE_NAME} {fault}.", hint=hint, id="agents.E004")] if fault else []


def check_control_files(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    from agents.runtime import find_file_problems

    hint = (
        "Fix the file in ORACLE_DATA_DIR, or remove it. "
        "Meanwhile a server that has read a good version keeps that; others do without."
    )
    return [Warning(str(each), hint=hint, id="agents.W006") for each in find_file_problems()]


def check_card_templates(
    app_configs: Sequence[AppConfig] | None, **kwargs: Any
) -> list[CheckMessage]:
    hint = "Fix the template in the package that brings the tool, or remove it."
    faults = {name: _find_card_fault(CARD_TEMPLATE.format(tool=name)) for name, _ in TOOLS}
    return [
        Error(f"The card of the tool {name!r} {fault}.", hint=hint, id="agents.E005")
        for name, fault in faults.items()
        if fault
    ]


def _find_card_fault(template: str) -> str:
    try:
        get_template(template)
    except TemplateDoesNotExist:
        return ""  # it shares the common one
    except (TemplateSyntaxError, UnicodeDecodeError, OSError) as error:
        return f"cannot be used ({template}): {error}"
    return ""


def find_fault(cls: type[Any]) -> str:
    """Return what keeps this class from driving a run, to follow its name; empty: nothing."""
    missing = [method for method in METHODS if not callable(getattr(cls, method, None))]
    if missing:
        return "lacks " + ", ".join(missing)
    try:
        tree = cls(AgentConfig())
    except Exception as error:
        return f"cannot be built as cls(AgentConfig()): {_format_error(error)}"
    try:
        config: object = tree.get_config()
    except Exception as error:
        return f"raises in get_config(): {_format_error(error)}"
    if not isinstance(config, AgentConfig):
        return f"returns {type(config).__name__} from get_config(), not AgentConfig"
    return ""


def _format_error(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".rstrip(": ")
