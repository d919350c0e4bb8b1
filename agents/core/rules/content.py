"""Which expressions look at what people, models and tools wrote: that is what erasure takes, and
what only some may read in others' runs."""

import ast
from collections.abc import Collection, Iterator

CONTENT_NAMES = frozenset({"size", "error", "arguments", "sources", "action", "path"})
_THINGS = frozenset({"event", "result", "history"})
_PARTS = frozenset({"payload", "tools"})


def list_names(expression: str) -> set[str]:
    """Return the names and attributes of an expression that was read, as Python spells them."""
    return {
        name
        for node in _walk(expression)
        if (name := getattr(node, "attr", None) or getattr(node, "id", None))
    }


def reads_content(expression: str) -> bool:
    """Return whether an expression that was read looks at what erasure takes: by its name, or at
    a thing as a whole that has it inside."""
    nodes = list(_walk(expression))
    items = {name for node in nodes if (name := _get_item_name(node))}
    opened = {id(inner) for node in nodes for inner in _list_opened(node)}
    return not CONTENT_NAMES.isdisjoint(list_names(expression)) or any(
        _is_thing(node, items) and id(node) not in opened for node in nodes
    )


def _walk(expression: str) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(expression.strip(), mode="eval"))


def _get_item_name(node: ast.AST) -> str:
    """Return what a loop over such things calls each of them."""
    match node:
        case ast.comprehension(target=ast.Name(id=name), iter=looped) if _is_thing(looped):
            return name
    return ""


def _is_thing(node: ast.AST, items: Collection[str] = ()) -> bool:
    match node:
        case ast.Name(id=name, ctx=ast.Load()):
            return name in _THINGS or name in items
        case ast.Attribute(attr=name):
            return name in _PARTS
        case ast.Subscript(value=inner):
            return _is_thing(inner, items)
    return False


def _list_opened(node: ast.AST) -> list[ast.expr]:
    """Return what a part looks into, without taking it as a whole."""
    match node:
        case ast.Attribute(value=inner) | ast.Subscript(value=inner):
            return [inner]
        case ast.comprehension(iter=inner):
            return [inner]
        case ast.Call(func=ast.Name(id="len"), args=inner):
            return inner
    return []
