"""Conditions: expressions that hold or do not, and tell which part of them did not."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.core.control.compiler import Compiler
from agents.core.control.evaluation import Evaluation, Run, Unanswerable
from agents.core.control.expression import (
    TOO_DEEP,
    ExpressionSource,
    InvalidExpression,
    check_compiled,
)
from agents.core.control.kinds import TRUTH, RecordKind, ValueKind, join_kinds, kind_of
from agents.core.control.language import Language
from agents.core.control.operators import ORDERINGS, Compare, build_comparer
from agents.core.control.problems import PlacedProblem

MAX_SHOWN = 80
_SCALARS = frozenset({bool, int, float, str, type(None)})


class FalsePart(NamedTuple):
    """What did not hold of a condition: its words, and the values that it looked at."""

    text: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return describe_false_part(self.text, self.values)


def describe_false_part(text: str, values: tuple[Any, ...]) -> str:
    """Say of a part, by its words and the values that it looked at, that it did not hold."""
    return f"{text} did not hold: {' and '.join([_show_value(value) for value in values])}"


Search = Callable[[Evaluation], tuple[Any, ...] | None]
"""Gives the values that a part looked at if it does not hold, and None if it does."""


Glance = Callable[[Mapping[str, Any]], tuple[str, tuple[Any, ...]] | None]
"""Gives what a false part is made of, or None: then one has to look. It takes no steps."""


@dataclass(frozen=True, slots=True)
class Condition:
    """What has to hold: all of its parts, which `and` joins."""

    text: str
    max_steps: int
    _parts: tuple[tuple[str, Search], ...]
    glance: Glance | None = None
    """Tells at once that the first part does not hold, if that compares a fact with a number."""

    def find_false_part(self, values: Mapping[str, Any]) -> FalsePart | None:
        """Return the first part that does not hold, or None: it holds. Raises Unanswerable."""
        found = self.search(Evaluation(values, self.max_steps))
        return None if found is None else FalsePart(*found)

    def search(self, evaluation: Evaluation) -> tuple[str, tuple[Any, ...]] | None:
        """Return what a false part is made of. Rules ask at every event, and rarely want more."""
        try:
            for text, search in self._parts:
                if (values := search(evaluation)) is not None:
                    return text, values
        except RecursionError:
            raise Unanswerable((1, 1), TOO_DEEP) from None
        return None


def parse_condition(text: str, language: Language) -> Condition:
    """Read a condition. Raises InvalidExpression."""
    source = ExpressionSource(text)
    body = source.parse(language)
    compiler = Compiler(language, source.find_place)
    is_joined = isinstance(body, ast.BoolOp) and isinstance(body.op, ast.And)
    nodes = body.values if isinstance(body, ast.BoolOp) and is_joined else [body]
    try:
        found = [_compile_part(compiler, node) for node in nodes]
    except RecursionError:
        raise InvalidExpression([PlacedProblem(1, 1, TOO_DEEP)]) from None
    check_compiled(compiler, body, join_kinds(kind for kind, _ in found), TRUTH)
    texts = [*map(source.get_text, nodes)]
    parts = zip(texts, (search for _, search in found), strict=True)
    glance = _build_glance(nodes[0], texts[0], language)
    return Condition(text, language.max_steps, tuple(parts), glance)


def _build_glance(node: ast.expr, text: str, language: Language) -> Glance | None:
    """Return what looks at a number that is a fact, compared with one that is written there: most
    rules begin with it, and most of the time it does not hold."""
    match node:
        case ast.Compare(
            left=ast.Attribute(value=ast.Name(id=thing), attr=name),
            ops=[order],
            comparators=[ast.Constant(value=int() | float() as bound)],
        ) if type(order) in ORDERINGS and isinstance(language.names.get(thing), RecordKind):
            is_ordered = ORDERINGS[type(order)][1]
        case _:
            return None

    def glance(values: Mapping[str, Any]) -> tuple[str, tuple[Any, ...]] | None:
        fact = (values[thing] or {}).get(name)
        if (type(fact) is int or type(fact) is float) and not is_ordered(fact, bound):
            return text, (fact, bound)
        return None

    return glance


def _compile_part(compiler: Compiler, node: ast.expr) -> tuple[ValueKind, Search]:
    """Return the kind of a part, and what looks whether it holds: each value is worked out once."""
    match node:
        case ast.Compare(ops=[op]):
            left, right = operands = compiler.compile_operands(node)
            kind = compiler.join_operands(node, operands).kind
            compare = build_comparer(type(op), compiler.find_place(node))
            match type(op), node.comparators:
                case order, [ast.Constant(value=int() | float() as bound)] if order in ORDERINGS:
                    return kind, _search_bound(left.run, bound, ORDERINGS[order][1], compare)
            return kind, _search_comparison(left.run, right.run, compare)
        case ast.Compare():
            operands = compiler.compile_operands(node)
            part = compiler.join_operands(node, operands)
            return part.kind, _search_chain(part.run, [each.run for each in operands])
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return TRUTH, _search_value(compiler.compile(inner).run, holds=False)
    part = compiler.compile(node)
    return part.kind, _search_value(part.run, holds=True)


def _search_comparison(left: Run, right: Run, compare: Compare) -> Search:
    def search(evaluation: Evaluation) -> tuple[Any, ...] | None:
        first, second = left(evaluation), right(evaluation)
        if compare(evaluation, first, second):
            return None
        if type(first) in _SCALARS and type(second) in _SCALARS:
            return first, second
        return _keep_value(first), _keep_value(second)

    return search


def _search_bound(
    value: Run, bound: float, is_ordered: Callable[[Any, Any], Any], compare: Compare
) -> Search:
    """Return the same for a number that is compared with one that is written there: most rules
    look at such a number whenever something happens."""

    def search(evaluation: Evaluation) -> tuple[Any, ...] | None:
        first = value(evaluation)
        if type(first) is int or type(first) is float:
            return None if is_ordered(first, bound) else (first, bound)
        return None if compare(evaluation, first, bound) else (_keep_value(first), bound)

    return search


def _search_chain(run: Run, operands: list[Run]) -> Search:
    def search(evaluation: Evaluation) -> tuple[Any, ...] | None:
        if run(evaluation):
            return None
        try:
            return tuple(_keep_value(one(evaluation)) for one in operands)
        except Unanswerable:  # what stands behind the comparison that did not hold
            return ()

    return search


def _search_value(run: Run, *, holds: bool) -> Search:
    def search(evaluation: Evaluation) -> tuple[Any, ...] | None:
        value = run(evaluation)
        return None if bool(value) is holds else (_keep_value(value),)

    return search


def _keep_value(value: Any) -> Any:
    """Return what was looked at, as it is now: lists and maps of a run grow."""
    return value if type(value) in _SCALARS else _Sized(kind_of(value).name, len(value))


@dataclass(frozen=True, slots=True)
class _Sized:
    """A list or a map, of which only the length is kept."""

    name: str
    length: int


def _show_value(value: Any) -> str:
    kind = type(value)
    if kind is int:  # most are
        return f"{value:,}"
    if kind is float:
        return f"{value:,.3f}"
    if kind is bool:
        return "true" if value else "false"
    if kind is _Sized:
        return f"{value.name} of {value.length}"
    if value is None:
        return "nothing"
    return f'"{value}"' if len(value) <= MAX_SHOWN else f'"{value[:MAX_SHOWN]}…"'
