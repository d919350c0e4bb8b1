"""The one table of good and bad input, made of the one definition of the limits.

Every door to a limit is tried with it: the row, the form, the page, the database, the API.
"""

from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import connection
from django.test import Client

from agents.core.config import LIMITS, AgentConfigBounds
from agents.models import SettingChange

NEVER = {
    "negative": "-1",
    "fraction": "1.5",
    "power": "1e9",
    "blank": "",
    "spaces": "  ",
    "words": "twelve",
    "emoji": "🙂",
    "10,000 digits": "9" * 10_000,
    "not a number": "NaN",
    "endless": "Infinity",
    "array": "[12]",
    "object": '{"a": 12}',
    "hexadecimal": "0x10",
    "two numbers": "12 13",
    "comma in the wrong place": "1,2",
    "null": "\x00",
    "markup": "<b>12</b>",
}
"""Refused wherever a limit is."""
GUESSED = {"underscore": "1_0", "wide digits": "１２", "zero and more": "12.0"}  # noqa: RUF001  # wide on purpose
"""Python would guess what these mean; a form and a program are asked to say it plainly."""


@dataclass(frozen=True)
class Case:
    """Something typed for a limit. `value` is what it means; None: nothing."""

    limit: AgentConfigBounds
    what: str
    typed: str
    value: int | None

    @property
    def ok(self) -> bool:
        bounds = range(self.limit.minimum, self.limit.maximum + 1)
        return self.value is not None and self.value in bounds

    def __str__(self) -> str:
        return f"{self.limit.name}: {self.what}"


def numbers() -> list[Case]:
    return [
        Case(limit, what, str(value), value)
        for limit in LIMITS.values()
        for what, value in {
            "below": limit.minimum - 1,
            "lowest": limit.minimum,
            "highest": limit.maximum,
            "above": limit.maximum + 1,
            "far above": 10**9,
        }.items()
    ]


def nonsense() -> list[Case]:
    return [Case(limit, *named, None) for limit in LIMITS.values() for named in NEVER.items()]


def guesses() -> list[Case]:
    return [Case(limit, *named, None) for limit in LIMITS.values() for named in GUESSED.items()]


def stored(user: User) -> Any:
    """Every byte of a user's limits, and how many changes are recorded."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM agents_useragentconfig WHERE user_id = %s", [user.pk])
        return cursor.fetchall(), SettingChange.objects.filter(user=user).count()


def browser(user: User, **options: Any) -> Client:
    """A browser in which somebody is signed in."""
    client = Client(**options)
    client.force_login(user)
    return client
