"""The settings as small forms, one for each, made of the one definition of the limits.

A form is read strictly: what it cannot read is refused in words, and nothing is stored.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from agents.core.config import LIMITS, AgentConfigBounds, ConfigError
from agents.core.decisions.protocol import TREES
from agents.models import Appearance, UserAgentConfig
from agents.models.settings import UserSettings
from agents.settings_service import SettingConflict, update_limits, update_settings
from settings_ui.setting_effects import SettingEffect

MAX_INPUT_LENGTH = 200
"""Characters of what was typed that come back with the reason why it was refused."""
_INTEGER_PATTERN = re.compile(r"[+-]?(\d{1,12}|\d{1,3}(,\d{3}){1,3})", re.ASCII)
MIN_SLIDER_STEPS = 100
"""How many steps a slider has at least, if there are so many values."""


@dataclass(frozen=True)
class SettingField:
    """What a form knows about one setting, wherever it is stored."""

    name: str
    label: str
    help: str
    default: Any
    kind: type[UserSettings]

    def parse(self, raw_value: str) -> Any:
        """The value that somebody typed, or None if it is none."""
        raise NotImplementedError

    def display(self, value: Any) -> str:
        """How a value is said."""
        raise NotImplementedError

    def parse_expected(self, given: str) -> Any:
        """What a form says it has shown; what it cannot have shown is equal to nothing."""
        return self.parse(given)

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        """The row as it is then. ConfigError or ValidationError: it was refused."""
        return update_settings(self.kind, user, {self.name: value}, expected=expected)

    def current_value(self, user: User) -> Any:
        return getattr(self.kind.for_user(user), self.name)


@dataclass(frozen=True)
class NumberSetting(SettingField):
    """A limit: a slider and a number."""

    minimum: int
    maximum: int

    def parse(self, raw_value: str) -> int | None:
        """As people write it, also with commas; not a fraction, not a power."""
        raw_value = raw_value.strip()
        return int(raw_value.replace(",", "")) if _INTEGER_PATTERN.fullmatch(raw_value) else None

    def display(self, value: int) -> str:
        return f"{value:,}"

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        return update_limits(user, {self.name: value}, expected=expected)

    @property
    def step(self) -> int:
        """Of the slider: a round number that meets the default and both ends."""
        span, way = self.maximum - self.minimum, self.default - self.minimum
        round_numbers = (n * 10**power for power in range(6) for n in (1, 2, 5))
        fitting = [
            n for n in round_numbers if n * MIN_SLIDER_STEPS <= span and not (span % n or way % n)
        ]
        return max(fitting, default=1)


@dataclass(frozen=True)
class ChoiceSetting(SettingField):
    """One of a few names."""

    choices: Callable[[], Mapping[str, str]]

    def parse(self, raw_value: str) -> str | None:
        return raw_value if raw_value in self.choices() else None

    def parse_expected(self, given: str) -> str:
        return given  # also a name that nothing is known by any more

    def display(self, value: str) -> str:
        return self.choices().get(value, value)

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        if value is None:
            raise ConfigError({self.name: self._invalid_choice_message(self.current_value(user))})
        return super().store(user, value, expected)

    def _invalid_choice_message(self, in_force: str) -> str:
        names = "; ".join(self.choices().values())
        return f"Choose one of these: {names}. Still using: {self.display(in_force)}."


@dataclass(frozen=True)
class SettingForm:
    """A setting as it is shown. `raw_value` stays in its field when it was refused."""

    setting: SettingField
    value: Any
    raw_value: str | None = None
    error: str = ""
    conflict: bool = False
    saved: bool = False
    row: UserSettings | None = None
    """As a save left it: nobody has to ask for it again."""
    effect: SettingEffect | None = None
    """What the value comes to, where there is something to say."""

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def input_value(self) -> str:
        return str(self.value) if self.raw_value is None else self.raw_value

    @property
    def display_value(self) -> str:
        return self.setting.display(self.value)

    @property
    def display_default(self) -> str:
        return self.setting.display(self.setting.default)

    @property
    def is_default(self) -> bool:
        return bool(self.value == self.setting.default)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What can be chosen; also a stored name that nothing is known by any more."""
        if not isinstance(self.setting, ChoiceSetting):
            return []
        known = dict(self.setting.choices())
        return list({**known, self.value: known.get(self.value, self.value)}.items())

    @property
    def status(self) -> int:
        return 422 if self.error else 409 if self.conflict else 200


def save(user: User, setting: SettingField, raw_value: str, seen: str | None = None) -> SettingForm:
    """Store what was typed, or say why not. `seen` is what stood there before it was typed."""
    name, value = setting.name, setting.parse(raw_value)
    expected = {} if seen is None else {name: setting.parse_expected(seen)}
    try:
        row = setting.store(user, value, expected)
        return SettingForm(setting, getattr(row, name), saved=True, row=row)
    except ConfigError as refused:
        problem = refused.problems[name]
    except ValidationError as refused:
        problem = " ".join(refused.messages)
    except SettingConflict as now:
        if now.value == value:  # sent twice, or both want the same
            return SettingForm(setting, value, saved=True)
        return SettingForm(setting, now.value, raw_value[:MAX_INPUT_LENGTH], conflict=True)
    return SettingForm(setting, setting.current_value(user), raw_value[:MAX_INPUT_LENGTH], problem)


def reset(user: User, setting: SettingField) -> SettingForm:
    return save(user, setting, str(setting.default))


def build_forms(
    user: User, known: Mapping[str, SettingField], replacement: SettingForm | None = None
) -> list[SettingForm]:
    """All of them as they are stored; `replacement` is one that has something to say."""
    rows = {kind: kind.for_user(user) for kind in {setting.kind for setting in known.values()}}
    return [
        replacement
        if replacement and replacement.name == name
        else SettingForm(setting, getattr(rows[setting.kind], name))
        for name, setting in known.items()
    ]


def _build_number(limit: AgentConfigBounds) -> NumberSetting:
    return NumberSetting(
        name=limit.name,
        label=limit.label,
        help=limit.help,
        default=limit.default,
        kind=UserAgentConfig,
        minimum=limit.minimum,
        maximum=limit.maximum,
    )


def _tree_choices() -> dict[str, str]:
    """Registered while apps are loaded, so they are asked for when they are needed."""
    named = {name: _describe_tree(name, TREES.get(name)) for name in TREES.names()}
    return {"": f"As this site: {settings.ORACLE_DEFAULT_TREE}", **named}


def _describe_tree(name: str, tree: type) -> str:
    about = (tree.__doc__ or "").strip().partition("\n")[0]
    return f"{name.capitalize()}: {about}" if about else name.capitalize()


AGENT_FIELDS: dict[str, SettingField] = {
    **{name: _build_number(limit) for name, limit in LIMITS.items()},
    "default_tree": ChoiceSetting(
        name="default_tree",
        label="Mode",
        help="The decision tree of a question that names none; the composer offers the others.",
        default="",
        kind=UserAgentConfig,
        choices=_tree_choices,
    ),
}
APPEARANCE_FIELDS: dict[str, SettingField] = {
    "theme": ChoiceSetting(
        name="theme",
        label="Theme",
        help="How pages look to you, on every device you sign in with.",
        default="",
        kind=Appearance,
        choices=lambda: dict(Appearance.Theme.choices),
    ),
}
