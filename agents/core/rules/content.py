"""Which expressions look at what people, models and tools wrote: that is what erasure takes, and
what only some may read in others' runs."""

import ast
from collections.abc import Collection, Sequence

CONTENT_NAMES = frozenset({"size", "error", "arguments", "sources", "action", "path"})
_THINGS = frozenset({"event", "result", "history"})
_PARTS = frozenset({"payload", "tools"})


class ExpressionContent:
    """An expression that was read: what it looks at."""

    def __init__(self, expression: str) -> None:
        tree = ast.parse(expression.strip(), mode="eval")
        self._nodes: Sequence[ast.AST] = list(ast.walk(tree))
        self.names = {
            name
            for node in self._nodes
            if (name := getattr(node, "attr", None) or getattr(node, "id", None))
        }
        """The names and attributes in it, as Python spells them."""

    def list_parts(self) -> frozenset[str]:
        """Return what it looks at of that which every event changes; too much rather than less."""
        parts = self.names & {"event", "result"}
        opened = {id(node.value) for node in self._nodes if isinstance(node, ast.Attribute)}
        is_whole = any(
            isinstance(node, ast.Name) and node.id == "turn" and id(node) not in opened
            for node in self._nodes
        )
        if is_whole or not self.names.isdisjoint({"elapsed", "time_usage"}):
            parts.add("time")
        return frozenset(parts)

    def reads_content(self) -> bool:
        """Return whether it looks at what erasure takes: by its name, or at a thing as a whole
        that has it inside."""
        if not CONTENT_NAMES.isdisjoint(self.names):
            return True
        items = {name for node in self._nodes if (name := _get_item_name(node))}
        opened = {id(inner) for node in self._nodes for inner in _list_opened(node)}
        return any(_is_thing(node, items) and id(node) not in opened for node in self._nodes)


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
