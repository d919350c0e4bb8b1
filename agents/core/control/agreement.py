"""Whether kinds agree: what is said of a comparison or a call that can never make sense."""

import ast
import re
from collections.abc import Sequence

from agents.core.control.functions import ExpressionFunction
from agents.core.control.kinds import ANY, NUMBER, TEXT, ListKind, MapKind, ValueKind, fits
from agents.core.control.operators import ORDERINGS

_NODE_NAMES: dict[type[ast.AST], str] = {
    ast.Await: "await",
    ast.Dict: "a map in braces",
    ast.FormattedValue: "an f-string",
    ast.GeneratorExp: "a loop without brackets",
    ast.IfExp: "if ... else",
    ast.JoinedStr: "an f-string",
    ast.NamedExpr: ":=",
    ast.Pow: "**",
    ast.Starred: "*",
    ast.Tuple: "a tuple",
}


def describe_node(node: ast.AST) -> str:
    """Return what to call a part of Python's syntax: "list comp", "left shift"."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).lower()
    return _NODE_NAMES.get(type(node), words)


def check_comparison(op: type[ast.cmpop], left: ValueKind, right: ValueKind) -> str:
    """Return what is wrong with comparing two kinds, or nothing."""
    if op in (ast.Eq, ast.NotEq):
        agree = fits(left, right) or fits(right, left)
        return "" if agree else f"{left.name} is never equal to {right.name}"
    if op in (ast.In, ast.NotIn):
        return _check_membership(left, right)
    if op not in ORDERINGS:
        return "write == or != instead of is"
    agree = any(fits(left, kind) and fits(right, kind) for kind in (NUMBER, TEXT))
    return "" if agree else f"{left.name} and {right.name} have no order"


def _check_membership(item: ValueKind, container: ValueKind) -> str:
    match container:
        case ListKind(item=wanted):
            pass
        case MapKind():
            wanted = TEXT
        case _ if fits(container, TEXT):
            wanted = ANY if container == ANY else TEXT
        case _:
            return f"nothing can be in {container.name}"
    return "" if fits(item, wanted) else f"{item.name} is never in this: it holds {wanted.name}"


def check_arguments(name: str, function: ExpressionFunction, kinds: Sequence[ValueKind]) -> str:
    """Return what is wrong with calling a function with values of these kinds, or nothing."""
    most = len(function.parameters)
    if not most - function.optional <= len(kinds) <= most:
        return f"{name} takes {_count_values(most)}, not {len(kinds)}"
    for kind, allowed in zip(kinds, function.parameters, strict=False):
        if not any(fits(kind, wanted) for wanted in allowed):
            wanted_names = " or ".join(dict.fromkeys(map(_describe_kind, allowed)))
            return f"{name} takes {wanted_names}, not {_describe_kind(kind)}"
    return ""


def takes_list(function: ExpressionFunction) -> bool:
    return any(isinstance(kind, ListKind) for kind in function.parameters[0])


def _describe_kind(kind: ValueKind) -> str:
    if isinstance(kind, ListKind) and kind.item != ANY:
        name = kind.item.name
        return (
            f"a list of {name.removeprefix('a ')}s"
            if name.startswith("a ")
            else f"a list of {name}"
        )
    return kind.name


def _count_values(count: int) -> str:
    return "one value" if count == 1 else f"{count} values"
