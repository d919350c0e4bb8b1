"""A `Code` that returns what it was given, and keeps account of what it was asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from agents.code.service import (
    Certainty,
    Code,
    CodeHit,
    CodeSearchResult,
    Definition,
    MappedFile,
    Reference,
    References,
    RepoMap,
)

READ = Definition(
    path="gauge/reader.py",
    name="read",
    container="Gauge",
    kind="method",
    line=12,
    end_line=20,
    signature="def read(self) -> float:",
    excerpt='def read(self) -> float:\n    """Read it."""',
)
GAUGE = Definition("gauge/reader.py", "Gauge", "", "class", 8, 30, "class Gauge:")
HIT = CodeHit(
    path="gauge/reader.py",
    language="python",
    symbol="Gauge.read",
    line=12,
    snippet='def read(self) -> float:\n    """Read it."""',
    score=0.831,
    first_line=12,
    last_line=20,
)


@dataclass
class FakeCode(Code):
    hits: Sequence[CodeHit] = (HIT,)
    missing_words: tuple[str, ...] = ()
    note: str = ""
    definitions: Sequence[Definition] = (READ,)
    references: Sequence[Reference] = (
        Reference("gauge/log.py", 4, "    level = gauge.read()", Certainty.CERTAIN),
        Reference("tests/x.py", 9, "gauge.read()", Certainty.LIKELY),
        Reference("web/y.py", 2, "file.read()", Certainty.SAME_NAME),
        Reference("web/z.py", 3, "file.read()", Certainty.SAME_NAME),
    )
    total: int = 4
    mapped: Sequence[MappedFile] = (MappedFile("gauge/reader.py", (GAUGE, READ)),)
    limits: str = ""
    error: Exception | None = None
    asked: list[Any] = field(default_factory=list)

    def search(self, queries: Sequence[str], limit: int, *, language: str = "") -> CodeSearchResult:
        self._ask(tuple(queries), limit, language)
        return CodeSearchResult(tuple(self.hits[:limit]), self.missing_words, self.note)

    def find_definitions(self, symbol: str, scope: str = "") -> list[Definition]:
        self._ask(symbol, scope)
        return list(self.definitions)

    def find_references(self, symbol: str, limit: int) -> References:
        self._ask(symbol, limit)
        return References(tuple(self.definitions), tuple(self.references[:limit]), self.total)

    def build_map(self, scope: str, max_tokens: int) -> RepoMap:
        self._ask(scope, max_tokens)
        return RepoMap(tuple(self.mapped), 40, 300, 4_000)

    def explain_limits(self) -> str:
        return self.limits

    def _ask(self, *values: Any) -> None:
        self.asked.append(values)
        if self.error:
            raise self.error
