"""The settings of the agent and of how pages look, made of the one definition of the limits."""

from copy import deepcopy
from functools import partial

from django.conf import settings
from django.contrib.auth.models import User

from agents.core.config import LIMITS, AgentConfigBounds
from agents.models import Appearance, UserAgentConfig
from agents.models.settings import AskBeforeWriting
from agents.runtime import Mode, list_modes
from settings_ui.forms.base import ChoiceSetting, NumberSetting, SettingField


def _build_number(limit: AgentConfigBounds) -> NumberSetting:
    return NumberSetting(
        name=limit.name,
        kind=UserAgentConfig,
        default=limit.default,
        label=limit.label,
        help_text=limit.help,
        minimum=limit.minimum,
        maximum=limit.maximum,
    )


def _list_mode_choices(user: User | None = None) -> dict[str, str]:
    """Return the modes, asked for when needed: people write some of them meanwhile."""
    named = {mode.name: _describe_mode(mode) for mode in list_modes(user)}
    return {"": f"This site's default: {settings.ORACLE_DEFAULT_TREE}", **named}


def _describe_mode(mode: Mode) -> str:
    name = mode.name.capitalize()
    return f"{name}: {mode.description}" if mode.description else name


class ModeSetting(ChoiceSetting):
    """The mode: everybody is offered those of the site, and their own."""

    def bind(self, user: User) -> "ModeSetting":
        bound = deepcopy(self)
        bound._get_labels = partial(_list_mode_choices, user)
        bound.choices = bound._get_labels
        return bound


AGENT_FIELDS: dict[str, SettingField] = {
    **{name: _build_number(limit) for name, limit in LIMITS.items()},
    "default_tree": ModeSetting(
        name="default_tree",
        kind=UserAgentConfig,
        default="",
        label="Mode",
        help_text="How a question is worked on, unless you choose another mode in the composer.",
        choices=_list_mode_choices,
    ),
    "ask_before_writing": ChoiceSetting(
        name="ask_before_writing",
        kind=UserAgentConfig,
        default=AskBeforeWriting.NEVER.value,
        label="Ask before writing",
        help_text="Whether the agent waits for your yes before it changes notes or threads. "
        "The owners of a project may be stricter.",
        choices=lambda: dict(AskBeforeWriting.choices),
    ),
}
APPEARANCE_FIELDS: dict[str, SettingField] = {
    "theme": ChoiceSetting(
        name="theme",
        kind=Appearance,
        default="",
        label="Theme",
        help_text="How pages look to you, on every device you sign in with.",
        choices=lambda: dict(Appearance.Theme.choices),
    ),
}
