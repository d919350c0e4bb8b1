"""The installed families of written tool calls: filled at import, closed after start-up."""

from collections.abc import Callable
from typing import TypeVar

from agents.core.registry import RegistrationError, Registry
from agents.llm.decoding.text_calls.base import Family

FAMILIES: Registry[Family] = Registry("text-call family")
F = TypeVar("F", bound=Family)


def text_call_family(name: str) -> Callable[[type[F]], type[F]]:
    """Class decorator: read tool calls that are written in this family's way, in every answer."""

    def register(cls: type[F]) -> type[F]:
        family = cls()
        _check_openers(name, family.openers)
        FAMILIES.register(name, family)
        return cls

    return register


def _check_openers(name: str, openers: tuple[str, ...]) -> None:
    taken = {opener: other for other, family in FAMILIES for opener in family.openers}
    for opener in openers:
        if not opener.startswith("<") or len(opener) < 2:
            raise RegistrationError(
                f"text-call family {name!r} opens with {opener!r}: an opener begins with '<' and "
                "has at least one more character."
            )
        for other, owner in taken.items():
            if opener.startswith(other) or other.startswith(opener):
                raise RegistrationError(
                    f"text-call family {name!r} opens with {opener!r}, and {owner!r} with "
                    f"{other!r}: none may be the beginning of another."
                )
