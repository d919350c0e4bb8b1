"""The settings as small Django forms, one for each: the kinds of field, and the form around one.

A field reads strictly what somebody typed. What is unreadable or out of bounds is refused in words
that say what is still in force, and nothing is stored.
"""

from collections.abc import Callable, Mapping
from typing import Any

from django import forms
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError

from agents.core.config import AgentConfig, ConfigError
from agents.models.settings import UserSettings
from agents.settings_service import (
    SettingConflict,
    effective_config,
    update_limits,
    update_settings,
)
from agents.web.form_fields import WholeNumberField
from settings_ui.setting_effects import SettingEffect

MAX_INPUT_LENGTH = 200
"""Characters of what was typed that come back with the reason why it was refused."""
MIN_SLIDER_STEPS = 100
"""How many steps a slider has at least, if there are so many values."""

# -- fields ---------------------------------------------------------------------------------------


class SettingField(forms.Field):
    """What a form knows about one setting, wherever it is stored.

    `template_name` is the template of its input, in a page's own markup.
    """

    widget = forms.TextInput
    saves_on_leave = False
    """Whether it is saved when somebody leaves it, and not while it is typed."""

    def __init__(
        self, *, name: str, kind: type[UserSettings], default: Any, label: str, **options: Any
    ) -> None:
        super().__init__(required=False, initial=default, label=label, **options)
        self.name = name
        self.label: str = label
        self.kind = kind
        self.default = default

    def bind(self, user: User) -> "SettingField":
        """Return the field as it is for somebody: what they can choose may be their own."""
        return self

    def display(self, value: Any) -> str:
        """Return how a value is said."""
        raise NotImplementedError

    def parse(self, text: str) -> Any:
        """Return what a text means, or None if it means nothing."""
        try:
            return self.to_python(text)
        except ValidationError:
            return None

    def parse_seen(self, seen: str) -> Any:
        """Return what a form says it has shown; what it cannot have shown is equal to nothing."""
        return self.parse(seen)

    def describe_refusal(self, user: User) -> str:
        """Say what the value may be, and what is still in force, when it cannot be read."""
        raise NotImplementedError

    def store(self, user: User, value: Any, expected: Mapping[str, Any]) -> Any:
        """Return the row as it is then. ConfigError or ValidationError: it was refused."""
        return update_settings(self.kind, user, {self.name: value}, expected=expected)

    def current_value(self, user: User) -> Any:
        return getattr(self.kind.for_user(user), self.name)


class NumberSetting(SettingField, WholeNumberField):
    """A limit: a slider and a number. Its bounds are held where it is stored."""

    def __init__(self, *, minimum: int, maximum: int, **options: Any) -> None:
        super().__init__(template_name="settings/partials/_number_input.html", **options)
        self.minimum = minimum
        self.maximum = maximum

    def display(self, value: int) -> str:
        return f"{value:,}"

    def validate(self, value: int | None) -> None:
        if value is None:  # a limit cannot be left empty
            raise ValidationError(self.error_messages["required"], code="required")

    def describe_refusal(self, user: User) -> str:
        try:
            AgentConfig.build({self.name: None}, effective_config(user))
        except ConfigError as refused:
            return refused.problems[self.name]
        raise AssertionError(f"{self.name} may be left out")

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


class ChoiceSetting(SettingField, forms.ChoiceField):
    """One of a few names, which are asked for when they are needed."""

    def __init__(self, *, choices: Callable[[], Mapping[str, str]], **options: Any) -> None:
        super().__init__(
            choices=choices, template_name="settings/partials/_choice_input.html", **options
        )
        self._get_labels = choices

    @property
    def labels(self) -> Mapping[str, str]:
        return self._get_labels()

    def validate(self, value: str) -> None:
        if not self.valid_value(value):  # also an empty one, unless that is among them
            raise ValidationError(self.error_messages["invalid_choice"], code="invalid_choice")

    def parse_seen(self, seen: str) -> str:
        return seen  # also a name that nothing is known by any more

    def display(self, value: str) -> str:
        return self.labels.get(value, value)

    def describe_refusal(self, user: User) -> str:
        names = "; ".join(self.labels.values())
        in_force = self.display(self.current_value(user))
        return f"Choose one of these: {names}. Still using: {in_force}."


