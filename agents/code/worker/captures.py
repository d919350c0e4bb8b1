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
        self._references: dict[int, tuple[int, bytes]]
        """Where names end that are used, and what stands before them, by where they begin."""
        plain: list[Node] = []
        qualified: dict[int, tuple[int, bytes]] = {}
        for _, captures in matches:
            if "reference" not in captures:
                self._add(captures)
            elif "qualifier" in captures:
                node = captures["reference"][0]
                text = self._read_qualifier(captures["qualifier"][0])
                qualified[node.start_byte] = (node.end_byte, text)
            else:
                plain.append(captures["reference"][0])
        self._references = {node.start_byte: (node.end_byte, b"") for node in plain}
        self._references.update(qualified)

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
            match capture:
                case "local":
                    name = self.source[node.start_byte : node.end_byte]
                    self._locals.append((node.start_byte, name))
                case "scope":
                    self._scopes.append(Span(node.start_byte, node.end_byte))
                case "name":
                    continue
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

    def _read_qualifier(self, node: Node) -> bytes:
        """Return the names before a name with their dot, or the dot alone behind anything else."""
        start, end = node.start_byte, node.end_byte
        text = self.source[start:end] if end - start <= MAX_QUALIFIER_BYTES else b""
        return text + b"." if _QUALIFIER_PATTERN.fullmatch(text) else b"."

    def collect_references(self) -> dict[str, list[int]]:
        """Return the lines of each name that is used, but for names of the functions around it."""
        ignored = self._ignored | {each.name.start_byte for each in self.definitions}
        ignored.update(self._list_imported())
        is_local, source, line_ends = self.local_names.has, self.source, self._line_ends
        lines: dict[bytes, list[int]] = {}
        line = 1
        for start in sorted(self._references.keys() - ignored):
            end, qualifier = self._references[start]
            name = source[start:end]
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
