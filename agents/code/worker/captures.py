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


class Captures:
    def __init__(self, source: bytes, matches: Iterable[tuple[int, dict[str, list[Node]]]]) -> None:
        self.source = source
        self.definitions: list[CapturedDefinition] = []
        self.imports: list[Node] = []
        self._scopes: list[Span] = []
        self._locals: list[tuple[int, bytes]] = []
        self._ignored: set[int] = set()
        self._references: dict[int, tuple[Node, bytes]] = {}
        for _, captures in matches:
            if "reference" in captures:
                self._add_reference(captures)
            else:
                self._add(captures)

    @cached_property
    def _line_ends(self) -> list[int]:
        return [match.start() for match in re.finditer(rb"\n", self.source)]

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
            match capture:
                case "scope":
                    self._scopes.append(Span(node.start_byte, node.end_byte))
                case "local":
                    name = self.source[node.start_byte : node.end_byte]
                    self._locals.append((node.start_byte, name))
                case "ignored":
                    self._ignored.add(node.start_byte)
                case "import":
                    self.imports.append(node)
                case "container.scope":
                    self._add_definition("container", node, captures)
                case _ if capture.startswith("definition."):
                    self._add_definition(capture.removeprefix("definition."), node, captures)

    def _add_definition(self, kind: str, node: Node, captures: dict[str, list[Node]]) -> None:
        name = captures["name"][0]
        container = captures.get("container")
        held = self.decode(container[0]) if container else ""
        self.definitions.append(
            CapturedDefinition(node.start_byte, node.end_byte, kind, name, node, held)
        )

    def _add_reference(self, captures: dict[str, list[Node]]) -> None:
        node = captures["reference"][0]
        if "qualifier" not in captures:
            self._references.setdefault(node.start_byte, (node, b""))
            return
        qualifier = captures["qualifier"][0]
        text = b""
        if qualifier.end_byte - qualifier.start_byte <= MAX_QUALIFIER_BYTES:
            text = self.source[qualifier.start_byte : qualifier.end_byte]
        if not _QUALIFIER_PATTERN.fullmatch(text):
            text = b""
        self._references[node.start_byte] = (node, text + b".")

    def collect_references(self) -> dict[str, list[int]]:
        """Return the lines of each name that is used, but for names of the functions around it."""
        ignored = self._ignored | {each.name.start_byte for each in self.definitions}
        ignored.update(self._list_imported())
        lines: dict[bytes, list[int]] = {}
        for start in sorted(self._references.keys() - ignored):
            node, qualifier = self._references[start]
            name = self.source[start : node.end_byte]
            if not qualifier and self.local_names.has(start, name):
                continue
            line = self.get_line(start)
            known = lines.setdefault(qualifier + name, [])
            if not known or known[-1] != line:
                known.append(line)
        return {key.decode(errors="replace"): numbers for key, numbers in lines.items()}

    def _list_imported(self) -> Iterator[int]:
        """Return where references begin within imports, which are few and short."""
        for node in self.imports:
            yield from (n for n in range(node.start_byte, node.end_byte) if n in self._references)