# -- forms ----------------------------------------------------------------------------------------


class ConflictMixin(forms.Form):
    """For a form that sends, as `seen`, what stood in its field before somebody typed.

    If that has been changed elsewhere meanwhile, nothing is stored, and both values are offered.
    """

    seen = forms.Field(required=False, widget=forms.HiddenInput)
    conflict = False

    def get_expected(self, setting: SettingField) -> dict[str, Any]:
        """Return what must still be stored for a change to be made."""
        seen = self.cleaned_data["seen"]
        return {} if seen is None else {setting.name: setting.parse_seen(seen)}

    def is_conflict(self, now: SettingConflict) -> bool:
        """Tell a conflict from what was sent twice, or is wanted in both places."""
        self.conflict = bool(now.value != self.cleaned_data["value"])
        return self.conflict


class SettingForm(ConflictMixin, forms.Form):
    """A setting as it is shown, or as it was sent. What was typed stays in its field if refused."""

    def __init__(
        self, setting: SettingField, stored: Any = None, data: Mapping[str, Any] | None = None
    ) -> None:
        super().__init__(data)
        self.fields["value"] = setting
        self.setting = setting
        self.stored = stored
        self.saved = False
        self.row: UserSettings | None = None
        """As a save left it: nobody has to ask for it again."""
        self.effect: SettingEffect | None = None
        """What the value comes to, where there is something to say."""

    def save(self, user: User) -> None:
        """Store what was typed, or say why not."""
        problem: Any = None
        try:
            if self.is_valid():
                self._store(user)
            else:
                problem = self.setting.describe_refusal(user)
        except ConfigError as refused:
            problem = refused.problems[self.name]
        except ValidationError as refused:
            problem = " ".join(refused.messages)
        if problem is not None:
            self.stored = self.setting.current_value(user)
            self.errors["value"] = self.error_class([problem])

    def _store(self, user: User) -> None:
        try:
            value = self.cleaned_data["value"]
            self.row = self.setting.store(user, value, self.get_expected(self.setting))
            self.stored = getattr(self.row, self.name)
            self.saved = True
        except SettingConflict as now:
            self.stored = now.value
            self.saved = not self.is_conflict(now)

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def error(self) -> str:
        return " ".join(map(str, self.errors.get("value", ())))

    @property
    def input_value(self) -> str:
        if self.is_bound and not self.saved:
            return str(self.data["value"])[:MAX_INPUT_LENGTH]
        return str(self.stored)

    @property
    def display_value(self) -> str:
        return self.setting.display(self.stored)

    @property
    def display_default(self) -> str:
        return self.setting.display(self.setting.default)

    @property
    def is_default(self) -> bool:
        return bool(self.stored == self.setting.default)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What can be chosen; also a stored name that nothing is known by any more."""
        if not isinstance(self.setting, ChoiceSetting):
            return []
        labels = self.setting.labels
        return list({**labels, self.stored: labels.get(self.stored, self.stored)}.items())

    @property
    def status(self) -> int:
        return 422 if self.errors else 409 if self.conflict else 200


def save(user: User, setting: SettingField, raw_value: str, seen: str | None = None) -> SettingForm:
    """Store what was typed, or say why not. `seen` is what stood there before it was typed."""
    form = SettingForm(setting.bind(user), data={"value": raw_value, "seen": seen})
    form.save(user)
    return form


def reset(user: User, setting: SettingField) -> SettingForm:
    return save(user, setting, str(setting.default))


def build_forms(
    user: User, known: Mapping[str, SettingField], replacement: SettingForm | None = None
) -> list[SettingForm]:
    """Return all of them as they are stored; `replacement` is one that has something to say."""
    rows = {kind: kind.for_user(user) for kind in {setting.kind for setting in known.values()}}
    return [
        replacement
        if replacement and replacement.name == name
        else SettingForm(setting.bind(user), getattr(rows[setting.kind], name))
        for name, setting in known.items()
    ]
