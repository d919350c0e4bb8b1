"""Where names are defined."""

import re
from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db.models import QuerySet

from agents.code.file_paths import is_test_path, normalise_code_folder
from agents.code.service import CodeRefused, Definition
from agents.models import CodeFile, CodeSymbol
from agents.models.code import MAX_SYMBOL_LENGTH

MAX_DEFINITIONS = 50
MAX_EXCERPT_LINES = 60
MAX_EXCERPT_CHARS = 4_000
_SEPARATORS = re.compile(r"\.|::|->|#|\\|/")
_KINDS_FIRST = ("class", "interface", "type", "enum", "function", "method")


def find_definitions(project_id: UUID, symbol: str, scope: str = "") -> list[Definition]:
    """Return where a name, plain or dotted, is defined, the likeliest first."""
    rows = find_symbols(project_id, symbol, scope)[:MAX_DEFINITIONS]
    texts = dict(
        CodeFile.objects.filter(pk__in={row.file_id for row in rows}).values_list("pk", "text")
    )
    return [build_definition(row, texts.get(row.file_id, "")) for row in rows]


def find_symbols(project_id: UUID, symbol: str, scope: str = "") -> list[CodeSymbol]:
    """Return the rows of a name; of a dotted one, those whose holder or file is so named."""
    *before, name = split_symbol(symbol)
    prefix = normalise_code_folder(scope)
    rows = symbols_for(project_id).filter(name=name).select_related("file")
    found = [row for row in rows.defer(*HEAVY_COLUMNS) if row.file.path.startswith(prefix)]
    if before:
        found = [row for row in found if _is_within(row, before)]
    return sorted(found, key=_rank)


HEAVY_COLUMNS = ("file__text", "file__references", "file__imports")


def symbols_for(project_id: UUID) -> QuerySet[CodeSymbol]:
    return CodeSymbol.objects.filter(project=project_id)


def split_symbol(symbol: str) -> list[str]:
    """Return the parts of a name as people write it; refuse what can be none."""
    written = symbol.strip().removesuffix("()")
    is_string = written.startswith(("'", '"', "["))  # as members may be named: "./a" is one name
    split = [written] if is_string else _SEPARATORS.split(written)
    parts = [part.strip() for part in split if part.strip()]
    if not parts or len(written) > MAX_SYMBOL_LENGTH or "\0" in written:
        raise CodeRefused(
            f"{symbol[:80]!r} is not a name; pass one such as read_gauge or Gauge.read."
        )
    return parts


def build_definition(row: CodeSymbol, text: str = "") -> Definition:
    """Return a row as tools and pages show it, with its first lines if there is a text."""
    lines = text.split("\n")[row.line - 1 : min(row.end_line, row.line - 1 + MAX_EXCERPT_LINES)]
    return Definition(
        path=row.file.path,
        name=row.name,
        container=row.container,
        kind=row.kind,
        line=row.line,
        end_line=row.end_line,
        signature=row.signature,
        excerpt="\n".join(lines)[:MAX_EXCERPT_CHARS] if text else "",
    )


def _is_within(row: CodeSymbol, before: Sequence[str]) -> bool:
    """Return whether names stand before another one: its holders, its file and its folders."""
    module = row.file.path.rpartition(".")[0]
    around = [*module.removesuffix("/__init__").split("/"), *filter(None, row.container.split("."))]
    return _ends_with(around, before) or _ends_with(row.container.split("."), before)


def _ends_with(parts: Iterable[str], end: Sequence[str]) -> bool:
    return list(parts)[-len(end) :] == list(end)


def _rank(row: CodeSymbol) -> tuple[bool, int, int, str, int]:
    kind = _KINDS_FIRST.index(row.kind) if row.kind in _KINDS_FIRST else len(_KINDS_FIRST)
    return is_test_path(row.file.path), kind, row.container.count("."), row.file.path, row.line
