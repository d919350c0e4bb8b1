"""What changed between two texts, line by line and, within lines, word by word. Pure."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Literal

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.search.sections import split_lines

MAX_COMPARED_LINES = 4_000
"""Longer stretches that differ are shown as replaced whole: comparing them takes too long."""
MAX_COMPARED_WORDS = 400
MAX_PAIRED_LINES = 100
CONTEXT_LINES = 3
_WORDS = re.compile(r"\w+|\s+|[^\w\s]")
Block = tuple[int, int, int, int]
"""A stretch that differs: from and to in the first sequence, from and to in the second."""


@dataclass(frozen=True, slots=True)
class DiffPart:
    """Part of a line, and whether it is what changed in it."""

    text: str
    is_changed: bool = False


@dataclass(frozen=True, slots=True)
class DiffLine:
    """A line of a diff; `gap` stands for lines that are left out because they are the same."""

    kind: Literal["same", "added", "removed", "gap"]
    old_number: int | None
    new_number: int | None
    parts: tuple[DiffPart, ...] = ()


@dataclass(frozen=True, slots=True)
class TextDiff:
    """The lines to show, and how many were added and removed."""

    lines: tuple[DiffLine, ...]
    added: int
    removed: int


def diff_texts(before: str, after: str, context: int = CONTEXT_LINES) -> TextDiff:
    """Compare two texts."""
    old, new = _split(before), _split(after)
    blocks = compare_lines(old, new)
    lines = tuple(_iterate_lines(old, new, blocks, context))
    added = sum(block[3] - block[2] for block in blocks)
    return TextDiff(lines, added, sum(block[1] - block[0] for block in blocks))


def _split(text: str) -> list[str]:
    return split_lines(text.removeprefix(BYTE_ORDER_MARK))


def compare_lines(old: Sequence[str], new: Sequence[str]) -> list[Block]:
    """Return the stretches in which two texts differ, in their order."""
    start, stop = 0, min(len(old), len(new))
    while start < stop and old[start] == new[start]:
        start += 1
    end = 0
    while end < stop - start and old[-1 - end] == new[-1 - end]:
        end += 1
    old_part, new_part = old[start : len(old) - end], new[start : len(new) - end]
    if not old_part and not new_part:
        return []
    if min(len(old_part), len(new_part)) == 0 or (
        len(old_part) + len(new_part) > MAX_COMPARED_LINES
    ):
        return [(start, start + len(old_part), start, start + len(new_part))]
    matcher = SequenceMatcher(None, old_part, new_part, autojunk=False)
    return [
        (start + i1, start + i2, start + j1, start + j2)
        for tag, i1, i2, j1, j2 in matcher.get_opcodes()
        if tag != "equal"
    ]


def _iterate_lines(
    old: list[str], new: list[str], blocks: list[Block], context: int
) -> Iterator[DiffLine]:
    place = shift = 0
    for number, (i1, i2, j1, j2) in enumerate(blocks):
        yield from _iterate_same(old, place, i1, shift, context, first=number == 0)
        yield from _iterate_changed(old, new, (i1, i2, j1, j2))
        place, shift = i2, j2 - i2
    if blocks:
        yield from _iterate_same(old, place, len(old), shift, context, last=True)


def _iterate_same(
    old: list[str],
    start: int,
    end: int,
    shift: int,
    context: int,
    *,
    first: bool = False,
    last: bool = False,
) -> Iterator[DiffLine]:
    """Yield the lines around a change; those that are further away are a gap."""
    head = start if first else min(end, start + context)
    tail = end if last else max(head, end - context)
    if last:
        head = min(end, start + context)
    for number in range(start, head):
        yield _build_same(old, number, shift)
    if tail > head:
        yield DiffLine("gap", None, None, (DiffPart(f"{tail - head:,}"),))
    for number in range(tail, end):
        yield _build_same(old, number, shift)


def _build_same(old: list[str], number: int, shift: int) -> DiffLine:
    return DiffLine("same", number + 1, number + 1 + shift, (DiffPart(old[number]),))


def _iterate_changed(old: list[str], new: list[str], block: Block) -> Iterator[DiffLine]:
    i1, i2, j1, j2 = block
    if i2 - i1 == j2 - j1 <= MAX_PAIRED_LINES:  # line by line, so that one sees the words
        pairs = [_compare_words(old[i1 + n], new[j1 + n]) for n in range(i2 - i1)]
        removed, added = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    else:
        removed = [(DiffPart(line),) for line in old[i1:i2]]
        added = [(DiffPart(line),) for line in new[j1:j2]]
    for number, parts in enumerate(removed, start=i1 + 1):
        yield DiffLine("removed", number, None, parts)
    for number, parts in enumerate(added, start=j1 + 1):
        yield DiffLine("added", None, number, parts)


def _compare_words(old: str, new: str) -> tuple[tuple[DiffPart, ...], tuple[DiffPart, ...]]:
    before, after = _WORDS.findall(old), _WORDS.findall(new)
    if len(before) + len(after) > MAX_COMPARED_WORDS:
        return (DiffPart(old),), (DiffPart(new),)
    removed: list[DiffPart] = []
    added: list[DiffPart] = []
    matcher = SequenceMatcher(None, before, after, autojunk=False)
    for tag, i1, i2, j1, j2 in matcher.get_opcodes():
        is_changed = tag != "equal"
        if i2 > i1:
            removed.append(DiffPart("".join(before[i1:i2]), is_changed))
        if j2 > j1:
            added.append(DiffPart("".join(after[j1:j2]), is_changed))
    return tuple(removed), tuple(added)
