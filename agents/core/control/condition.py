"""Conditions: expressions that hold or do not, and tell which part of them did not."""

import ast
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from agents.core.control.compiler import Compiler
from agents.core.control.evaluation import Evaluation, Run, Unanswerable
from agents.core.control.expression import TOO_DEEP, ExpressionSource, parse_expression
from agents.core.control.kinds import TRUTH, kind_of
from agents.core.control.language import Language

MAX_SHOWN = 80
_SCALARS = frozenset({bool, int, float, str, type(None)})


class FalsePart(NamedTuple):
    """What did not hold of a condition: its words, and the values that it looked at. A tuple: one
    is made at nearly every look of a rule."""

    text: str
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return f"{self.text} did not hold: {' and '.join(map(_show_value, self.values))}"


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    run: Run
    operands: tuple[Run, ...]


@dataclass(frozen=True, slots=True)
class Condition:
    """What has to hold: all of its parts, which `and` joins."""

    text: str
    _parts: tuple[_Part, ...]
    _max_steps: int

    def find_false_part(self, values: Mapping[str, Any]) -> FalsePart | None:
        """Return the first part that does not hold, or None: it holds. Raises Unanswerable."""
        evaluation = Evaluation(values, self._max_steps)
        try:
            for part in self._parts:
                if not part.run(evaluation):
                    return FalsePart(part.text, _evaluate_operands(part, evaluation))
        except RecursionError:
            raise Unanswerable((1, 1), TOO_DEEP) from None
        return None


def parse_condition(text: str, language: Language) -> Condition:
    """Read a condition. Raises InvalidExpression."""
    parse_expression(text, language, TRUTH)
    source = ExpressionSource(text)
    body = source.parse(language)
    compiler = Compiler(language, source.find_place)
    match body:
        case ast.BoolOp(op=ast.And(), values=nodes):
            pass
        case _:
            nodes = [body]
    parts = tuple(
        _Part(source.get_text(node), compiler.compile(node).run, _compile_operands(compiler, node))
        for node in nodes
    )
    return Condition(text, parts, language.max_steps)


def _compile_operands(compiler: Compiler, node: ast.expr) -> tuple[Run, ...]:
    """Return what works out the values to show: those compared, or the part's own."""
    if isinstance(node, ast.Compare):
        nodes = [node.left, *node.comparators]
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        nodes = [node.operand]
    else:
        nodes = [node]
    return tuple(compiler.compile(one).run for one in nodes)


def _evaluate_operands(part: _Part, evaluation: Evaluation) -> tuple[Any, ...]:
    """Return what was looked at, as it is now: lists and maps of a run grow."""
    try:
        values = [run(evaluation) for run in part.operands]
    except Unanswerable:
        return ()
    for at, value in enumerate(values):
        if type(value) not in _SCALARS:
            values[at] = _Sized(kind_of(value).name, len(value))
    return tuple(values)


@dataclass(frozen=True, slots=True)
class _Sized:
    """A list or a map, of which only the length is kept."""

    name: str
    length: int


def _show_value(value: Any) -> str:
    if isinstance(value, _Sized):
        return f"{value.name} of {value.length}"
    if isinstance(value, str):
        shown = value if len(value) <= MAX_SHOWN else f"{value[:MAX_SHOWN]}…"
        return f'"{shown}"'
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:,}" if isinstance(value, int) else f"{value:,.3f}"
