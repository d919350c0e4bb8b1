"""The settings of the models as small forms: what each may be, and how it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User

from agents.core.config import ConfigError
from agents.endpoints.model_settings import (
    check_base_url,
    describe_expected,
    get_bounds,
    provider_names,
    update_model_settings,
)
from agents.llm.providers import PROVIDERS
from agents.models import ModelSettings
from agents.models.settings import UserSettings
from agents.web.throttling import Throttled
from settings_ui.forms.base import ChoiceSetting, NumberSetting, SettingField


def store_model_setting(
    setting: SettingField, user: User, value: Any, expected: Mapping[str, Any]
) -> ModelSettings:
    """The row as it is then; ConfigError says what is wrong and what is still in force."""
    problem = describe_expected(setting.name)
    if value is not None:
        try:
            return update_model_settings(user, {setting.name: value}, expected=expected)
        except ConfigError as refused:
            problem = refused.problems[setting.name]
    raise build_refusal(setting, user, problem)


def build_refusal(setting: SettingField, user: User, problem: str) -> ConfigError:
    colon = "" if isinstance(setting, NumberSetting) else ":"
    still = setting.display(setting.current_value(user))
    return ConfigError({setting.name: f"{problem} Still using{colon} {still}."})


@dataclass(frozen=True)
class TextSetting(SettingField):
    """A line of text. `empty` says what it means to leave it out; nothing, if that is no use."""

    empty: str
    max_length: int
    suggestions: str = ""
    """The id of the list that helps to fill it in."""

    def parse(self, raw_value: str) -> str | None:
        return raw_value.strip()

    def parse_expected(self, given: str) -> str:
        return given

    def display(self, value: str) -> str:
        return value or self.empty or "nothing"

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        return store_model_setting(self, user, value, expected)


@dataclass(frozen=True)
class BaseUrlSetting(TextSetting):
    """An address that people may use, by what it resolves to as well. See agents.llm.url_policy."""

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        try:
            async_to_sync(check_base_url)(user, value)
        except ConfigError as refused:
            raise build_refusal(self, user, refused.problems[self.name]) from None
        except Throttled as refused:
            raise build_refusal(self, user, str(refused)) from None
        return super().store(user, value, expected)


@dataclass(frozen=True)
class BooleanSetting(SettingField):
    """On or off. A box that is not ticked sends nothing."""

    def parse(self, raw_value: str) -> bool | None:
        return {"on": True, "True": True, "": False, "False": False}.get(raw_value)

    def display(self, value: bool | str) -> str:
        return "on" if value in (True, "True") else "off"  # the log has it as text

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        if value is None:
            raise build_refusal(self, user, "Must be on or off.")
        return store_model_setting(self, user, value, expected)


@dataclass(frozen=True)
class BoundedNumber(NumberSetting):
    """A number with bounds that is not a limit of runs."""

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        return store_model_setting(self, user, value, expected)


@dataclass(frozen=True)
class ModelChoiceSetting(ChoiceSetting):
    """One of a few names; what is none of them is refused with the names that people read."""

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        if value is None:
            return super().store(user, value, expected)
        return store_model_setting(self, user, value, expected)


def _build_bounded_number(name: str, label: str) -> BoundedNumber:
    """Bounds, default and help are those of the column."""
    column: Any = ModelSettings._meta.get_field(name)
    minimum, maximum = get_bounds(name)
    return BoundedNumber(
        name=name,
        label=label,
        help=column.help_text,
        default=column.default,
        kind=ModelSettings,
        minimum=minimum,
        maximum=maximum,
    )


def provider_choices() -> dict[str, str]:
    """What can be chosen here and now."""
    site = "This site's endpoint" if settings.ORACLE_LLM_BASE_URL else "Embedded model"
    return {name: PROVIDERS[name].label if name else site for name in provider_names()}


SETTINGS_CLASS: type[UserSettings] = ModelSettings

ENDPOINT_FIELDS: dict[str, SettingField] = {
    "provider": ModelChoiceSetting(
        name="provider",
        label="Provider",
        help="Who answers your questions. Your own provider is asked with your own key.",
        default="",
        kind=SETTINGS_CLASS,
        choices=provider_choices,
    ),
    "base_url": BaseUrlSetting(
        name="base_url",
        label="Base URL",
        help="Where the endpoint is; it usually ends in /v1.",
        default="",
        kind=SETTINGS_CLASS,
        empty="the usual address",
        max_length=500,
    ),
}
REQUEST_FIELDS: dict[str, SettingField] = {
    "oracle_model": TextSetting(
        name="oracle_model",
        label="Model",
        help="Type a part of its name to search.",
        default="",
        kind=SETTINGS_CLASS,
        empty="the default",
        max_length=200,
        suggestions="known-models",
    ),
    "subagent_model": TextSetting(
        name="subagent_model",
        label="Model of the librarian",
        help="Reads and sums up what is too long for an answer; a smaller model is often enough.",
        default="",
        kind=SETTINGS_CLASS,
        empty="the same model",
        max_length=200,
        suggestions="known-models",
    ),
    "thinking_enabled": BooleanSetting(
        name="thinking_enabled",
        label="Thinking",
        help="Let the model think before it answers, where it can. It costs time and tokens.",
        default=False,
        kind=SETTINGS_CLASS,
    ),
    "reasoning_effort": ModelChoiceSetting(
        name="reasoning_effort",
        label="Effort",
        help="How much it thinks, where a model can be told.",
        default="medium",
        kind=SETTINGS_CLASS,
        choices=lambda: dict(ModelSettings.Effort.choices),
    ),
    "librarian_timeout": _build_bounded_number(
        "librarian_timeout", "Time for the librarian (seconds)"
    ),
    "max_context_nodes": _build_bounded_number("max_context_nodes", "Earlier exchanges"),
}
MODEL_FIELDS: dict[str, SettingField] = {**ENDPOINT_FIELDS, **REQUEST_FIELDS}


def fields_for(chosen: ModelSettings) -> dict[str, SettingField]:
    """The settings with what leaving them empty means for somebody."""
    preset = PROVIDERS.get(chosen.provider)
    site_s = str(settings.ORACLE_LLM_MODEL) if not (chosen.provider or chosen.is_embedded) else ""
    base_url: Any = MODEL_FIELDS["base_url"]
    model: Any = MODEL_FIELDS["oracle_model"]
    return {
        **MODEL_FIELDS,
        "base_url": replace(base_url, empty=preset.base_url if preset else base_url.empty),
        "oracle_model": replace(model, empty=site_s),
    }
