"""The settings of the models as small forms: what each may be, and how it is shown."""

from collections.abc import Mapping
from copy import copy
from typing import Any

from asgiref.sync import async_to_sync
from django import forms
from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from agents.core.config import ConfigError
from agents.endpoints.model_settings import (
    check_base_url,
    describe_expected,
    get_bounds,
    provider_names,
    update_model_settings,
)
from agents.llm import PROVIDERS
from agents.models import ModelSettings
from agents.models.settings import UserSettings
from agents.web.throttling import Throttled
from settings_ui.forms.base import ChoiceSetting, NumberSetting, SettingField


class ModelSettingField(SettingField):
    """A setting of the models. What it may be is held in agents.endpoints.model_settings."""

    separator = ":"
    """Between "Still using" and a name; a number has none."""

    def describe_refusal(self, user: User) -> str:
        return self.build_refusal(user, describe_expected(self.name))

    def build_refusal(self, user: User, problem: str) -> str:
        """Add to a problem what is still in force."""
        still = self.display(self.current_value(user))
        return f"{problem} Still using{self.separator} {still}."

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        try:
            return update_model_settings(user, {self.name: value}, expected=expected)
        except ConfigError as refused:
            problem = self.build_refusal(user, refused.problems[self.name])
            raise ConfigError({self.name: problem}) from None


class TextSetting(ModelSettingField, forms.CharField):
    """A line of text. `empty` says what it means to leave it out; nothing, if that is no use."""

    saves_on_leave = True

    def __init__(
        self, *, empty: str, max_length: int, suggestions: str = "", **options: Any
    ) -> None:
        super().__init__(template_name="settings/partials/_text_input.html", **options)
        self.empty = empty
        self.max_length = max_length  # shown here, held where it is stored, as all the rest
        self.validators = []
        self.suggestions = suggestions
        """The id of the list that helps to fill it in."""

    def parse_seen(self, seen: str) -> str:
        return seen

    def display(self, value: str) -> str:
        return value or self.empty or "nothing"

    def with_empty(self, empty: str) -> "TextSetting":
        """Return the field with another meaning of leaving it out."""
        changed = copy(self)
        changed.empty = empty
        return changed


class BaseUrlSetting(TextSetting):
    """An address that people may use, by what it resolves to as well. See agents.llm.url_policy."""

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        try:
            async_to_sync(check_base_url)(user, value)
        except ConfigError as refused:
            problem = self.build_refusal(user, refused.problems[self.name])
            raise ConfigError({self.name: problem}) from None
        except Throttled as refused:
            raise ConfigError({self.name: self.build_refusal(user, str(refused))}) from None
        return super().store(user, value, expected)


class BooleanSetting(ModelSettingField, forms.BooleanField):
    """On or off. A box that is not ticked sends nothing."""

    widget = forms.TextInput  # the one of a box takes every text for a tick

    def __init__(self, **options: Any) -> None:
        super().__init__(template_name="settings/partials/_checkbox_input.html", **options)

    def to_python(self, value: Any) -> bool:
        known = {"on": True, "True": True, "": False, "False": False}
        if value not in known:
            raise ValidationError("Must be on or off.", code="invalid")
        return known[value]

    def display(self, value: bool | str) -> str:
        return "on" if value in (True, "True") else "off"  # the log has it as text

    def describe_refusal(self, user: User) -> str:
        return self.build_refusal(user, "Must be on or off.")


class BoundedNumber(ModelSettingField, NumberSetting):
    """A number with bounds that is not a limit of runs."""

    separator = ""


class ModelChoiceSetting(ModelSettingField, ChoiceSetting):
    """One of a few names; what is none of them is refused with the names that people read."""

    def describe_refusal(self, user: User) -> str:
        return ChoiceSetting.describe_refusal(self, user)


def _build_bounded_number(name: str, label: str) -> BoundedNumber:
    """Build a field with the bounds, default and help of the column."""
    column: Any = ModelSettings._meta.get_field(name)
    minimum, maximum = get_bounds(name)
    return BoundedNumber(
        name=name,
        label=label,
        help_text=column.help_text,
        default=column.default,
        kind=ModelSettings,
        minimum=minimum,
        maximum=maximum,
    )


def provider_choices() -> dict[str, str]:
    """Return what can be chosen here and now."""
    site = "This site's endpoint" if settings.ORACLE_LLM_BASE_URL else "Embedded model"
    return {name: PROVIDERS[name].label if name else site for name in provider_names()}


SETTINGS_CLASS: type[UserSettings] = ModelSettings

BASE_URL = BaseUrlSetting(
    name="base_url",
    label="Base URL",
    help_text="Where the endpoint is; it usually ends in /v1.",
    default="",
    kind=SETTINGS_CLASS,
    empty="the usual address",
    max_length=500,
)
MODEL = TextSetting(
    name="oracle_model",
    label="Model",
    help_text="Type part of its name to search.",
    default="",
    kind=SETTINGS_CLASS,
    empty="the default",
    max_length=200,
    suggestions="known-models",
)
ENDPOINT_FIELDS: dict[str, SettingField] = {
    "provider": ModelChoiceSetting(
        name="provider",
        label="Provider",
        help_text="What answers your questions. Your own provider is called with your own key.",
        default="",
        kind=SETTINGS_CLASS,
        choices=provider_choices,
    ),
    "base_url": BASE_URL,
}
REQUEST_FIELDS: dict[str, SettingField] = {
    "oracle_model": MODEL,
    "subagent_model": TextSetting(
        name="subagent_model",
        label="Librarian model",
        help_text="Reads and summarises what is too long for the main model; "
        "a smaller model is often enough.",
        default="",
        kind=SETTINGS_CLASS,
        empty="the same model",
        max_length=200,
        suggestions="known-models",
    ),
    "thinking_enabled": BooleanSetting(
        name="thinking_enabled",
        label="Thinking",
        help_text="Let the model think before it answers, where it can. It costs time and tokens.",
        default=False,
        kind=SETTINGS_CLASS,
    ),
    "reasoning_effort": ModelChoiceSetting(
        name="reasoning_effort",
        label="Effort",
        help_text="How much it thinks, where this can be set.",
        default="medium",
        kind=SETTINGS_CLASS,
        choices=lambda: dict(ModelSettings.Effort.choices),
    ),
    "librarian_timeout": _build_bounded_number(
        "librarian_timeout", "Librarian time limit (seconds)"
    ),
    "delegate_long_results": BooleanSetting(
        name="delegate_long_results",
        label="Let the librarian read long results",
        help_text="A result that is too long is summarised before your model gets it. It saves "
        "tokens of later iterations; you see both.",
        default=True,
        kind=SETTINGS_CLASS,
    ),
    "max_context_nodes": _build_bounded_number("max_context_nodes", "Earlier exchanges"),
}
MODEL_FIELDS: dict[str, SettingField] = {**ENDPOINT_FIELDS, **REQUEST_FIELDS}


def fields_for(chosen: ModelSettings) -> dict[str, SettingField]:
    """Return the settings with what leaving them empty means for somebody."""
    preset = PROVIDERS.get(chosen.provider)
    site_s = str(settings.ORACLE_LLM_MODEL) if not (chosen.provider or chosen.is_embedded) else ""
    return {
        **MODEL_FIELDS,
        "base_url": BASE_URL.with_empty(preset.base_url if preset else BASE_URL.empty),
        "oracle_model": MODEL.with_empty(site_s),
    }
