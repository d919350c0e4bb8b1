"""Code as pages show it: a stretch of a file's lines, the names it defines, uses, a map."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.urls import reverse

from agents.code.service import Certainty, Definition, MappedFile, Reference
from agents.models import CodeFile, CodeSymbol, Project
from chat.markdown.highlight import find_language
from chat.rendering.cache import RenderCache
from chat.rendering.code_lines import CodeLine, number_code, render_code, split_code
from chat.rendering.code_map import MAX_LEVEL, MapFile, MapFolder, MapLine, group_by_folder

PAGE_LINES = 400
MAX_SYMBOLS = 400
MAX_FIRST_LINES = 12
MAX_CACHED_CHARS = 8_000_000

_cache: RenderCache[tuple[str, str, int], list[str]] = RenderCache(
    MAX_CACHED_CHARS, lambda lines: sum(map(len, lines))
)


@dataclass(frozen=True, slots=True)
class PageSymbol:
    """A name that a file defines, and the address on its page that leads there."""

    name: str
    dotted_name: str
    kind: str
    href: str
    level: int


@dataclass(frozen=True, slots=True)
class CodePage:
    """`earlier` and `later` are lines where the stretches before and after begin."""

    lines: list[CodeLine]
    line_count: int
    earlier: int | None
    later: int | None
    symbols: list[PageSymbol]
    has_more_symbols: bool

    @property
    def first(self) -> int:
        return self.lines[0].number if self.lines else 1


def build_code_page(file: CodeFile, line: int) -> CodePage:
    """Return the lines around a line."""
    lines = split_code(file.text)
    first = max(0, min(line, len(lines)) - 1) // PAGE_LINES * PAGE_LINES
    last = first + PAGE_LINES
    html = _cache.get_or_create(
        (file.blob_hash, find_language(file.path), first),
        lambda: render_code(lines[first:last], file.path),
    )
    symbols = list(file.symbols.order_by("line", "id")[: MAX_SYMBOLS + 1])
    return CodePage(
        lines=[CodeLine(number, each) for number, each in enumerate(html, first + 1)],
        line_count=len(lines),
        earlier=first + 1 - PAGE_LINES if first else None,
        later=last + 1 if last < len(lines) else None,
        symbols=[_build_symbol(each, range(first + 1, last + 1)) for each in symbols[:MAX_SYMBOLS]],
        has_more_symbols=len(symbols) > MAX_SYMBOLS,
    )


def _build_symbol(symbol: CodeSymbol, shown: range) -> PageSymbol:
    anchor = f"#L{symbol.line}"
    return PageSymbol(
        name=symbol.name,
        dotted_name=f"{symbol.container}.{symbol.name}" if symbol.container else symbol.name,
        kind=symbol.kind,
        href=anchor if symbol.line in shown else f"?line={symbol.line}{anchor}",
        level=_get_level(symbol.container),
    )


def _get_level(container: str) -> int:
    return min(MAX_LEVEL, container.count(".") + 1) if container else 0


# -- names ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownDefinition:
    """A definition with its first lines."""

    definition: Definition
    lines: list[CodeLine]


@dataclass(frozen=True, slots=True)
class ReferenceGroup:
    """Uses of a name that are equally sure."""

    certainty: Certainty
    references: list[Reference]

    @property
    def title(self) -> str:
        return self.certainty.value.capitalize()


def show_definitions(found: Sequence[Definition]) -> list[ShownDefinition]:
    """Return definitions with their first lines, coloured; of one alone with more of them."""
    most = None if len(found) == 1 else MAX_FIRST_LINES
    return [
        ShownDefinition(
            each,
            number_code(split_code(each.excerpt or each.signature)[:most], each.path, each.line),
        )
        for each in found
    ]


def group_references(found: Sequence[Reference]) -> list[ReferenceGroup]:
    """Return uses by how sure they are, the surest first."""
    groups = ((kind, [each for each in found if each.certainty is kind]) for kind in Certainty)
    return [ReferenceGroup(kind, references) for kind, references in groups if references]


# -- the map --------------------------------------------------------------------------------------


def show_map(project: Project, files: Sequence[MappedFile]) -> list[MapFolder]:
    """Return a map as a tree, with links into the library."""
    return group_by_folder(_show_file(project, file) for file in files)


def _show_file(project: Project, file: MappedFile) -> MapFile:
    address = reverse("library-code-file", args=[project.slug, file.path])
    lines = [
        MapLine(
            each.signature or each.name,
            f"{address}?line={each.line}#L{each.line}",
            _get_level(each.container),
        )
        for each in file.definitions
    ]
    return MapFile(file.path, address, lines)
