"""Merges two changes of one text, line by line. Pure.

result = merge_texts(base, yours, theirs)
result.text if not result.conflict_count else ...
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agents.vault.diffs import Block, compare_lines

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_LINE_END = re.compile(r"\r\n|\r|\n")


@dataclass(frozen=True, slots=True)
class MergeChunk:
    """A stretch of a merge: the same, changed by one side, or a conflict of both."""

    kind: Literal["same", "yours", "theirs", "both", "conflict"]
    base: str
    yours: str
    theirs: str


@dataclass(frozen=True, slots=True)
class MergeResult:
    """The merged text; where both sides changed the same lines it has both, between marks."""

    chunks: tuple[MergeChunk, ...]
    text: str
    conflict_count: int


def merge_texts(base: str, yours: str, theirs: str) -> MergeResult:
    """Merge two changes of `base`. Line ends are those of `theirs`, which is what is stored."""
    yours = adopt_line_ends(yours, theirs)
    base = adopt_line_ends(base, theirs)
    chunks = tuple(_iterate_chunks(*(_LINE.findall(text) for text in (base, yours, theirs))))
    conflicts = sum(chunk.kind == "conflict" for chunk in chunks)
    return MergeResult(chunks, "".join(map(_write_chunk, chunks)), conflicts)


def adopt_line_ends(text: str, example: str) -> str:
    """Return a text with the line ends of another; browsers send others than they were given."""
    found = _LINE_END.search(example)
    return _LINE_END.sub(found[0] if found else "\n", text)


def _write_chunk(chunk: MergeChunk) -> str:
    if chunk.kind in ("same", "theirs"):
        return chunk.theirs
    if chunk.kind in ("yours", "both"):
        return chunk.yours
    end = "\r\n" if "\r\n" in chunk.yours + chunk.theirs else "\n"
    yours, theirs = (_end_line(side, end) for side in (chunk.yours, chunk.theirs))
    return f"<<<<<<< yours{end}{yours}======={end}{theirs}>>>>>>> theirs{end}"


def _end_line(text: str, end: str) -> str:
    return text if not text or text.endswith(("\n", "\r")) else text + end


def _iterate_chunks(base: list[str], yours: list[str], theirs: list[str]) -> Iterator[MergeChunk]:
    your_blocks, their_blocks = compare_lines(base, yours), compare_lines(base, theirs)
    place = your_shift = their_shift = 0
    while your_blocks or their_blocks:
        start = min(blocks[0][0] for blocks in (your_blocks, their_blocks) if blocks)
        if start > place:
            yield _build_chunk("same", base[place:start])
        end, mine, other = _take_overlapping(start, your_blocks, their_blocks)
        your_end = _get_end(mine, end, your_shift)
        their_end = _get_end(other, end, their_shift)
        changed = (
            "".join(base[start:end]),
            "".join(yours[start + your_shift : your_end]),
            "".join(theirs[start + their_shift : their_end]),
        )
        yield MergeChunk(_name_change(mine, other, changed), *changed)
        place, your_shift, their_shift = end, your_end - end, their_end - end
    if place < len(base):
        yield _build_chunk("same", base[place:])


def _build_chunk(kind: Literal["same"], lines: list[str]) -> MergeChunk:
    text = "".join(lines)
    return MergeChunk(kind, text, text, text)


def _name_change(
    mine: list[Block], other: list[Block], changed: tuple[str, str, str]
) -> Literal["yours", "theirs", "both", "conflict"]:
    if not other:
        return "yours"
    if not mine:
        return "theirs"
    return "both" if changed[1] == changed[2] else "conflict"


def _take_overlapping(
    start: int, yours: list[Block], theirs: list[Block]
) -> tuple[int, list[Block], list[Block]]:
    """Take the changes of both sides that touch each other; return where the last one ends."""
    end, mine, other = start, list[Block](), list[Block]()
    while True:
        for blocks, taken in ((yours, mine), (theirs, other)):
            if blocks and (blocks[0][0] < end or blocks[0][0] == start):
                taken.append(blocks.pop(0))
                end = max(end, taken[-1][1])
                break
        else:
            return end, mine, other


def _get_end(taken: list[Block], end: int, shift: int) -> int:
    """Return where a stretch of the base ends on one side, after the changes taken of it."""
    return end - taken[-1][1] + taken[-1][3] if taken else end + shift
