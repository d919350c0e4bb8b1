"""List definitions with their container and kind, in the order of the file.

The kind may depend on the container: a function in a class is a method, a variable in a class is a
field, and what is assigned within a function is local and left out.
"""

from collections.abc import Iterator
from typing import NamedTuple

from agents.code.worker.captures import CapturedDefinition, Captures

MAX_NAME_CHARS = 200
MAX_SIGNATURE_CHARS = 400
MAX_SYMBOLS = 20_000
_HOLDERS = frozenset({"class", "interface", "enum", "type", "module", "container"})
_FUNCTIONS = frozenset({"function", "method"})
_ASSIGNED_KINDS = {
    "variable": "variable",
    "assigned_function": "function",
    "module_constant": "constant",
}
_REPEATED = frozenset({"variable", "module_constant"})
"""What may be assigned several times: the first one counts. What is declared is declared each time,
as are the members of types that have no name of their own."""
_GENERAL_KINDS = ("type", "variable")
"""What another pattern may know better."""

Symbol = tuple[str, str, str, int, int, str]
"""Name, container, kind, first line, last line and signature."""


class _Holder(NamedTuple):
    """What is around a definition, or nothing."""

    start: int = -1
    end: int = -1
    path: str = ""
    kind: str = ""


_NOTHING = _Holder()


def list_symbols(found: Captures) -> Iterator[Symbol]:
    """Return the definitions of a file, outer ones before those in them."""
    around: list[_Holder] = []
    imported = {node.start_byte for node in found.imports}
    seen: set[int | str] = set()
    for each in sorted(found.definitions, key=_get_order):
        while around and around[-1].end <= each.start:
            around.pop()
        holder = around[-1] if around else _NOTHING
        kind = _specify_kind(each, holder, found)
        if kind is None or each.name.start_byte in seen or each.start in imported:
            continue
        name, container = _split_name(found.decode(each.name), each.container or holder.path)
        if kind == "field" and holder.kind in _FUNCTIONS:
            container = container.rpartition(".")[0]  # a parameter that becomes a field
        dotted = f"{container}.{name}" if container else name
        if kind == "container":
            dotted = name
        elif (each.kind in _REPEATED and dotted in seen) or _is_typedef(holder, name):
            continue
        else:
            seen.update((each.name.start_byte, dotted))
            lines = _find_lines(each, found)
            yield name, container, kind, *lines, _read_signature(found.source, each)
        if kind in _HOLDERS or kind in _FUNCTIONS:
            around.append(_Holder(each.start, each.end, dotted, kind))
        if len(seen) >= 2 * MAX_SYMBOLS:
            return


def _get_order(definition: CapturedDefinition) -> tuple[int, int, int, int]:
    general = _GENERAL_KINDS.index(definition.kind) + 1 if definition.kind in _GENERAL_KINDS else 0
    return definition.start, -definition.end, definition.name.start_byte, general


def _is_typedef(holder: _Holder, name: str) -> bool:
    """Return whether it is the inner name of `typedef struct Name {...} Name`."""
    return holder.kind == "type" and name == holder.path.rpartition(".")[2]


def _split_name(written: str, container: str) -> tuple[str, str]:
    """Return a name and what holds it, which the name may say itself."""
    if written.isidentifier() and "::" not in container:
        return written[:MAX_NAME_CHARS], container[:MAX_NAME_CHARS]
    *holders, name = " ".join(written.split()).split("::")
    container = ".".join(filter(None, [container.replace("::", "."), *holders]))
    return name.lstrip(":")[:MAX_NAME_CHARS] or name, container[:MAX_NAME_CHARS]


def _specify_kind(definition: CapturedDefinition, holder: _Holder, found: Captures) -> str | None:
    """Return the kind by what is around; None for what is assigned within a function."""
    is_member = holder.kind in _HOLDERS or bool(definition.container)
    if definition.kind == "function":
        return "method" if is_member and holder.kind != "module" else "function"
    if definition.kind not in _ASSIGNED_KINDS:
        return definition.kind
    if holder.kind in _FUNCTIONS:
        return None
    if found.local_names.find_scope_start(definition.start) > holder.start:
        return None
    if definition.kind != "variable":
        return _ASSIGNED_KINDS[definition.kind]
    if is_member and holder.kind != "module":
        return "field"
    return "constant" if found.decode(definition.name).isupper() else "variable"


def _find_lines(definition: CapturedDefinition, found: Captures) -> tuple[int, int]:
    first = found.get_line(definition.name.start_byte)
    return first, max(first, found.get_line(definition.end - 1))


def _read_signature(source: bytes, definition: CapturedDefinition) -> str:
    """Return what stands before the body, or the first line, as one line."""
    name, node = definition.name, definition.node
    start = max(node.start_byte, source.rfind(b"\n", 0, name.start_byte) + 1)
    body = node.child_by_field_name("body")
    line_end = source.find(b"\n", name.end_byte)
    end = node.end_byte if line_end < 0 else min(node.end_byte, line_end)
    if body is not None and body.start_byte > name.end_byte:
        end = body.start_byte
    text = source[start : min(end, start + 4 * MAX_SIGNATURE_CHARS)].decode(errors="replace")
    return " ".join(text.split()).rstrip(" {:=;")[:MAX_SIGNATURE_CHARS]
