"""Sentences with fields: `{tool} failed: {error}`. No attributes, no indexes, no padding.

Python's own `str.format` gives access to all of these, so it is not used on what people wrote.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any

from agents.core.control.kinds import NUMBER, ValueKind, fits
from agents.core.control.problems import PlacedProblem, suggest_name

MAX_FIELD_LENGTH = 120
MAX_PROBLEMS = 50
"""Of each sort in one template: more would help nobody, and each is looked for from the start."""
FORMATS = (",", "g", ".1f")
_FIELD = re.compile(r"\{([^{}]*)\}")
_STRAY = re.compile(r"[{}]")


class InvalidTemplate(Exception):
    """A text is not a template for these fields. `problems` has at least one, by place."""

    def __init__(self, problems: list[PlacedProblem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("; ".join(map(str, self.problems)))


@dataclass(frozen=True, slots=True)
class Template:
    """A text that was read: words and fields in turn, each field with its format."""

    text: str
    _parts: tuple[str | tuple[str, str], ...]

    def render(
        self, values: Mapping[str, Any], show_text: Callable[[str], str] | None = None
    ) -> str:
        """Return the text with its fields filled in: texts as `show_text` has them, or else on one
        line and cut."""
        return "".join(
            part
            if isinstance(part, str)
            else format_value(values.get(part[0]), part[1], show_text or shorten)
            for part in self._parts
        )


def parse_template(text: str, fields: Mapping[str, ValueKind] | None = None) -> Template:
    """Read a template; without `fields`, any field may be named. Raises InvalidTemplate."""
    problems: list[PlacedProblem] = []
    parts: list[str | tuple[str, str]] = []
    at = 0
    for found in _FIELD.finditer(text):
        parts.append(text[at : found.start()])
        name, _, how = found[1].partition(":")
        if len(problems) < MAX_PROBLEMS and (problem := _check_field(name, how, fields)):
            problems.append(_place_problem(text, found.start(), problem))
        parts.append((name, how))
        at = found.end()
    parts.append(text[at:])
    plain = _FIELD.sub(lambda found: "_" * len(found[0]), text)
    for stray in islice(_STRAY.finditer(plain), MAX_PROBLEMS):
        problems.append(_place_problem(text, stray.start(), "this bracket has no partner"))
    if problems:
        raise InvalidTemplate(problems)
    return Template(text, tuple(part for part in parts if part))


def _check_field(name: str, how: str, fields: Mapping[str, ValueKind] | None) -> str:
    """Return what is wrong with a field, or nothing."""
    if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
        return f"{name[:80]!r} is not the name of a field"
    if fields is not None and name not in fields:
        return f"there is no field {name!r}{suggest_name(name, fields)}"
    if how and how not in FORMATS:
        return f"a field is written {{{name}}}, or with one of {', '.join(FORMATS)} after a colon"
    if how and fields is not None and not fits(fields[name], NUMBER):
        return f"{name} is {fields[name].name}, and only numbers have a format"
    return ""


def _place_problem(text: str, offset: int, message: str) -> PlacedProblem:
    before = text[:offset]
    return PlacedProblem(before.count("\n") + 1, offset - before.rfind("\n"), message)


def format_value(value: Any, how: str, show_text: Callable[[str], str]) -> str:
    """Return a value as a field shows it; `show_text` is asked for texts, lists and maps."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return _format_number(value, how)
    return show_text(str(value))


def _format_number(value: float, how: str) -> str:
    """Return a number as it is wanted. Events that rules emit may hold one of any length."""
    try:
        return shorten(format(value, how))
    except (OverflowError, ValueError):
        return "a number of very many digits"


def shorten(text: str) -> str:
    """Return a text on one line, cut to the length of a field."""
    shown = " ".join(text.split())
    return shown if len(shown) <= MAX_FIELD_LENGTH else f"{shown[: MAX_FIELD_LENGTH - 1]}…"
