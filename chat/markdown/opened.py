"""The block that is open: what closes it, and how it is cut when it grows too long.

    Opened          nothing is open
      Fenced        code between fences
      Gathered      lines that markdown-it will read
        Paragraph   Table   Indented
        Container   Quote   Listing

A block is closed where its parts, parsed apart, are certain to read as they do together. Where
only a full parse could tell (a line without indent that may or may not continue the last item),
the lines stay in one block.
"""

from chat.markdown import blocks as size
from chat.markdown import lines as look
from chat.markdown.blocks import Block, Code, Prose, code_break, sentence_end
from chat.markdown.lines import Fence, Item, Kind, Start


class Opened:
    """Nothing is open."""

    def take(self, line: str) -> "Step":
        """A whole line: the blocks that it closed, and what is open after it."""
        return ([], self) if look.is_blank(line) else begin(line, look.start_of(line))

    def cut(self, line: str) -> "tuple[list[Block], Opened, str]":
        """A line longer than LIMIT: what to close, what is open then, the rest of the line."""
        at = sentence_end(line)
        return [*self.close(), Prose(line[:at])], Opened(), line[at:]

    def is_over(self, line: str) -> bool:
        """Whether the beginning of a line tells already that it is no part of this block."""
        return False

    def close(self) -> list[Block]:
        return []

    def parts(self, line: str) -> list[Block]:
        """What is open, with an unfinished line. All parts but the last stay as they are."""
        return [] if look.is_blank(line) else [Prose(line)]


Step = tuple[list[Block], Opened]


def begin(line: str, start: Start) -> Step:
    if start.fence:
        return [], Fenced(start.fence)
    if start.item:
        return [], Listing(line, start.item)
    match start.kind:
        case Kind.QUOTE:
            return [], Quote(line)
        case Kind.INDENTED:
            return [], Indented(line)
        case Kind.PARAGRAPH:
            return [], Paragraph(line)
    return [Prose(line)], Opened()


class Fenced(Opened):
    """Code. Its pieces, one after the other, are the code to the letter, for whoever copies it."""

    def __init__(self, fence: Fence) -> None:
        self.fence = fence
        self.lines: list[str] = []
        self.size = 0
        self.more = False
        self.within = False  # a line was cut, and this is the rest of it

    def take(self, line: str) -> Step:
        if not self.within:
            if self.fence.closed_by(line):
                return self.close(), Opened()
            line = self.fence.inner(line)
        self.within = False
        full = self.size + len(line) > size.LIMIT and self.lines
        closed = self._emit(code_break(self.lines)) if full else []
        self.lines.append(line)
        self.size += len(line) + 1
        return closed, self

    def cut(self, line: str) -> tuple[list[Block], Opened, str]:
        closed = self._emit(len(self.lines)) if self.lines else []
        closed.append(Code(self.fence.info, line[: size.LIMIT], self.more))
        self.more = self.within = True
        return closed, self, line[size.LIMIT :]

    def close(self) -> list[Block]:
        return self._emit(len(self.lines))

    def parts(self, line: str) -> list[Block]:
        return [Code(self.fence.info, "\n".join([*self.lines, line]), self.more)]

    def _emit(self, count: int) -> list[Block]:
        text = "".join(f"{line}\n" for line in self.lines[:count])
        block = Code(self.fence.info, text, self.more)
        self.more = True
        self.lines = self.lines[count:]
        self.size = sum(len(line) + 1 for line in self.lines)
        return [block]


class Gathered(Opened):
    """Lines of Markdown. Subclasses say what ends them."""

    spans_blanks = False

    def __init__(self, *lines: str, more: bool = False) -> None:
        self.lines = list(lines)
        self.size = sum(len(line) + 1 for line in lines)
        self.more = more

    def take(self, line: str) -> Step:
        if look.is_blank(line):
            return self.take_blank()
        start = look.start_of(line)
        if self.size + len(line) <= self.limit and not self.ended_by(line, start):
            return self.go_on(line, start)
        closed, opened = begin(line, start)
        return self.close() + closed, opened

    @property
    def limit(self) -> int:
        return size.MOST

    def take_blank(self) -> Step:
        if not self.spans_blanks:
            return self.close(), Opened()
        return self.keep("") if self.size < self.limit else ([], self)

    def ended_by(self, line: str, start: Start) -> bool:
        raise NotImplementedError

    def go_on(self, line: str, start: Start) -> Step:
        return self.keep(line)

    def keep(self, line: str) -> Step:
        self.lines.append(line)
        self.size += len(line) + 1
        return [], self

    def close(self) -> list[Block]:
        return [Prose("\n".join(self.lines), self.more)]

    def parts(self, line: str) -> list[Block]:
        return [Prose("\n".join([*self.lines, line]), self.more)]


