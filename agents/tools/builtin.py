"""Tools that need nothing but their arguments."""

import ast
import operator
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated, Any

from pydantic import Field

from agents.tools.definition import ToolFailed
from agents.tools.registry import tool

_MAX_EXPRESSION = 300
_MAX_EXPONENT = 100
_MAX_VALUE = 10**60


@tool(timeout=5)
async def think(
    thought: Annotated[str, Field(description="What you are working out.")],
) -> str:
    """Write down a thought before a difficult step. Nothing is looked up and nothing changes."""
    return "Noted."


@tool(timeout=5)
async def current_time() -> str:
    """Tell the current date and time (UTC, ISO 8601)."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@tool(timeout=5)
async def calculate(
    expression: Annotated[str, Field(description="For example (3 + 4) * 2 ** 8 / 5")],
) -> str:
    """Work out an arithmetic expression with + - * / // % ** and brackets."""
    if len(expression) > _MAX_EXPRESSION:
        raise ToolFailed(f"The expression is longer than {_MAX_EXPRESSION} characters.")
    try:
        return str(_evaluate(ast.parse(expression.strip(), mode="eval").body))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise ToolFailed(f"{expression!r} is not an arithmetic expression.") from None
    except ArithmeticError as error:
        raise ToolFailed(f"{expression!r} has no value: {error}.") from None


def _power(base: Any, exponent: Any) -> Any:
    if abs(exponent) > _MAX_EXPONENT or abs(base) > _MAX_VALUE:
        raise ToolFailed(f"Powers above {_MAX_EXPONENT} are not worked out.")
    return base**exponent


_BINARY_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
}


def _evaluate(node: ast.expr) -> int | float:
    match node:
        case ast.Constant(value=int() | float() as value) if not isinstance(value, bool):
            result = value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            result = -_evaluate(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            result = _evaluate(operand)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY_OPERATORS:
            result = _BINARY_OPERATORS[type(op)](_evaluate(left), _evaluate(right))
        case _:
            raise ValueError("not arithmetic")
    if isinstance(result, complex) or abs(result) > _MAX_VALUE**2:
        raise ToolFailed("The result is too large or not a real number.")
    return result
