"""Settings of each person for their agent; defaults until they set something."""

import logging
import re
from functools import lru_cache
from typing import Any, Self

from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models

from agents.core.config import LIMITS, AgentConfig
from agents.core.decisions import TREES, check_tree_name
from agents.core.registry import NotRegistered

logger = logging.getLogger(__name__)
_BEHAVIOUR_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
MAX_VALUE_LENGTH = 200
"""Of a setting, as a change of it records it."""


class DefaultingIntegerField(models.PositiveIntegerField):  # type: ignore[type-arg]  # has none at run time
    """A column whose default replaces what is no integer.

    SQLite stores 10.5 in a column of integers, and its bounds hold, so a program with access to the
    database could make every request of that person fail.
    """

    def from_db_value(self, value: Any, *_: object) -> Any:
        if value is None or isinstance(value, int):
            return value
        _log_replaced(f"{self.model._meta.db_table}.{self.column}", str(value), self.default)
        return self.default

    def deconstruct(self) -> Any:
        """Return the class of Django's, so that migrations need not know this one."""
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.PositiveIntegerField", args, kwargs


@lru_cache(maxsize=1_000)
def _log_replaced(column: str, value: str, default: int) -> None:
    """Log a value once, not at every read."""
    logger.warning(
        "%s is %s in the database, which is no whole number; using the default, %d",
        *(column, value, default),
    )


def limit_field(name: str) -> Any:
    """Return the column of one limit, from its one definition."""
    limit = LIMITS[name]
    return DefaultingIntegerField(
        limit.label,
        default=limit.default,
        help_text=limit.help,
        validators=[MinValueValidator(limit.minimum), MaxValueValidator(limit.maximum)],
    )


def bounds_constraint(name: str, minimum: int, maximum: int) -> models.CheckConstraint:
    """Return the same bounds, held by the database against everything that is not a form."""
    return models.CheckConstraint(
        condition=models.Q(**{f"{name}__gte": minimum, f"{name}__lte": maximum}),
        name=f"{name}_in_bounds",
    )


def known_tree(name: str) -> None:
    """Refuse what can be no mode. Whether there is such a behaviour is known where one chooses."""
    if name not in TREES and _BEHAVIOUR_NAME.fullmatch(name):
        return
    try:
        check_tree_name(name)
    except NotRegistered as error:
        raise ValidationError(str(error)) from None


class AskBeforeWriting(models.TextChoices):
    """When tools that change something ask first; of several wishes the strictest holds."""

    NEVER = "never", "Never: every change can be taken back"
    ONCE = "once", "Once in a run"
    ALWAYS = "always", "Every time"


class UserSettings(models.Model):
    """Settings that a user has exactly one row of, made on first access."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE)

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return f"{self._meta.verbose_name} of {self.user}"

    @classmethod
    def for_user(cls, user: AbstractBaseUser) -> Self:
        """Return the user's settings; the defaults, if they never set any."""
        return cls._default_manager.get_or_create(user=user)[0]


