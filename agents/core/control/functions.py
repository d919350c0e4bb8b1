"""The functions that an expression may call by name. None of them can be slow or do anything."""

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, ValueKind

MAX_DIGITS = 12
COMPARISONS_A_STEP = 200
"""Characters that a pattern compares in the time of one step."""
_LIST = ListKind(ANY)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpressionFunction:
    """A function by name. For each parameter, the kinds it takes; `call` may raise TypeError."""

    parameters: tuple[tuple[ValueKind, ...], ...]
    result: ValueKind | None
    """None: the kind of the items of its list."""
    call: Callable[..., Any]
    optional: int = 0
    """How many of the last parameters may be left out."""
    is_lazy: bool = False
    """Whether it may stop in the middle of a loop."""
    count_steps: Callable[..., int] | None = None
    """What a call costs, besides a look at each of its values."""


def _convert_to_text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    raise TypeError("no text")


def _round_number(value: Any, digits: Any = 0) -> Any:
    if type(digits) is not int or not 0 <= digits <= MAX_DIGITS:
        raise TypeError("digits")
    return round(value, digits) if digits else round(value)


def _matches(text: Any, pattern: Any) -> bool:
    if not (isinstance(text, str) and isinstance(pattern, str)):
        raise TypeError("no text")
    if "?" in pattern:
        return _compile_pattern(pattern).match(text) is not None
    first, *parts = pattern.split("*")
    if not parts:
        return text == pattern
    last = parts.pop()
    at, end = len(first), len(text) - len(last)
    if at > end or not (text.startswith(first) and text.endswith(last)):
        return False
    for part in parts:  # each where it comes first: that leaves the others the most room
        if (found := text.find(part, at, end)) < 0:
            return False
        at = found + len(part)
    return True


def _count_comparisons(text: Any, pattern: Any) -> int:
    """Return the steps of a pattern with ?, which may compare all of itself at every place. Another
    one goes through the text once."""
    is_dear = isinstance(text, str) and isinstance(pattern, str) and "?" in pattern
    return len(text) * len(pattern) // COMPARISONS_A_STEP if is_dear else 0


@lru_cache(maxsize=256)
def _compile_pattern(pattern: str) -> re.Pattern[str]:
    """Compile a pattern with * and ?. What fnmatch makes of those never goes back in the text."""
    return re.compile(fnmatch.translate(pattern.replace("[", "[[]")))


_NUMBERS = (ListKind(NUMBER), ListKind(TRUTH))
_ORDERED = (ListKind(NUMBER), ListKind(TEXT))

FUNCTIONS: Mapping[str, ExpressionFunction] = {
    "len": ExpressionFunction(parameters=((TEXT, _LIST, MapKind(ANY)),), result=NUMBER, call=len),
    "any": ExpressionFunction(parameters=((_LIST,),), result=TRUTH, call=any, is_lazy=True),
    "all": ExpressionFunction(parameters=((_LIST,),), result=TRUTH, call=all, is_lazy=True),
    "sum": ExpressionFunction(parameters=(_NUMBERS,), result=NUMBER, call=sum),
    "min": ExpressionFunction(
        parameters=(_ORDERED,), result=None, call=lambda items: min(items, default=None)
    ),
    "max": ExpressionFunction(
        parameters=(_ORDERED,), result=None, call=lambda items: max(items, default=None)
    ),
    "abs": ExpressionFunction(parameters=((NUMBER,),), result=NUMBER, call=abs),
    "round": ExpressionFunction(
        parameters=((NUMBER,), (NUMBER,)), result=NUMBER, call=_round_number, optional=1
    ),
    "lower": ExpressionFunction(parameters=((TEXT,),), result=TEXT, call=str.lower),
    "text": ExpressionFunction(
        parameters=((TEXT, NUMBER, TRUTH),), result=TEXT, call=_convert_to_text
    ),
    "starts_with": ExpressionFunction(
        parameters=((TEXT,), (TEXT,)), result=TRUTH, call=str.startswith
    ),
    "ends_with": ExpressionFunction(parameters=((TEXT,), (TEXT,)), result=TRUTH, call=str.endswith),
    "matches": ExpressionFunction(
        parameters=((TEXT,), (TEXT,)),
        result=TRUTH,
        call=_matches,
        count_steps=_count_comparisons,
    ),
}
