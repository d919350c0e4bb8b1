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

from agents.core.config import LIMITS, ConfigError, Limit
from agents.core.decision import TREES
from agents.models import Appearance, UserAgentConfig
from agents.models.changes import ChangedElsewhere, change, change_limits
from agents.models.settings import PerUser

LONGEST = 200
"""Characters of what was typed that come back with the reason why it was refused."""
_WHOLE = re.compile(r"[+-]?(\d{1,12}|\d{1,3}(,\d{3}){1,3})", re.ASCII)
STEPS = 100
"""How many steps a slider has at least, if there are so many values."""


@dataclass(frozen=True)
class Setting:
    """What a form knows about one setting, wherever it is stored."""

    name: str
    label: str
    help: str
    default: Any
    kind: type[PerUser]

    def read(self, typed: str) -> Any:
        """The value that somebody typed, or None if it is none."""
        raise NotImplementedError

    def words(self, value: Any) -> str:
        """How a value is said."""
        raise NotImplementedError

    def seen(self, given: str) -> Any:
        """What a form says it has shown; what it cannot have shown is equal to nothing."""
        return self.read(given)

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        """The row as it is then. ConfigError or ValidationError: it was refused."""
        return change(self.kind, user, {self.name: value}, seen=seen)

    def stored(self, user: User) -> Any:
        return getattr(self.kind.of(user), self.name)


@dataclass(frozen=True)
class Number(Setting):
    """A limit: a slider and a number."""

    minimum: int
    maximum: int

    def read(self, typed: str) -> int | None:
        """As people write it, also with commas; not a fraction, not a power."""
        typed = typed.strip()
        return int(typed.replace(",", "")) if _WHOLE.fullmatch(typed) else None

    def words(self, value: int) -> str:
        return f"{value:,}"

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        return change_limits(user, {self.name: value}, seen=seen)

    @property
    def step(self) -> int:
        """Of the slider: a round number that meets the default and both ends."""
        span, way = self.maximum - self.minimum, self.default - self.minimum
        round_numbers = (n * 10**power for power in range(6) for n in (1, 2, 5))
        fitting = [n for n in round_numbers if n * STEPS <= span and not (span % n or way % n)]
        return max(fitting, default=1)


@dataclass(frozen=True)
class Choice(Setting):
    """One of a few names."""

    choices: Callable[[], Mapping[str, str]]

    def read(self, typed: str) -> str | None:
        return typed if typed in self.choices() else None

    def seen(self, given: str) -> str:
        return given  # also a name that nothing is known by any more

    def words(self, value: str) -> str:
        return self.choices().get(value, value)

    def store(self, user: User, value: Any, seen: Mapping[str, Any]) -> Any:
        if value is None:
            raise ConfigError({self.name: self._problem(self.stored(user))})
        return super().store(user, value, seen)

    def _problem(self, in_force: str) -> str:
        names = "; ".join(self.choices().values())
        return f"Choose one of these: {names}. Still using: {self.words(in_force)}."


@dataclass(frozen=True)
class Form:
    """A setting as it is shown. `typed` stays in its field when it was refused."""

    setting: Setting
    value: Any
    typed: str | None = None
    error: str = ""
    elsewhere: bool = False
    saved: bool = False
    row: PerUser | None = None
    """As a save left it: nobody has to ask for it again."""

    @property
    def name(self) -> str:
        return self.setting.name

    @property
    def shown(self) -> str:
        return str(self.value) if self.typed is None else self.typed

    @property
    def in_words(self) -> str:
        return self.setting.words(self.value)

    @property
    def default_in_words(self) -> str:
        return self.setting.words(self.setting.default)

    @property
    def is_default(self) -> bool:
        return bool(self.value == self.setting.default)

    @property
    def choices(self) -> list[tuple[str, str]]:
        """What can be chosen; also a stored name that nothing is known by any more."""
        if not isinstance(self.setting, Choice):
            return []
        known = dict(self.setting.choices())
        return list({**known, self.value: known.get(self.value, self.value)}.items())

    @property
    def status(self) -> int:
        return 422 if self.error else 409 if self.elsewhere else 200


def save(user: User, setting: Setting, typed: str, seen: str | None = None) -> Form:
    """Store what was typed, or say why not. `seen` is what stood there before it was typed."""
    name, value = setting.name, setting.read(typed)
    expected = {} if seen is None else {name: setting.seen(seen)}
    try:
        row = setting.store(user, value, expected)
        return Form(setting, getattr(row, name), saved=True, row=row)
    except ConfigError as refused:
        problem = refused.problems[name]
    except ValidationError as refused:
        problem = " ".join(refused.messages)
    except ChangedElsewhere as now:
        if now.value == value:  # sent twice, or both want the same
            return Form(setting, value, saved=True)
        return Form(setting, now.value, typed[:LONGEST], elsewhere=True)
    return Form(setting, setting.stored(user), typed[:LONGEST], problem)


def reset(user: User, setting: Setting) -> Form:
    return save(user, setting, str(setting.default))


def forms(user: User, known: Mapping[str, Setting], but: Form | None = None) -> list[Form]:
    """All of them as they are stored; `but` is one that has something to say."""
    rows = {kind: kind.of(user) for kind in {setting.kind for setting in known.values()}}
    return [
        but if but and but.name == name else Form(setting, getattr(rows[setting.kind], name))
        for name, setting in known.items()
    ]


def _number(limit: Limit) -> Number:
    return Number(
        name=limit.name,
        label=limit.label,
        help=limit.help,
        default=limit.default,
        kind=UserAgentConfig,
        minimum=limit.minimum,
        maximum=limit.maximum,
    )


def _trees() -> dict[str, str]:
    """Registered while apps are loaded, so they are asked for when they are needed."""
    named = {name: _described(name, tree) for name, tree in TREES}
    return {"": f"As this site: {settings.ORACLE_DEFAULT_TREE}", **named}


def _described(name: str, tree: type) -> str:
    about = (tree.__doc__ or "").strip().partition("\n")[0]
    return f"{name.capitalize()}: {about}" if about else name.capitalize()


AGENT: dict[str, Setting] = {
    **{name: _number(limit) for name, limit in LIMITS.items()},
    "default_tree": Choice(
        name="default_tree",
        label="Mode",
        help="The decision tree of a question that names none; the composer offers the others.",
        default="",
        kind=UserAgentConfig,
        choices=_trees,
    ),
}
APPEARANCE: dict[str, Setting] = {
    "theme": Choice(
        name="theme",
        label="Theme",
        help="How pages look to you, on every device you sign in with.",
        default="",
        kind=Appearance,
        choices=lambda: dict(Appearance.Theme.choices),
    ),
}
