"""What a file of code defines, uses and imports, by a grammar and its query.

Captures of a query: `@definition.<kind>` with its `@name` (and a `@container` where that is not
around it), `@container.scope` with its `@name` for what holds definitions without being one,
`@scope` and the `@local` names in it, `@reference` with its `@qualifier`, `@import`, and `@ignored`
identifiers. The kinds function and variable depend on what is around them.
"""

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from tree_sitter import Language, Node, Parser, Query, QueryCursor

from agents.code.worker.grammars import load_language, read_query
from agents.code.worker.import_forms import parse_import
from agents.code.worker.local_names import LocalNames, Span

MAX_NAME_CHARS = 200
MAX_SIGNATURE_CHARS = 400
MAX_SYMBOLS = 20_000
MAX_QUALIFIER_BYTES = 80
_HOLDERS = frozenset({"class", "interface", "enum", "type", "module", "container"})
_ASSIGNED = frozenset({"variable", "constant", "field"})
_QUALIFIER_PATTERN = re.compile(rb"[$@\w\x80-\xff]+(?:(?:\.|::|->)[$@\w\x80-\xff]+)*")


class _Definition(NamedTuple):
    start: int
    end: int
    kind: str
    name: Node
    node: Node
    container: str


@cache
def _prepare(grammar: str) -> tuple[Parser, Query]:
    language = Language(load_language(grammar))
    return Parser(language), Query(language, read_query(grammar))


def extract(source: bytes, grammar: str) -> dict[str, Any]:
    """Return the definitions, the lines on which names are used, and the imports of a file."""
    parser, query = _prepare(grammar)
    found = _Captures(source, QueryCursor(query).matches(parser.parse(source).root_node))
    return {
        "symbols": list(_list_symbols(source, found.definitions)),
        "references": found.collect_references(),
        "imports": [
            [target, names, node.start_point.row + 1]
            for node in found.imports
            for target, names in parse_import(grammar, _decode(source, node))
        ],
    }


class _Captures:
    """What a query found, sorted by what it is."""

    def __init__(self, source: bytes, matches: Sequence[tuple[int, dict[str, list[Node]]]]) -> None:
        self.source = source
        self.definitions: list[_Definition] = []
        self.imports: list[Node] = []
        self.scopes: list[Span] = []
        self.locals: list[tuple[int, bytes]] = []
        self.ignored: set[int] = set()
        self.references: dict[int, tuple[Node, bytes]] = {}
        for _, captures in matches:
            self._add(captures)

    def _add(self, captures: dict[str, list[Node]]) -> None:
        if "reference" in captures:
            self._add_reference(captures)
            return
        for capture, (node, *_) in captures.items():
            match capture:
                case "scope":
                    self.scopes.append(Span(node.start_byte, node.end_byte))
                case "local":
                    self.locals.append(
                        (node.start_byte, self.source[node.start_byte : node.end_byte])
                    )
                case "ignored":
                    self.ignored.add(node.start_byte)
                case "import":
                    self.imports.append(node)
                case "container.scope":
                    self._add_definition("container", node, captures)
                case _ if capture.startswith("definition."):
                    self._add_definition(capture.removeprefix("definition."), node, captures)

    def _add_reference(self, captures: dict[str, list[Node]]) -> None:
        node = captures["reference"][0]
        if "qualifier" in captures:
            qualifier = captures["qualifier"][0]
            length = qualifier.end_byte - qualifier.start_byte
            text = self.source[qualifier.start_byte : qualifier.end_byte]
            if length > MAX_QUALIFIER_BYTES or not _QUALIFIER_PATTERN.fullmatch(text):
                text = b""
            self.references[node.start_byte] = (node, text + b".")
        else:
            self.references.setdefault(node.start_byte, (node, b""))

    def _add_definition(self, kind: str, node: Node, captures: dict[str, list[Node]]) -> None:
        name = captures["name"][0]
        container = captures.get("container")
        held = _decode(self.source, container[0]) if container else ""
        self.definitions.append(_Definition(node.start_byte, node.end_byte, kind, name, node, held))

    def collect_references(self) -> dict[str, list[int]]:
        """Return the lines of each name that is used, but for names of the functions around it."""
        names = LocalNames(self.scopes, self.locals)
        ignored = self.ignored | {each.name.start_byte for each in self.definitions}
        ignored.update(_list_starts_within(self.imports, self.references))
        lines: dict[bytes, list[int]] = {}
        for start in sorted(self.references.keys() - ignored):
            node, qualifier = self.references[start]
            name = self.source[start : node.end_byte]
            if not qualifier and names.has(start, name):
                continue
            key = qualifier + name
            line = node.start_point.row + 1
            known = lines.setdefault(key, [])
            if not known or known[-1] != line:
                known.append(line)
        return {key.decode(errors="replace"): numbers for key, numbers in lines.items()}


