"""What a query found in a file, sorted by what it is.

Captures of a query: `@definition.<kind>` with its `@name` (and a `@container` where that is not
around it), `@container.scope` with its `@name` for what holds definitions without being one,
`@scope` and the `@local` names in it, `@reference` with its `@qualifier`, `@import`, and `@ignored`
identifiers.
"""

import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from tree_sitter import Node

from agents.code.worker.local_names import LocalNames, Span

MAX_QUALIFIER_BYTES = 80
_QUALIFIER_PATTERN = re.compile(rb"[$@\w\x80-\xff]+(?:(?:\.|::|->)[$@\w\x80-\xff]+)*")


class CapturedDefinition(NamedTuple):
    start: int
    end: int
    kind: str
    name: Node
    node: Node
    container: str


class _Qualifiers(dict[bytes, bytes]):
    """What stands before a name as it is told: names with their dot, or the dot alone."""

    def __missing__(self, text: bytes) -> bytes:
        is_named = len(text) <= MAX_QUALIFIER_BYTES and _QUALIFIER_PATTERN.fullmatch(text)
        told = self[text] = text + b"." if is_named else b"."
        return told


class Captures:
    def __init__(self, source: bytes, matches: Iterable[tuple[int, dict[str, list[Node]]]]) -> None:
        self.source = source
        self.definitions: list[CapturedDefinition] = []
        self.imports: list[Node] = []
        self._scopes: list[Span] = []
        self._locals: list[tuple[int, bytes]] = []
        self._ignored: set[int] = set()
        self._qualifiers: dict[int, bytes] = {}
        """What stands before names that are used, by where they begin."""
        used: list[Node] = []
        known = _Qualifiers()
        for _, captures in matches:
            nodes = captures.get("reference")
            if nodes is None:
                self._add(captures)
                continue
            used += nodes
            if "qualifier" in captures:
                node = captures["qualifier"][0]
                text = source[node.start_byte : node.end_byte]
                self._qualifiers[nodes[0].start_byte] = known[text]
        self._references = {node.start_byte: node.end_byte for node in used}
        """Where names end that are used, by where they begin."""

    @cached_property
    def _line_ends(self) -> list[int]:
        return [*(match.start() for match in re.finditer(rb"\n", self.source)), len(self.source)]

    def get_line(self, place: int) -> int:
        """Return the line of a byte. tree-sitter 0.26.0 breaks memory where it is asked for it."""
        return bisect_left(self._line_ends, place) + 1

    def decode(self, node: Node) -> str:
        return self.source[node.start_byte : node.end_byte].decode(errors="replace")

    @cached_property
    def local_names(self) -> LocalNames:
        return LocalNames(self._scopes, self._locals)

    def _add(self, captures: dict[str, list[Node]]) -> None:
        for capture, (node, *_) in captures.items():
            if capture == "name":
                continue
            if capture == "local":
                start = node.start_byte
                self._locals.append((start, self.source[start : node.end_byte]))
            elif capture.startswith("definition."):
                self._add_definition(capture[len("definition.") :], node, captures)
            elif capture == "ignored":
                self._ignored.add(node.start_byte)
            elif capture == "scope":
                self._scopes.append(Span(node.start_byte, node.end_byte))
            elif capture == "import":
                self.imports.append(node)
            elif capture == "container.scope":
                self._add_definition("container", node, captures)

    def _add_definition(self, kind: str, node: Node, captures: dict[str, list[Node]]) -> None:
        name = captures["name"][0]
        container = captures.get("container")
        held = self.decode(container[0]) if container else ""
        self.definitions.append(
            CapturedDefinition(node.start_byte, node.end_byte, kind, name, node, held)
        )

    def collect_references(self) -> dict[str, list[int]]:
        """Return the lines of each name that is used, but for names of the functions around it."""
        ignored = self._ignored | {each.name.start_byte for each in self.definitions}
        ignored.update(self._list_imported())
        is_local, source, line_ends = self.local_names.has, self.source, self._line_ends
        references, qualifiers = self._references, self._qualifiers
        lines: dict[bytes, list[int]] = {}
        line = 1
        for start in sorted(references.keys() - ignored):
            name = source[start : references[start]]
            qualifier = qualifiers.get(start, b"")
            if not qualifier and is_local(start, name):
                continue
            while line_ends[line - 1] < start:
                line += 1
            known = lines.setdefault(qualifier + name, [])
            if not known or known[-1] != line:
                known.append(line)
        return {key.decode(errors="replace"): numbers for key, numbers in lines.items()}

    def _list_imported(self) -> Iterator[int]:
        """Return where references begin within imports, which are few and short."""
        for node in self.imports:
            yield from (n for n in range(node.start_byte, node.end_byte) if n in self._references)
