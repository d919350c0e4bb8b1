"""The part of a note that a fragment means: a heading with all that is below it, or a block."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice

from agents.vault.parsing import ParsedNote
from agents.vault.paths import make_key

_NOT_IN_LINKS = str.maketrans(dict.fromkeys("#^|[]:", " "))


@dataclass(frozen=True, slots=True)
class LineRange:
    """Lines of a note, from 1; both ends are part of it."""

    first: int
    last: int


def fold_headings(parsed: ParsedNote) -> list[str]:
    """Return the headings of a note as links write them."""
    return [_fold(heading.text) for heading in parsed.headings]


def find_fragment(
    lines: Sequence[str], parsed: ParsedNote, fragment: str, names: Sequence[str] | None = None
) -> LineRange | None:
    """Return the lines that a fragment means; None if the note has no such heading or block.

    Who looks for several fragments of a note gives its folded headings.
    """
    if fragment.strip().startswith("^"):
        return _find_block(lines, parsed, fragment.strip()[1:].lower())
    wanted = [_fold(part) for part in fragment.split("#") if part.strip()]
    folded = fold_headings(parsed) if names is None else names
    if not wanted or any(name not in folded for name in wanted):
        return None  # without a walk over all headings
    above: list[tuple[int, str]] = []
    """The headings that the next one may stand below, with their levels."""
    for number, (heading, name) in enumerate(zip(parsed.headings, folded, strict=True)):
        while above and above[-1][0] >= heading.level:
            above.pop()
        if name == wanted[-1] and _has_all([each for _, each in above], wanted[:-1]):
            below = islice(parsed.headings, number + 1, None)
            ends = (later.line for later in below if later.level <= heading.level)
            return LineRange(heading.line + 1, next(ends, len(lines)))
        above.append((heading.level, name))
    return None


def _fold(heading: str) -> str:
    """Return a heading as links write it: they leave out marks that would end them."""
    return make_key(" ".join(heading.translate(_NOT_IN_LINKS).split()))


def _has_all(above: Sequence[str], wanted: Iterable[str]) -> bool:
    """Return whether all the headings that were named are among those above, in their order."""
    rest = iter(above)
    return all(name in rest for name in wanted)


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