def _list_starts_within(nodes: Sequence[Node], starts: dict[int, Any]) -> Iterator[int]:
    """Return those starts that lie within nodes, which are few and short."""
    for node in nodes:
        for start in range(node.start_byte, node.end_byte):
            if start in starts:
                yield start


def _list_symbols(
    source: bytes, definitions: Sequence[_Definition]
) -> Iterator[tuple[str, str, str, int, int, str]]:
    """Return name, container, kind, first line, last line and signature of each definition."""
    around: list[tuple[int, str, str]] = []
    seen: set[int | str] = set()
    for each in sorted(definitions, key=lambda d: (d.start, -d.end, d.name.start_byte)):
        while around and around[-1][0] <= each.start:
            around.pop()
        _, path, holder = around[-1] if around else (0, "", "")
        kind = _specify_kind(each, holder, source)
        if kind is None or each.name.start_byte in seen or len(seen) >= 2 * MAX_SYMBOLS:
            continue
        name = _decode(source, each.name)[:MAX_NAME_CHARS]
        container = (each.container or path)[:MAX_NAME_CHARS]
        dotted = f"{container}.{name}" if container else name
        if kind == "container":
            dotted = name
        else:
            if kind in _ASSIGNED and dotted in seen:
                continue
            seen.update((each.name.start_byte, dotted))
            first = each.name.start_point.row + 1
            last = max(first, each.node.end_point.row + 1)
            yield name, container, kind, first, last, _read_signature(source, each)
        if kind in _HOLDERS or kind in ("function", "method"):
            around.append((each.end, dotted, kind))


def _specify_kind(definition: _Definition, holder: str, source: bytes) -> str | None:
    """Return the kind by what is around; None for a variable that no other function can name."""
    is_member = holder in _HOLDERS or bool(definition.container)
    if definition.kind == "function":
        return "method" if is_member else "function"
    if definition.kind == "variable":
        if is_member:
            return "field"
        if holder:
            return None
        return "constant" if _decode(source, definition.name).isupper() else "variable"
    return definition.kind


def _read_signature(source: bytes, definition: _Definition) -> str:
    """Return what stands before the body, or the first line, as one line."""
    name, node = definition.name, definition.node
    start = max(node.start_byte, source.rfind(b"\n", 0, name.start_byte) + 1)
    body = node.child_by_field_name("body")
    line_end = source.find(b"\n", name.end_byte)
    end = node.end_byte if line_end < 0 else min(node.end_byte, line_end)
    if body is not None and body.start_byte > name.end_byte:
        end = body.start_byte
    text = source[start : min(end, start + 4 * MAX_SIGNATURE_CHARS)].decode(errors="replace")
    return " ".join(text.split()).rstrip(" {:=")[:MAX_SIGNATURE_CHARS]


def _decode(source: bytes, node: Node) -> str:
    return source[node.start_byte : node.end_byte].decode(errors="replace")
