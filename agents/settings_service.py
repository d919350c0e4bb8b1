"""Settings are changed here and nowhere else, so that it is known who changed what, and when."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.contrib.auth.models import User
from django.db import transaction

from agents.core.config import LIMITS, AgentConfig, ConfigError, use_field_names
from agents.models.settings import (
    MAX_VALUE_LENGTH,
    ModelSettings,
    SettingChange,
    UserAgentConfig,
    UserSettings,
)

Row = TypeVar("Row", bound=UserSettings)


class SettingConflict(Exception):
    """A setting is no longer what it was when the form was made; `value` is what it is now."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(f"{name} was changed elsewhere to {value}.")
        self.name = name
        self.value = value


def update_settings(
    kind: type[Row],
    user: User,
    values: Mapping[str, Any],
    *,
    expected: Mapping[str, Any] | None = None,
    by: User | None = None,
    recorded_as: Mapping[str, tuple[str, str]] | None = None,
) -> Row:
    """Store new values of a user's settings, and who changed what; ValidationError changes nothing.

    `expected` is what the person saw: if one differs now, nothing is stored. `recorded_as` has
    old and new of what must not be recorded as it is.
    """
    with transaction.atomic():
        row = lock_settings(kind, user)
        for name, value in (expected or {}).items():
            if getattr(row, name) != value:
                raise SettingConflict(name, getattr(row, name))
        changed = {n: v for n, v in values.items() if getattr(row, n) != v}
        if not changed:
            return row
        record = [
            _build_change(
                user, by, name, (recorded_as or {}).get(name, (getattr(row, name), value))
            )
            for name, value in changed.items()
        ]
        for name, value in changed.items():
            setattr(row, name, value)
        if isinstance(row, UserAgentConfig | ModelSettings):
            row.version += 1
        _validate(row, set(changed))
        row.save()
        SettingChange.objects.bulk_create(record)
    return row


def lock_settings(kind: type[Row], user: User) -> Row:
    """Return a user's settings, locked until the transaction around it ends."""
    row, _ = kind._default_manager.select_for_update().get_or_create(user=user)
    return row


def update_limits(
    user: User,
    values: Mapping[str, Any],
    *,
    expected: Mapping[str, Any] | None = None,
    by: User | None = None,
) -> UserAgentConfig:
    """Change some of a user's limits; ConfigError says what is wrong with which."""
    try:
        config = AgentConfig.build(values)
    except ConfigError:  # again, now with what is in force: most changes are good ones
        config = AgentConfig.build(values, effective_config(user))
    checked = {name: getattr(config, name) for name in use_field_names(values)}
    return update_settings(UserAgentConfig, user, checked, expected=expected, by=by)


def effective_config(user: User, own: UserAgentConfig | None = None) -> AgentConfig:
    """Return the limits that somebody's runs have, before a mode makes them tighter.

    `own` are their settings, for those who have read them already.
    """
    return (own or UserAgentConfig.for_user(user)).to_config()


def reset_limits(user: User, *names: str, by: User | None = None) -> UserAgentConfig:
    """Set these limits, or all of them, back to the defaults."""
    defaults = {name: LIMITS[name].default for name in names or LIMITS}
    return update_settings(UserAgentConfig, user, defaults, by=by)


def _validate(row: UserSettings, changed: set[str]) -> None:
    """Validate only what is changed: a name no longer known must not block all else."""
    others = {column.name for column in row._meta.concrete_fields} - changed
    row.full_clean(exclude=others, validate_unique=False, validate_constraints=False)


def _build_change(user: User, by: User | None, name: str, values: tuple[Any, Any]) -> SettingChange:
    old, new = (str(value)[:MAX_VALUE_LENGTH] for value in values)
    return SettingChange(user=user, by=by or user, name=name, old=old, new=new)
