"""Tools that need nothing but their arguments."""

from datetime import UTC, datetime
from typing import Annotated

from pydantic import Field

from agents.core.control import (
    ARITHMETIC_SYNTAX,
    InvalidExpression,
    Language,
    Unanswerable,
    parse_expression,
)
from agents.core.control.kinds import NUMBER
from agents.tools.definition import ToolFailed
from agents.tools.registry import tool

_MAX_EXPRESSION = 300
_ARITHMETIC = Language(
    syntax=ARITHMETIC_SYNTAX,
    functions={},
    max_length=_MAX_EXPRESSION,
    max_parts=_MAX_EXPRESSION,
    max_number=10**120,
    max_exponent=100,
)


@tool(timeout=5, acknowledges=True)
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
    try:
        return str(parse_expression(expression, _ARITHMETIC, wanted=NUMBER).evaluate({}))
    except InvalidExpression as error:
        problem = error.problems[0]
    except Unanswerable as error:
        problem = error.problem
    raise ToolFailed(
        f"{expression[:_MAX_EXPRESSION]!r} was not worked out. At character {problem.column}: "
        f"{problem.message}."
    )
