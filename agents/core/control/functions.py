"""The functions that an expression may call by name. None of them can be slow or do anything."""

import fnmatch
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from agents.core.control.kinds import ANY, NUMBER, TEXT, TRUTH, ListKind, MapKind, ValueKind

MAX_DIGITS = 12
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
    return _compile_pattern(pattern).match(text) is not None


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
    "matches": ExpressionFunction(parameters=((TEXT,), (TEXT,)), result=TRUTH, call=_matches),
}
