"""Lines of code as HTML: coloured within a budget, cut where they are endless."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from chat.markdown import RenderBudget
from chat.markdown.blocks import CodeBlock
from chat.markdown.highlight import MAX_HIGHLIGHT_CHARS, find_language, highlight_lines
from chat.rendering import quota

MAX_LINE_CHARS = 2_000
"""Of a line that is shown; generated files have lines of megabytes."""
PIECE_CHARS = 3_000
"""After so many, the next line at the margin begins a piece that is coloured by itself."""


@dataclass(frozen=True, slots=True)
class CodeLine:
    number: int
    html: str


def split_code(text: str) -> list[str]:
    """Return the lines of a file as parsers of code count them."""
    lines = text.removesuffix("\n").split("\n") if text else []
    return [line.removesuffix("\r") for line in lines]


def number_code(lines: Sequence[str], path: str, first: int) -> list[CodeLine]:
    """Return lines of a file as HTML, with their numbers."""
    return [CodeLine(number, html) for number, html in enumerate(render_code(lines, path), first)]


def render_code(lines: Sequence[str], path: str) -> list[str]:
    """Return lines of a file as HTML. What costs too much to colour stays plain."""
    language = find_language(path)
    budget = RenderBudget()
    html: list[str] = []
    for piece in _cut([_cut_line(line) for line in lines]):
        block = budget.charge_block(CodeBlock(language, piece))
        is_coloured = isinstance(block, CodeBlock) and block.colours
        html += highlight_lines(piece, language if is_coloured else "")
    quota.add_cost(budget.spent)
    return html


def _cut_line(line: str) -> str:
    left = len(line) - MAX_LINE_CHARS
    return line if left <= 0 else f"{line[:MAX_LINE_CHARS]} … {left:,} more characters"


def _cut(lines: Sequence[str]) -> Iterator[str]:
    """Yield pieces that are coloured one by one, each from a line at the margin if it can be: a
    piece that begins inside of a comment would be coloured wrongly."""
    piece: list[str] = []
    size = 0
    for line in lines:
        is_due = size > PIECE_CHARS and line[:1].isalpha()
        if piece and (is_due or size + len(line) > MAX_HIGHLIGHT_CHARS):
            yield "\n".join(piece)
            piece, size = [], 0
        piece.append(line)
        size += len(line) + 1
    if piece:
        yield "\n".join(piece)
