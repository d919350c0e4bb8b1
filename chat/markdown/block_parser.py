"""The block that is open: what closes it, and how it is cut when it grows too long.

    BlockState          nothing is open
      FencedCode        code between fences
      TextBlock         lines that markdown-it will read
        Paragraph   Table   IndentedCode
        Container   Quote   ListBlock

A block is closed where its parts, parsed apart, are certain to read as they do together. Where
only a full parse could tell (a line without indent that may or may not continue the last item),
the lines stay in one block.
"""

from chat.markdown import blocks as size
from chat.markdown import line_types as look
from chat.markdown.blocks import Block, CodeBlock, ProseBlock, find_code_break, find_sentence_end
from chat.markdown.line_types import Fence, ItemMarker, LineKind, LineStart


class BlockState:
    """Nothing is open."""

    def feed(self, line: str) -> "Transition":
        """Take a whole line: return the blocks that it closed, and what is open after it."""
        return ([], self) if look.is_blank(line) else open_block(line, look.classify_line(line))

    def cut(self, line: str) -> "tuple[list[Block], BlockState, str]":
        """Cut a line over SOFT_LIMIT_CHARS: return what to close, what is open then, the rest."""
        at = find_sentence_end(line)
        return [*self.flush(), ProseBlock(line[:at])], BlockState(), line[at:]

    def is_ended_by_prefix(self, line: str) -> bool:
        """Return whether the beginning of a line tells already that it is no part of this block."""
        return False

    def flush(self) -> list[Block]:
        return []

    def open_parts(self, line: str) -> list[Block]:
        """Return what is open, with an unfinished line. All parts but the last stay as they are."""
        return [] if look.is_blank(line) else [ProseBlock(line)]


Transition = tuple[list[Block], BlockState]


def open_block(line: str, start: LineStart) -> Transition:
    if start.fence:
        return [], FencedCode(start.fence)
    if start.item:
        return [], ListBlock(line, start.item)
    match start.kind:
        case LineKind.QUOTE:
            return [], Quote(line)
        case LineKind.INDENTED:
            return [], IndentedCode(line)
        case LineKind.PARAGRAPH:
            return [], Paragraph(line)
    return [ProseBlock(line)], BlockState()


