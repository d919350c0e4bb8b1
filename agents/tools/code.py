"""The code tools: search it, find definitions and uses of names, and a map of what matters most.

Behind them is a `Code`. Every line of a file comes behind its number, so that no file can forge a
line of a result.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import groupby
from typing import Annotated

from pydantic import Field

from agents.code.service import (
    Code,
    CodeError,
    CodeHit,
    CodeRefused,
    Definition,
    MappedFile,
    Reference,
)
from agents.core.chunks import SourceRef
from agents.tools.definition import ToolFailed, ToolOutput, ToolRefused
from agents.tools.registry import tool

SNIPPET_CHARS = 500
MAX_LINE_CHARS = 300
MAX_DEFINITIONS = 20
"""Definitions of one name that a result shows; common names have hundreds."""
MAX_EXCERPTS = 5
"""Of those, how many come with their lines."""
MAX_FIRST_LINES = 12
"""Of each, where several come with their lines; one alone comes with all that there are of it."""
MAX_SHOWN_WORDS = 20
Query = Annotated[str, Field(min_length=1, max_length=500)]
Symbol = Annotated[
    str,
    Field(
        description="The name as it is written in code, such as read_gauge or Gauge.read.",
        min_length=1,
        max_length=200,
    ),
]


@contextmanager
def _code_errors_as_tool_errors() -> Iterator[None]:
    try:
        yield
    except CodeRefused as error:
        raise ToolRefused(str(error)) from None
    except CodeError as error:
        raise ToolFailed(str(error)) from None


@tool(timeout=15)
def search_code(
    queries: Annotated[
        list[Query],
        Field(
            description="One to four phrasings of what is looked for, each of a few words: names "
            "as the code would have them, words of its comments, and synonyms of them. One between "
            "slashes is a regular expression, tried on every line: /def read_\\w+/.",
            min_length=1,
            max_length=4,
        ),
    ],
    code: Code,
    limit: Annotated[int, Field(description="How many files at most.", ge=1, le=20)] = 5,
    language: Annotated[
        str, Field(description="Only files of this language, such as python.", max_length=20)
    ] = "",
) -> ToolOutput:
    """Search the project's code. Best first, each with the lines that fit best.

    Names are found whole and by their parts. Look at a definition with find_definition before you
    rely on it. Cite lines as [path:line].
    """
    with _code_errors_as_tool_errors():
        found = code.search(queries, limit, language=language)
    lines = [f"{number}. {_format_hit(hit)}" for number, hit in enumerate(found.hits, start=1)]
    if not lines:
        asked = " or ".join(map(repr, queries))
        lines.append(f"No code matches {asked}. Try other words, or get_repo_map.")
    if found.missing_words:
        lines.append(f"No file has: {', '.join(found.missing_words[:MAX_SHOWN_WORDS])}.")
    if found.note:
        lines.append(_to_line(found.note))
    sources = (
        SourceRef(
            hit.path,
            "code",
            hit.line,
            hit.snippet[:SNIPPET_CHARS],
            hit.score,
            heading=hit.symbol[:SNIPPET_CHARS],
            end_line=max(hit.line, hit.last_line),
        )
        for hit in found.hits
    )
    return _build_output(code, lines, sources)


def _format_hit(hit: CodeHit) -> str:
    place = _to_line(f" {hit.symbol}") if hit.symbol else ""
    head = f"{_to_line(hit.path)}:{hit.line} (score {hit.score:.2f}){place}"
    return "\n".join([head, *_number_lines(hit.snippet, hit.line)])


@tool(timeout=15)
def find_definition(
    symbol: Symbol,
    code: Code,
    scope: Annotated[
        str, Field(description="Only in this folder and below; empty for all.", max_length=500)
    ] = "",
) -> ToolOutput:
    """Find where a function, class or other name is defined, with its lines.

    A dotted name, such as Gauge.read, leaves out what has the same name elsewhere. This is also how
    code is read: ask for the name whose lines you want to see.
    """
    with _code_errors_as_tool_errors():
        found = code.find_definitions(symbol, scope)
    if not found:
        where = f" in {scope!r}" if scope else ""
        lines = [f"{symbol!r} is defined nowhere{where}. Try search_code with other words."]
        return _build_output(code, lines, ())
    shown = found[:MAX_DEFINITIONS]
    lines = [f"{_count(len(found), 'definition')} of {symbol!r}"]
    for number, definition in enumerate(shown):
        lines.append(_format_definition(definition))
        if number < MAX_EXCERPTS:
            lines += _format_excerpt(definition, is_only=len(shown) == 1)
    if len(found) > len(shown):
        lines.append(f"… and {len(found) - len(shown)} more; name a scope, or a dotted name.")
    return _build_output(code, lines, map(_build_definition_source, shown))


def _format_definition(found: Definition) -> str:
    name = _to_line(f"{found.kind} {found.dotted_name}")
    return f"- {_to_line(found.path)}:{found.line} ({found.end_line - found.line + 1} lines) {name}"


def _format_excerpt(found: Definition, *, is_only: bool) -> list[str]:
    lines = _number_lines(found.excerpt or found.signature, found.line)
    lines = lines if is_only else lines[:MAX_FIRST_LINES]
    left = found.end_line - found.line + 1 - len(lines)
    return [*lines, f"   … {_count(left, 'more line')}"] if left > 0 else lines


def _build_definition_source(found: Definition) -> SourceRef:
    return SourceRef(
        found.path,
        "code",
        found.line,
        (found.excerpt or found.signature)[:SNIPPET_CHARS],
        heading=found.dotted_name[:SNIPPET_CHARS],
        end_line=max(found.line, found.end_line),
    )


@tool(timeout=15)
def find_references(
    symbol: Symbol,
    code: Code,
    limit: Annotated[int, Field(description="How many uses at most.", ge=1, le=50)] = 20,
) -> ToolOutput:
    """Find the lines that use a name, the surest first.

    Certain ones are in its own file or in one that imports it; likely ones use a name that is
    defined once; the others only have the same name.
    """
    with _code_errors_as_tool_errors():
        found = code.find_references(symbol, limit)
    lines = [_format_definition(each) for each in found.definitions[:MAX_DEFINITIONS]]
    head = [f"{symbol!r} is defined here:" if lines else f"{symbol!r} is defined nowhere."]
    uses = [
        f"{_count(found.total, 'use')} of {symbol!r}{_say_shown(len(found.found), found.total)}"
    ]
    for certainty, group in groupby(found.found, key=lambda each: each.certainty):
        uses += [f"{certainty}:", *map(_format_reference, group)]
    sources = (SourceRef(f.path, "code", f.line, f.text[:SNIPPET_CHARS]) for f in found.found)
    return _build_output(code, [*head, *lines, *uses], sources)


def _say_shown(shown: int, total: int) -> str:
    return f", {shown} shown" if shown < total else ""


def _format_reference(found: Reference) -> str:
    return f"- {_to_line(found.path)}:{found.line}| {_to_line(found.text.strip())}"


@tool(timeout=15)
def get_repo_map(
    code: Code,
    scope: Annotated[
        str,
        Field(
            description="A folder, or what a question is about; empty for all code.",
            max_length=500,
        ),
    ] = "",
    max_tokens: Annotated[
        int, Field(description="How long it may be, in tokens.", ge=500, le=8_000)
    ] = 2_000,
) -> ToolOutput:
    """Get a map of the project's code: the definitions that matter most, by file."""
    with _code_errors_as_tool_errors():
        found = code.build_map(scope, max_tokens)
    if not found.files:
        where = f" about {scope!r}" if scope else ""
        return _build_output(code, [f"There are no definitions{where} to show."], ())
    shown = sum(len(file.definitions) for file in found.files)
    head = (
        f"{shown} of {_count(found.definition_count, 'definition')} in "
        f"{len(found.files)} of {_count(found.file_count, 'file')}"
    )
    return _build_output(code, [head, *(line for f in found.files for line in _format_file(f))], ())


def _format_file(file: MappedFile) -> Iterator[str]:
    yield f"{_to_line(file.path)}:"
    for each in file.definitions:
        indent = "  " * (each.container.count(".") + 1) if each.container else ""
        yield f"{each.line:>6}| {indent}{_to_line(each.signature or each.name)}"


def _build_output(code: Code, lines: list[str], sources: Iterable[SourceRef]) -> ToolOutput:
    limits = code.explain_limits()
    return ToolOutput("\n".join([*lines, limits] if limits else lines), tuple(sources))


def _number_lines(text: str, first: int) -> list[str]:
    lines = text.rstrip("\n").split("\n")
    return [f"{number:>6}| {_to_line(line)}" for number, line in enumerate(lines, start=first)]


def _to_line(text: str) -> str:
    """Return text that cannot begin a line of its own, whatever names and files hold."""
    shown = "".join(c if c.isprintable() or c == "\t" else " " for c in text[:MAX_LINE_CHARS])
    return f"{shown}…" if len(text) > MAX_LINE_CHARS else shown.rstrip()


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
