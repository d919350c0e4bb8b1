"""Settings are changed here and nowhere else, so that it is known who changed what, and when."""

from collections.abc import Mapping
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models, transaction

from agents.core.config import LIMITS, AgentConfig, ConfigError
from agents.models.settings import PerUser, UserAgentConfig

Row = TypeVar("Row", bound=PerUser)
LONGEST_VALUE = 200


class SettingChange(models.Model):
    """One change of one setting. Rows are added, never changed. A secret is only hinted at."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="setting_changes"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    name = models.CharField(max_length=64)
    old = models.CharField(max_length=LONGEST_VALUE)
    new = models.CharField(max_length=LONGEST_VALUE)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["user", "-at"])]

    def __str__(self) -> str:
        return f"{self.name}: {self.old} to {self.new}"


class ChangedElsewhere(Exception):
    """A setting is no longer what it was when the form was made; `value` is what it is now."""

    def __init__(self, name: str, value: Any) -> None:
        super().__init__(f"{name} was changed elsewhere to {value}.")
        self.name = name
        self.value = value


def change(
    kind: type[Row],
    user: User,
    values: Mapping[str, Any],
    *,
    seen: Mapping[str, Any] | None = None,
    by: User | None = None,
    shown: Mapping[str, tuple[str, str]] | None = None,
) -> Row:
    """Store new values of a user's settings, and who changed what; ValidationError changes nothing.

    `seen` is what the person saw: if one of these is otherwise now, nothing is stored. `shown` has
    old and new of what must not be recorded as it is.
    """
    with transaction.atomic():
        row, _ = kind._default_manager.select_for_update().get_or_create(user=user)
        for name, value in (seen or {}).items():
            if getattr(row, name) != value:
                raise ChangedElsewhere(name, getattr(row, name))
        changed = {n: v for n, v in values.items() if getattr(row, n) != v}
        if not changed:
            return row
        record = [
            _record(user, by, name, (shown or {}).get(name, (getattr(row, name), value)))
            for name, value in changed.items()
        ]
        for name, value in changed.items():
            setattr(row, name, value)
        if isinstance(row, UserAgentConfig):
            row.version += 1
        _check(row, set(changed))
        row.save()
        SettingChange.objects.bulk_create(record)
    return row


def change_limits(
    user: User,
    values: Mapping[str, Any],
    *,
    seen: Mapping[str, Any] | None = None,
    by: User | None = None,
) -> UserAgentConfig:
    """Change some of a user's limits; ConfigError says what is wrong with which."""
    try:
        config = AgentConfig.build(values)
    except ConfigError:  # again, now with what is in force: most changes are good ones
        config = AgentConfig.build(values, UserAgentConfig.of(user).to_config())
    checked = {name: getattr(config, name) for name in values}
    return change(UserAgentConfig, user, checked, seen=seen, by=by)


def reset_limits(user: User, *names: str, by: User | None = None) -> UserAgentConfig:
    """Back to the defaults: these limits, or all of them."""
    defaults = {name: LIMITS[name].default for name in names or LIMITS}
    return change(UserAgentConfig, user, defaults, by=by)


def _check(row: PerUser, changed: set[str]) -> None:
    """Only what is changed: a name that is no longer known must not block everything else."""
    others = {column.name for column in row._meta.concrete_fields} - changed
    row.full_clean(exclude=others, validate_unique=False, validate_constraints=False)


def _record(user: User, by: User | None, name: str, values: tuple[Any, Any]) -> SettingChange:
    old, new = (str(value)[:LONGEST_VALUE] for value in values)
    return SettingChange(user=user, by=by or user, name=name, old=old, new=new)
