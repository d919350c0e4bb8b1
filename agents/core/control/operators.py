"""Arithmetic and comparisons of expressions: closures that check what they are given."""

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from agents.core.control.evaluation import Evaluation, Run, Unanswerable
from agents.core.control.kinds import kind_of
from agents.core.control.language import Language

Place = tuple[int, int]
Compare = Callable[[Evaluation, Any, Any], bool]
"""Whether a comparison of two values holds."""
_NUMBERS = frozenset({int, float})

ARITHMETIC: Mapping[type[ast.operator], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Add: ("+", operator.add),
    ast.Sub: ("-", operator.sub),
    ast.Mult: ("*", operator.mul),
    ast.Div: ("/", operator.truediv),
    ast.FloorDiv: ("//", operator.floordiv),
    ast.Mod: ("%", operator.mod),
    ast.Pow: ("**", operator.pow),
}
ORDERINGS: Mapping[type[ast.cmpop], tuple[str, Callable[[Any, Any], Any]]] = {
    ast.Lt: ("<", operator.lt),
    ast.LtE: ("<=", operator.le),
    ast.Gt: (">", operator.gt),
    ast.GtE: (">=", operator.ge),
}


def build_arithmetic(
    op: type[ast.operator], left: Run, right: Run, place: Place, language: Language
) -> Run:
    """Return what works out an operation on two numbers, or joins two texts."""
    symbol, compute = ARITHMETIC[op]
    if op is ast.Pow:
        compute = _bound_powers(language.max_exponent, place)
    limit, max_text = language.max_number, language.max_text

    def run(evaluation: Evaluation) -> Any:
        first, second = left(evaluation), right(evaluation)
        if type(first) in _NUMBERS and type(second) in _NUMBERS:
            try:
                value = compute(first, second)
            except ZeroDivisionError:
                raise Unanswerable(place, "this divides by zero") from None
            except OverflowError:
                raise Unanswerable(place, "the number is too large") from None
            return check_number(value, limit, place)
        if symbol == "+" and type(first) is str and type(second) is str:
            if len(first) + len(second) > max_text:
                raise Unanswerable(place, f"the text is longer than {max_text:,} characters")
            return first + second
        raise Unanswerable(place, describe_misfit(symbol, first, second))

    return run


def _bound_powers(limit: int, place: Place) -> Callable[[Any, Any], Any]:
    def compute_power(base: Any, exponent: Any) -> Any:
        if abs(exponent) > limit:
            raise Unanswerable(place, f"powers above {limit} are not worked out")
        return base**exponent

    return compute_power


def check_number(value: Any, limit: int, place: Place) -> Any:
    """Return a result that is a real number within the limit, or raise Unanswerable."""
    if type(value) is complex:
        raise Unanswerable(place, "this is not a real number")
    if not -limit <= value <= limit:
        raise Unanswerable(place, "the number is too large")
    return value


def describe_misfit(symbol: str, first: Any, second: Any) -> str:
    return f"{symbol} cannot be used on {kind_of(first).name} and {kind_of(second).name}"


def build_sign(operand: Run, place: Place, *, negative: bool) -> Run:
    """Return what gives a number its sign."""

    def run(evaluation: Evaluation) -> Any:
        value = operand(evaluation)
        if type(value) not in _NUMBERS:
            raise Unanswerable(place, f"- cannot be used on {kind_of(value).name}")
        return -value if negative else value

    return run


def build_comparison(op: type[ast.cmpop], left: Run, right: Run, place: Place) -> Run:
    """Return what works out two values, and compares them."""
    compare = build_comparer(op, place)
    return lambda evaluation: compare(evaluation, left(evaluation), right(evaluation))


def build_comparer(op: type[ast.cmpop], place: Place) -> Compare:
    """Return what compares two values."""
    if op in ORDERINGS:
        return _build_ordering(op, place)
    compare = _build_equality(place) if op in (ast.Eq, ast.NotEq) else _build_membership(place)
    if op in (ast.Eq, ast.In):
        return compare
    return lambda evaluation, first, second: not compare(evaluation, first, second)


def _build_equality(place: Place) -> Compare:
    def compare(evaluation: Evaluation, first: Any, second: Any) -> bool:
        evaluation.spend_on(first, place)
        return bool(first == second)

    return compare


NUMBERS = frozenset({int, float, bool, type(None)})
"""What takes no steps to look at."""


def _build_ordering(op: type[ast.cmpop], place: Place) -> Compare:
    """Return what puts two values in order. Nothing is neither more nor less than anything."""
    symbol, is_ordered = ORDERINGS[op]

    def compare(evaluation: Evaluation, first: Any, second: Any) -> bool:
        if type(first) not in NUMBERS:
            evaluation.spend_on(first, place)
        try:
            return bool(is_ordered(first, second))
        except TypeError:
            if first is None or second is None:
                return False
            raise Unanswerable(place, describe_misfit(symbol, first, second)) from None

    return compare


def _build_membership(place: Place) -> Compare:
    def compare(evaluation: Evaluation, first: Any, second: Any) -> bool:
        if second is None:
            return False
        evaluation.spend_on(second, place)
        try:
            return first in second
        except TypeError:
            raise Unanswerable(place, describe_misfit("in", first, second)) from None

    return compare