class FencedCode(BlockState):
    """Code. Its pieces, one after the other, are the code to the letter, for whoever copies it."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.lines: list[str] = []
        self.size = 0
        self.more = False
        self.is_mid_line = False  # a line was cut, and this is the rest of it

    def feed(self, line: str) -> Transition:
        if not self.is_mid_line:
            if self.fence.is_closed_by(line):
                return self.flush(), BlockState()
            line = self.fence.strip_indent(line)
        self.is_mid_line = False
        full = self.size + len(line) > size.SOFT_LIMIT_CHARS and self.lines
        closed = self._emit(find_code_break(self.lines)) if full else []
        self.lines.append(line)
        self.size += len(line) + 1
        return closed, self

    def cut(self, line: str) -> tuple[list[Block], BlockState, str]:
        closed = self._emit(len(self.lines)) if self.lines else []
        closed.append(CodeBlock(self.fence.info, line[: size.SOFT_LIMIT_CHARS], self.more))
        self.more = self.is_mid_line = True
        return closed, self, line[size.SOFT_LIMIT_CHARS :]

    def flush(self) -> list[Block]:
        return self._emit(len(self.lines))

    def open_parts(self, line: str) -> list[Block]:
        return [CodeBlock(self.fence.info, "\n".join([*self.lines, line]), self.more)]

    def _emit(self, count: int) -> list[Block]:
        text = "".join(f"{line}\n" for line in self.lines[:count])
        block = CodeBlock(self.fence.info, text, self.more)
        self.more = True
        self.lines = self.lines[count:]
        self.size = sum(len(line) + 1 for line in self.lines)
        return [block]


class TextBlock(BlockState):
    """Lines of Markdown. Subclasses say what ends them."""

    spans_blanks = False

    def __init__(self, *lines: str, more: bool = False) -> None:
        self.lines = list(lines)
        self.size = sum(len(line) + 1 for line in lines)
        self.more = more

    def feed(self, line: str) -> Transition:
        if look.is_blank(line):
            return self.feed_blank()
        start = look.classify_line(line)
        if self.size + len(line) <= self.limit and not self.is_ended_by(line, start):
            return self.continue_with(line, start)
        closed, opened = open_block(line, start)
        return self.flush() + closed, opened

    @property
    def limit(self) -> int:
        return size.HARD_LIMIT_CHARS

    def feed_blank(self) -> Transition:
        if not self.spans_blanks:
            return self.flush(), BlockState()
        return self.append_line("") if self.size < self.limit else ([], self)

    def is_ended_by(self, line: str, start: LineStart) -> bool:
        raise NotImplementedError

    def continue_with(self, line: str, start: LineStart) -> Transition:
        return self.append_line(line)

    def append_line(self, line: str) -> Transition:
        self.lines.append(line)
        self.size += len(line) + 1
        return [], self

    def flush(self) -> list[Block]:
        return [ProseBlock("\n".join(self.lines), self.more)]

    def open_parts(self, line: str) -> list[Block]:
        return [ProseBlock("\n".join([*self.lines, line]), self.more)]


class Paragraph(TextBlock):
    @property
    def limit(self) -> int:
        return size.SOFT_LIMIT_CHARS

    def is_ended_by(self, line: str, start: LineStart) -> bool:
        if look.is_table_head(self.lines[-1], line) or look.is_setext_underline(line):
            return False
        if start.item:
            return start.item.interrupts
        return start.kind not in (LineKind.PARAGRAPH, LineKind.INDENTED)

    def continue_with(self, line: str, start: LineStart) -> Transition:
        if look.is_table_head(self.lines[-1], line):
            head = self.lines.pop()
            return (self.flush() if self.lines else []), Table(head, line)
        kept = self.append_line(line)
        return (self.flush(), BlockState()) if look.is_setext_underline(line) else kept


class IndentedCode(TextBlock):
    spans_blanks = True

    def is_ended_by(self, line: str, start: LineStart) -> bool:
        return start.kind is not LineKind.INDENTED

    def is_ended_by_prefix(self, line: str) -> bool:
        text = line.lstrip(" ")
        return len(line) - len(text) < 4 and text[:1] not in ("", "\t")


class Container(TextBlock):
    """What has blocks within: a line of words below it may go on with the last of them, or not."""

    has_lazy_line = False
    """There was such a line."""

    def is_interrupted_by(self, line: str, start: LineStart) -> bool:
        if self.has_lazy_line and start.item:
            return start.item.interrupts
        if self.has_lazy_line and look.is_setext_underline(line):
            return False
        return start.kind in (LineKind.RULE, LineKind.LIST)


class Quote(Container):
    def is_ended_by(self, line: str, start: LineStart) -> bool:
        if start.kind is LineKind.QUOTE:
            return False
        return start.kind in (LineKind.FENCE, LineKind.HEADING) or self.is_interrupted_by(
            line, start
        )

    def continue_with(self, line: str, start: LineStart) -> Transition:
        self.has_lazy_line = self.has_lazy_line or start.kind is not LineKind.QUOTE
        return self.append_line(line)


class ListBlock(Container):
    spans_blanks = True

    def __init__(self, line: str, item: ItemMarker, number: int | None = None) -> None:
        super().__init__(line)
        self.item = item
        self.number = number
        self.first = item.number if number is None else number
        self.items = 1
        self.marks = [(0, number)]  # where the parts begin: line, number of the first item
        self.part_start = 0  # the characters before the last of them

    def is_ended_by_prefix(self, line: str) -> bool:
        """After an empty line, any letter that is neither indented nor the mark of an item."""
        text = line.lstrip(" ")
        if self.lines[-1] or not text or text[0] in "\t-+*" or text[0].isdigit():
            return False
        return len(line) - len(text) < min(4, self.item.indent)

    def is_ended_by(self, line: str, start: LineStart) -> bool:
        if self._is_inside(start) or self._is_next(start):
            return False
        if not self.lines[-1] or start.kind in (LineKind.FENCE, LineKind.HEADING, LineKind.QUOTE):
            return True
        return self.is_interrupted_by(line, start)

    def continue_with(self, line: str, start: LineStart) -> Transition:
        if start.item and self._is_next(start):
            return self._add_item(line, start.item)
        self.has_lazy_line = self.has_lazy_line or bool(
            self.lines[-1] and not self._is_inside(start)
        )
        return self.append_line(line)

    def flush(self) -> list[Block]:
        return [ProseBlock("\n".join(self.lines), self.more, self.number)]

    def open_parts(self, line: str) -> list[Block]:
        lines = [*self.lines, line]
        ends = [*(at for at, _ in self.marks[1:]), len(lines)]
        return [
            ProseBlock("\n".join(lines[at:end]), self.more or at > 0, number)
            for (at, number), end in zip(self.marks, ends, strict=True)
        ]

    def _is_inside(self, start: LineStart) -> bool:
        return start.indent >= self.item.indent

    def _is_next(self, start: LineStart) -> bool:
        item = start.item
        return item is not None and not self._is_inside(start) and item.continues(self.item)

    def _add_item(self, line: str, item: ItemMarker) -> Transition:
        if self.size > size.SOFT_LIMIT_CHARS:
            rest = ListBlock(line, item, self._next_number())
            rest.more = True
            return self.flush(), rest
        if self.size - self.part_start > size.PART_CHARS:
            self.marks.append((len(self.lines), self._next_number()))
            self.part_start = self.size
        self.item = item
        self.items += 1
        return self.append_line(line)

    def _next_number(self) -> int | None:
        """Return what the next item is to be called, whatever its mark says: so do lists count."""
        return None if self.first is None else self.first + self.items


class Table(TextBlock):
    def __init__(self, *lines: str, more: bool = False) -> None:
        super().__init__(*lines, more=more)
        self.head = list(lines[:2])
        self.marks = [0]
        self.part_start = 0

    def is_ended_by(self, line: str, start: LineStart) -> bool:
        return start.kind is not LineKind.PARAGRAPH

    def continue_with(self, line: str, start: LineStart) -> Transition:
        short = sum(map(len, self.head)) <= size.MAX_HEAD_CHARS
        if short and self.size > size.SOFT_LIMIT_CHARS:
            return self.flush(), Table(*self.head, line, more=True)
        if short and self.size - self.part_start > size.PART_CHARS:
            self.marks.append(len(self.lines))
            self.part_start = self.size
        return self.append_line(line)

    def open_parts(self, line: str) -> list[Block]:
        lines = [*self.lines, line]
        return [
            ProseBlock("\n".join((self.head if at else []) + lines[at:end]), self.more or at > 0)
            for at, end in zip(self.marks, [*self.marks[1:], len(lines)], strict=True)
        ]