class Paragraph(Gathered):
    @property
    def limit(self) -> int:
        return size.LIMIT

    def ended_by(self, line: str, start: Start) -> bool:
        if look.opens_table(self.lines[-1], line) or look.underlines(line):
            return False
        if start.item:
            return start.item.interrupts
        return start.kind not in (Kind.PARAGRAPH, Kind.INDENTED)

    def go_on(self, line: str, start: Start) -> Step:
        if look.opens_table(self.lines[-1], line):
            head = self.lines.pop()
            return (self.close() if self.lines else []), Table(head, line)
        kept = self.keep(line)
        return (self.close(), Opened()) if look.underlines(line) else kept


class Indented(Gathered):
    spans_blanks = True

    def ended_by(self, line: str, start: Start) -> bool:
        return start.kind is not Kind.INDENTED

    def is_over(self, line: str) -> bool:
        text = line.lstrip(" ")
        return len(line) - len(text) < 4 and text[:1] not in ("", "\t")


class Container(Gathered):
    """What has blocks within: a line of words below it may go on with the last of them, or not."""

    lazy = False
    """There was such a line."""

    def cut_by(self, line: str, start: Start) -> bool:
        if self.lazy and start.item:
            return start.item.interrupts
        if self.lazy and look.underlines(line):
            return False
        return start.kind in (Kind.RULE, Kind.LIST)


class Quote(Container):
    def ended_by(self, line: str, start: Start) -> bool:
        if start.kind is Kind.QUOTE:
            return False
        return start.kind in (Kind.FENCE, Kind.HEADING) or self.cut_by(line, start)

    def go_on(self, line: str, start: Start) -> Step:
        self.lazy = self.lazy or start.kind is not Kind.QUOTE
        return self.keep(line)


class Listing(Container):
    spans_blanks = True

    def __init__(self, line: str, item: Item, number: int | None = None) -> None:
        super().__init__(line)
        self.item = item
        self.number = number
        self.first = item.number if number is None else number
        self.items = 1
        self.marks = [(0, number)]  # where the parts begin: line, number of the first item

    def is_over(self, line: str) -> bool:
        """After an empty line, any letter that is neither indented nor the mark of an item."""
        text = line.lstrip(" ")
        if self.lines[-1] or not text or text[0] in "\t-+*" or text[0].isdigit():
            return False
        return len(line) - len(text) < min(4, self.item.indent)

    def ended_by(self, line: str, start: Start) -> bool:
        if self._is_inside(start) or self._is_next(start):
            return False
        if not self.lines[-1] or start.kind in (Kind.FENCE, Kind.HEADING, Kind.QUOTE):
            return True
        return self.cut_by(line, start)

    def go_on(self, line: str, start: Start) -> Step:
        if start.item and self._is_next(start):
            return self._next(line, start.item)
        self.lazy = self.lazy or bool(self.lines[-1] and not self._is_inside(start))
        return self.keep(line)

    def close(self) -> list[Block]:
        return [Prose("\n".join(self.lines), self.more, self.number)]

    def parts(self, line: str) -> list[Block]:
        lines = [*self.lines, line]
        ends = [*(at for at, _ in self.marks[1:]), len(lines)]
        return [
            Prose("\n".join(lines[at:end]), self.more or at > 0, number)
            for (at, number), end in zip(self.marks, ends, strict=True)
        ]

    def _is_inside(self, start: Start) -> bool:
        return start.indent >= self.item.indent

    def _is_next(self, start: Start) -> bool:
        item = start.item
        return item is not None and not self._is_inside(start) and item.continues(self.item)

    def _next(self, line: str, item: Item) -> Step:
        if self.size > size.LIMIT:
            rest = Listing(line, item, self._counted())
            rest.more = True
            return self.close(), rest
        if sum(len(above) + 1 for above in self.lines[self.marks[-1][0] :]) > size.PART:
            self.marks.append((len(self.lines), self._counted()))
        self.item = item
        self.items += 1
        return self.keep(line)

    def _counted(self) -> int | None:
        """What the next item is to be called, whatever its mark says: so do lists count."""
        return None if self.first is None else self.first + self.items


class Table(Gathered):
    def __init__(self, *lines: str, more: bool = False) -> None:
        super().__init__(*lines, more=more)
        self.head = list(lines[:2])
        self.marks = [0]

    def ended_by(self, line: str, start: Start) -> bool:
        return start.kind is not Kind.PARAGRAPH

    def go_on(self, line: str, start: Start) -> Step:
        short = sum(map(len, self.head)) <= size.HEAD
        if short and self.size > size.LIMIT:
            return self.close(), Table(*self.head, line, more=True)
        if short and sum(len(row) + 1 for row in self.lines[self.marks[-1] :]) > size.PART:
            self.marks.append(len(self.lines))
        return self.keep(line)

    def parts(self, line: str) -> list[Block]:
        lines = [*self.lines, line]
        return [
            Prose("\n".join((self.head if at else []) + lines[at:end]), self.more or at > 0)
            for at, end in zip(self.marks, [*self.marks[1:], len(lines)], strict=True)
        ]
