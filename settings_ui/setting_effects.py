"""What single settings come to in somebody's runs, in sentences beside them."""

from collections.abc import Callable
from dataclasses import dataclass

from django.contrib.auth.models import User

from agents.core.config import AgentConfig
from agents.core.decisions import build_guard
from agents.core.registry import NotRegistered
from agents.models import UserAgentConfig
from agents.runtime import MinimumTokens, get_mode, minimum_tokens_for
from agents.settings_service import effective_config


@dataclass(frozen=True)
class SettingEffect:
    """A sentence about one setting; `warns` where runs will hardly do what is expected of them."""

    name: str
    text: str
    warns: bool = False


def describe_effects(
    user: User, row: UserAgentConfig, changed: str | None = None
) -> list[SettingEffect]:
    """Return what the settings come to; only where it can be otherwise now, if one was changed."""
    config = config_in_mode(user, row)
    makers: dict[str, Callable[[], SettingEffect | None]] = {
        "max_iterations": lambda: _describe_iterations(row, config),
        "token_budget": lambda: _describe_tokens(row, config, minimum_tokens_for(user)),
    }
    due = makers if changed in (None, "default_tree") else {changed} & makers.keys()
    return [meaning for name in makers if name in due and (meaning := makers[name]())]


def config_in_mode(user: User, row: UserAgentConfig) -> AgentConfig:
    """Return the limits of a run in the chosen mode, which may be tighter than the settings."""
    config = effective_config(user, row)
    try:
        tree = get_mode(row.tree, user).tree
    except NotRegistered:  # a package or a text that is gone; the page says so
        return config
    return build_guard(tree, config).config


def _describe_iterations(row: UserAgentConfig, config: AgentConfig) -> SettingEffect:
    most = config.max_iterations
    use = f"{most - 1:,} iteration{'' if most == 2 else 's'} with tools, and one for the answer."
    if most == 1:
        use = "no iteration with tools: the only one is for the answer."
    mode = f"in the mode {row.tree}, " if most < row.max_iterations else ""
    text = f"{mode}{use}"
    return SettingEffect("max_iterations", text[0].upper() + text[1:])


def _describe_tokens(
    row: UserAgentConfig, config: AgentConfig, needs: MinimumTokens | None
) -> SettingEffect | None:
    if needs is None:
        return None
    budget = config.token_budget
    has = f"{budget:,} tokens" if budget == row.token_budget else f"{budget:,} (mode {row.tree})"
    where = f"In a new conversation in {needs.project}, with {needs.model},"
    answer, tools = needs.budgets.answer, needs.budgets.tools
    if answer is None:
        text = f"{where} no question fits: the context of the model is too small."
    elif budget < answer:
        others = f", and to use tools about {_round_up(tools)}" if tools else ""
        text = f"{has} are too few. {where} an answer takes about {_round_up(answer)}{others}."
    elif tools is None:
        text = f"{where} no tool can be used: the context of the model is too small for them."
    elif budget < tools:
        text = (
            f"With {has} no tool can be used: the model answers without looking anything up. "
            f"{where} tools can be used from about {_round_up(tools)} tokens on."
        )
    else:
        return SettingEffect(
            "token_budget", f"{where} tools can be used from about {_round_up(tools)} tokens on."
        )
    return SettingEffect("token_budget", text, warns=True)


def _round_up(tokens: int) -> str:
    """Round up to hundreds: a question is shorter or longer than the one that was measured."""
    return f"{-(-tokens // 100) * 100:,}"
