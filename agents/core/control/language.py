"""What an expression may hold, and how much of it: the grammar as one value.

A use of the language is a `Language`: conditions know names and functions, the calculator knows
nothing but arithmetic.
"""

import ast
from collections.abc import Mapping
from dataclasses import dataclass, field

from agents.core.control.functions import FUNCTIONS, ExpressionFunction
from agents.core.control.kinds import ValueKind

ARITHMETIC_SYNTAX: frozenset[type[ast.expr]] = frozenset({ast.Constant, ast.UnaryOp, ast.BinOp})
FULL_SYNTAX: frozenset[type[ast.expr]] = ARITHMETIC_SYNTAX | {
    ast.Attribute,
    ast.BoolOp,
    ast.Call,
    ast.Compare,
    ast.IfExp,
    ast.List,
    ast.ListComp,
    ast.Name,
    ast.Subscript,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A part of Python's expressions, with bounds that make the cost known before it runs."""

    names: Mapping[str, ValueKind] = field(default_factory=dict)
    functions: Mapping[str, ExpressionFunction] = field(default_factory=lambda: FUNCTIONS)
    syntax: frozenset[type[ast.expr]] = FULL_SYNTAX
    max_length: int = 500
    max_parts: int = 240
    max_steps: int = 10_000
    max_number: int = 2**53
    max_text: int = 10_000
    max_exponent: int = 0
    """The largest exponent of a power; zero: there are no powers."""