class UserAgentConfig(UserSettings):
    """A user's limits. `version` grows with every change, so that a stale form is noticed."""

    max_iterations = limit_field("max_iterations")
    soft_warning_percent = limit_field("soft_warning_percent")
    token_budget = limit_field("token_budget")
    token_warning_percent = limit_field("token_warning_percent")
    timeout_seconds = limit_field("timeout_seconds")
    max_tool_calls_per_turn = limit_field("max_tool_calls_per_turn")
    max_parallel_tools = limit_field("max_parallel_tools")
    default_tree = models.CharField(
        max_length=64, blank=True, validators=[known_tree], help_text="Empty: the site's default."
    )
    ask_before_writing = models.CharField(
        max_length=8,
        choices=AskBeforeWriting.choices,
        default=AskBeforeWriting.NEVER,
        help_text="Whether tools that change something wait for your yes.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name = "agent configuration"
        constraints = [
            bounds_constraint(limit.name, limit.minimum, limit.maximum) for limit in LIMITS.values()
        ]

    @property
    def tree(self) -> str:
        """The mode of a run that names none: a decision tree, or a behaviour.

        One that was saved when it could still be chosen, and is internal now, is not used.
        """
        own = "" if TREES.is_internal(self.default_tree) else self.default_tree
        return own or str(settings.ORACLE_DEFAULT_TREE)

    def to_config(self) -> AgentConfig:
        """Return the limits as the loop takes them."""
        return AgentConfig(**{name: getattr(self, name) for name in LIMITS})


class ModelSettings(UserSettings):
    """Which models a user's agent asks, and how. An empty name is the site's default.

    `version` grows with every change, so that a stale program is noticed.
    `provider` names a preset of `agents.llm.providers`; empty: the site's own endpoint and key.
    """

    class Effort(models.TextChoices):
        LOW = "low", "Low"
        MEDIUM = "medium", "Medium"
        HIGH = "high", "High"

    provider = models.CharField(max_length=32, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    sealed_key = models.TextField(blank=True, editable=False)
    """See agents.endpoints.encryption: written, used, never shown."""
    key_hint = models.CharField(max_length=8, blank=True, editable=False)
    oracle_model = models.CharField(max_length=200, blank=True)
    subagent_model = models.CharField(max_length=200, blank=True)
    thinking_enabled = models.BooleanField(default=False)
    reasoning_effort = models.CharField(max_length=8, choices=Effort.choices, default=Effort.MEDIUM)
    librarian_timeout = DefaultingIntegerField(
        default=1_200,
        validators=[MinValueValidator(60), MaxValueValidator(3_600)],
        help_text="Seconds that a librarian may take; never more than its run has left.",
    )
    delegate_long_results = models.BooleanField(
        default=True,
        help_text="A librarian reads results that are too long; the model gets its summary.",
    )
    max_context_nodes = DefaultingIntegerField(
        default=30,
        validators=[MinValueValidator(5), MaxValueValidator(100)],
        help_text="Earlier exchanges that are replayed to the model.",
    )
    version = models.PositiveIntegerField(default=1, editable=False)

    class Meta:
        verbose_name = "model settings"
        constraints = [
            bounds_constraint("librarian_timeout", 60, 3_600),
            bounds_constraint("max_context_nodes", 5, 100),
        ]

    @property
    def is_embedded(self) -> bool:
        """Whether nobody has named an endpoint, so that the embedded model answers."""
        return not (self.provider or settings.ORACLE_LLM_BASE_URL)

    @property
    def models(self) -> tuple[str, ...]:
        """What may be chosen for a question, the user's own first. The embedded model is alone."""
        if self.is_embedded:
            return ()
        if self.provider:
            return tuple(dict.fromkeys(filter(None, (self.oracle_model, self.subagent_model))))
        own = self.oracle_model or settings.ORACLE_LLM_MODEL
        return tuple(dict.fromkeys((own, *settings.ORACLE_LLM_MODELS)))


class ProviderSettings(models.Model):
    """What a person has entered for a provider that is not chosen now; it waits until it is.

    For the chosen provider the same columns of `ModelSettings` count, and there is no row here.
    """

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        related_name="provider_settings",
        db_index=False,  # the unique (user, provider) serves
    )
    provider = models.CharField(max_length=32, blank=True)
    base_url = models.CharField(max_length=500, blank=True)
    sealed_key = models.TextField(blank=True, editable=False)
    """Bound to the origin that it was entered for: see agents.endpoints.keys."""
    key_hint = models.CharField(max_length=8, blank=True, editable=False)

    class Meta:
        verbose_name = "provider settings"
        constraints = [
            models.UniqueConstraint(
                fields=["user", "provider"], name="one_row_per_person_and_provider"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.provider or 'the site'} of {self.user}"


class Appearance(UserSettings):
    """How pages look to a user."""

    class Theme(models.TextChoices):
        SYSTEM = "", "As the system"
        LIGHT = "light", "Light"
        DARK = "dark", "Dark"

    theme = models.CharField(max_length=8, choices=Theme.choices, blank=True, default=Theme.SYSTEM)

    class Meta:
        verbose_name = "appearance"


class SettingChange(models.Model):
    """One change of one setting. Rows are added, never changed. A secret is only hinted at."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="setting_changes"
    )
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    name = models.CharField(max_length=64)
    old = models.CharField(max_length=MAX_VALUE_LENGTH)
    new = models.CharField(max_length=MAX_VALUE_LENGTH)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-at", "-id"]
        indexes = [models.Index(fields=["user", "-at"])]

    def __str__(self) -> str:
        return f"{self.name}: {self.old} to {self.new}"
