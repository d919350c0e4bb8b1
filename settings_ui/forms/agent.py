"""The settings of the agent and of how pages look, made of the one definition of the limits."""

from django.conf import settings

from agents.core.config import LIMITS, AgentConfigBounds
from agents.core.decisions.protocol import TREES
from agents.models import Appearance, UserAgentConfig
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


def _tree_choices() -> dict[str, str]:
    """Return the trees, asked for when needed: they are registered while apps are loaded."""
    named = {name: _describe_tree(name, TREES.get(name)) for name in TREES.names()}
    return {"": f"This site's default: {settings.ORACLE_DEFAULT_TREE}", **named}


def _describe_tree(name: str, tree: type) -> str:
    about = (tree.__doc__ or "").strip().partition("\n")[0]
    return f"{name.capitalize()}: {about}" if about else name.capitalize()


AGENT_FIELDS: dict[str, SettingField] = {
    **{name: _build_number(limit) for name, limit in LIMITS.items()},
    "default_tree": ChoiceSetting(
        name="default_tree",
        kind=UserAgentConfig,
        default="",
        label="Mode",
        help_text="The decision tree of a question, unless you choose another in the composer.",
        choices=_tree_choices,
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
