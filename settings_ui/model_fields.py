"""The settings of the models as small forms: what each may be, and how it is shown."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from asgiref.sync import async_to_sync
from django.conf import settings
from django.contrib.auth.models import User
from django.core.validators import MaxValueValidator, MinValueValidator

from agents.core.config import ConfigError
from agents.llm.addresses import NotAllowed
from agents.llm.providers import PROVIDERS, allowed_providers
from agents.models import ModelSettings
from agents.models.changes import change
from agents.models.settings import PerUser
from agents.runtime.endpoints import policy
from agents.runtime.trying import addresses_of
from settings_ui.fields import Choice, Number, Setting
from settings_ui.often import TooOften, count


@dataclass(frozen=True)
class Text(Setting):
    """A line of text. `empty` says what it means to leave it out; nothing, if that is no use."""

    empty: str
    longest: int
    suggestions: str = ""
    """The id of the list that helps to fill it in."""

    def read(self, typed: str) -> str | None:
        typed = typed.strip()
        return typed if len(typed) <= self.longest and typed.isprintable() else None

    def seen(self, given: str) -> str:
        return given

    def words(self, value: str) -> str:
        return value or self.empty or "nothing"

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value is None:
            raise self._refused(user, f"Must have at most {self.longest} characters, all visible.")
        return super().store(user, value, seen)

    def _refused(self, user: User, why: str) -> ConfigError:
        return ConfigError({self.name: f"{why} Still using: {self.words(self.stored(user))}."})


@dataclass(frozen=True)
class BaseUrl(Text):
    """An address that people may use, by what it resolves to as well. See agents.llm.addresses."""

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value:
            try:
                self._check(user, value)
            except (NotAllowed, TooOften) as refused:
                raise self._refused(user, str(refused)) from None
        return super().store(user, value, seen)

    def _check(self, user: User, base_url: str) -> None:
        allowed = policy()
        place = allowed.check(base_url)
        if not place.is_literal:
            count(user, "resolve")
            allowed.check_addresses(place, async_to_sync(addresses_of)(place))


@dataclass(frozen=True)
class Switch(Setting):
    """On or off. A box that is not ticked sends nothing."""

    def read(self, typed: str) -> bool | None:
        return {"on": True, "True": True, "": False, "False": False}.get(typed)

    def words(self, value: bool | str) -> str:
        return "on" if value in (True, "True") else "off"  # the log has it as text

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value is None:
            problem = f"Must be on or off. Still {self.words(self.stored(user))}."
            raise ConfigError({self.name: problem})
        return super().store(user, value, seen)


@dataclass(frozen=True)
class Bounded(Number):
    """A number with bounds that is not a limit of runs."""

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value is None or not self.minimum <= value <= self.maximum:
            bounds = f"a whole number from {self.minimum:,} to {self.maximum:,}"
            still = self.words(self.stored(user))
            raise ConfigError({self.name: f"Must be {bounds}. Still using {still}."})
        return Setting.store(self, user, value, seen)


def _bounded(name: str, label: str) -> Bounded:
    """Bounds, default and help are those of the column."""
    column: Any = ModelSettings._meta.get_field(name)
    bounds = {type(validator): validator.limit_value for validator in column._validators}
    return Bounded(
        name=name,
        label=label,
        help=column.help_text,
        default=column.default,
        kind=ModelSettings,
        minimum=bounds[MinValueValidator],
        maximum=bounds[MaxValueValidator],
    )


def providers() -> dict[str, str]:
    """What can be chosen here and now."""
    site = "This site's endpoint" if settings.ORACLE_LLM_BASE_URL else "Embedded model"
    return {"": site, **{p.name: p.label for p in allowed_providers(policy())}}


@dataclass(frozen=True)
class Provider(Choice):
    """Another one is somewhere else: the address of the last one goes with it."""

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value is None or value == self.stored(user):
            return super().store(user, value, seen)
        return change(self.kind, user, {self.name: value, "base_url": ""}, seen=seen)


KIND: type[PerUser] = ModelSettings

ENDPOINT: dict[str, Setting] = {
    "provider": Provider(
        name="provider",
        label="Provider",
        help="Who answers your questions. Your own provider is asked with your own key.",
        default="",
        kind=KIND,
        choices=providers,
    ),
    "base_url": BaseUrl(
        name="base_url",
        label="Base URL",
        help="Where the endpoint is; it usually ends in /v1.",
        default="",
        kind=KIND,
        empty="the usual address",
        longest=500,
    ),
}
ASKING: dict[str, Setting] = {
    "oracle_model": Text(
        name="oracle_model",
        label="Model",
        help="Type a part of its name to search.",
        default="",
        kind=KIND,
        empty="the default",
        longest=200,
        suggestions="known-models",
    ),
    "subagent_model": Text(
        name="subagent_model",
        label="Model of the librarian",
        help="Reads and sums up what is too long for an answer; a smaller model is often enough.",
        default="",
        kind=KIND,
        empty="the same model",
        longest=200,
        suggestions="known-models",
    ),
    "thinking_enabled": Switch(
        name="thinking_enabled",
        label="Thinking",
        help="Let the model think before it answers, where it can. It costs time and tokens.",
        default=False,
        kind=KIND,
    ),
    "reasoning_effort": Choice(
        name="reasoning_effort",
        label="Effort",
        help="How much it thinks, where a model can be told.",
        default="medium",
        kind=KIND,
        choices=lambda: dict(ModelSettings.Effort.choices),
    ),
    "librarian_timeout": _bounded("librarian_timeout", "Time for the librarian (seconds)"),
    "max_context_nodes": _bounded("max_context_nodes", "Earlier exchanges"),
}
MODELS: dict[str, Setting] = {**ENDPOINT, **ASKING}


def usual(chosen: ModelSettings) -> dict[str, Setting]:
    """The settings with what leaving them empty means for somebody."""
    preset = PROVIDERS.get(chosen.provider)
    site_s = str(settings.ORACLE_LLM_MODEL) if not (chosen.provider or chosen.is_embedded) else ""
    base_url: Any = MODELS["base_url"]
    model: Any = MODELS["oracle_model"]
    return {
        **MODELS,
        "base_url": replace(base_url, empty=preset.base_url if preset else base_url.empty),
        "oracle_model": replace(model, empty=site_s),
    }
