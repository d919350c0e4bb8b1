"""The part of a note that a fragment means: a heading with all that is below it, or a block."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.vault.parsing import Heading, ParsedNote
from agents.vault.paths import make_key


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a note, from 1; both ends are part of it."""

    first: int
    last: int


def find_fragment(lines: Sequence[str], parsed: ParsedNote, fragment: str) -> LineRange | None:
    """Return the lines that a fragment means; None if the note has no such heading or block."""
    if fragment.strip().startswith("^"):
        return _find_block(lines, parsed, fragment.strip()[1:].lower())
    wanted = [_fold(part) for part in fragment.split("#") if part.strip()]
    headings = parsed.headings
    for number, heading in enumerate(headings):
        if wanted and _fold(heading.text) == wanted[-1] and _has_parents(headings, number, wanted):
            below = headings[number + 1 :]
            ends = (later.line for later in below if later.level <= heading.level)
            return LineRange(heading.line + 1, next(ends, len(lines)))
    return None


def _fold(heading: str) -> str:
    """Return a heading as links write it: they leave out marks that would end them."""
    return make_key(" ".join("".join(" " if c in "#^|[]:" else c for c in heading).split()))


def _has_parents(headings: Sequence[Heading], number: int, wanted: list[str]) -> bool:
    """Return whether a heading stands below all the others that were named, in their order."""
    level, missing = headings[number].level, wanted[:-1]
    for heading in reversed(headings[:number]):
        if not missing:
            return True
        if heading.level < level:
            level = heading.level
            if _fold(heading.text) == missing[-1]:
                missing = missing[:-1]
    return not missing


def _find_block(lines: Sequence[str], parsed: ParsedNote, name: str) -> LineRange | None:
    """Return the paragraph that ends with a block's name; a name alone means what is before."""
    last = parsed.blocks.get(name)
    if last is None:
        return None
    first = last
    if lines[last].strip().lower() == f"^{name}":
        while first > 0 and not lines[first - 1].strip():
            first -= 1
        first = max(0, first - 1)
    while first > parsed.frontmatter.end and _continues(lines, first):
        first -= 1
    return LineRange(first + 1, last + 1)


def _continues(lines: Sequence[str], number: int) -> bool:
    """Return whether a line belongs to the one before it."""
    is_item = lines[number].lstrip().startswith(("-", "*", "+"))
    return bool(lines[number - 1].strip()) and not is_item and lines[number][:1] != "#"
