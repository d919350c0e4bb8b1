"""Half-written Markdown, made whole enough to look at for a tenth of a second."""

import re

_STARTS = re.compile(r"^[ \t]*(?:[-+*#>|]|\d{1,9}[.)]|$)", re.MULTILINE)
"""Where emphasis cannot reach back beyond: an item, a heading, a row, an empty line."""
_FENCE = re.compile(r"^[ \t]*(?:(?:[-+*>]|\d{1,9}[.)])[ \t]*)?(?:```|~~~)", re.MULTILINE)
_ONLY_MARKS = re.compile(r"[-+*_=~`#>|:! \t]+\Z")
_ONLY_NUMBER = re.compile(r"[ \t]*\d{1,9}[.)]?[ \t]*\Z")
_MARKS = re.compile(r"\\[^\w\s]|`+|\*+|_+|~~|!?\[|\]\(?")
_TICKS = re.compile(r"`+")
_MAX_DEPTH = 20


def close_open_marks(text: str) -> str:
    """Return the text with open marks closed, and without marks at its end that say nothing yet."""
    text = _strip_bare_marks(text).rstrip(" \t\n")
    if len(_FENCE.findall(text)) % 2:
        return text
    at = 0
    for start in _STARTS.finditer(text):
        at = start.start()
    return text[:at] + _InlineMarks(text[at:]).close()


def _strip_bare_marks(text: str) -> str:
    """Strip marks such as `-`, which may become an item, a rule or a heading: wait and see."""
    above, newline, last = text.rpartition("\n")
    bare = _ONLY_MARKS.match(last) or (newline and _ONLY_NUMBER.match(last))
    return above if bare else text


class _InlineMarks:
    """A reading of the marks in one run of text: near enough, since it is soon replaced."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.opened: list[str] = []
        self.brackets: list[re.Match[str]] = []

    def close(self) -> str:
        position = 0
        while position < len(self.text) and (mark := _MARKS.search(self.text, position)):
            if len(self.opened) > _MAX_DEPTH:
                return self.text
            position = self._consume(mark)
        return self.text + "".join(reversed(self.opened))

    def _consume(self, mark: re.Match[str]) -> int:
        """Return where to read on."""
        match mark[0][0]:
            case "`":
                return self._consume_code(mark)
            case "[" | "!":
                self.brackets.append(mark)
            case "]":
                return self._consume_link(mark)
            case "*" | "_" | "~":
                self._consume_emphasis(mark)
        return mark.end()

    def _consume_code(self, mark: re.Match[str]) -> int:
        for end in _TICKS.finditer(self.text, mark.end()):
            if end[0] == mark[0]:
                return end.end()
        if mark.end() == len(self.text):
            self.text = self.text[: mark.start()].rstrip(" ")
        else:
            self.opened.append(mark[0])
        return len(self.text)

    def _consume_link(self, mark: re.Match[str]) -> int:
        if not self.brackets:
            return mark.end()
        label = self.brackets.pop()
        if mark[0] == "]":
            return mark.end()
        end = self.text.find(")", mark.end())
        if end < 0:  # the address is still coming: the words are enough
            self.text = self.text[: label.start()] + self.text[label.end() : mark.start()]
            return len(self.text)
        return end + 1

    def _consume_emphasis(self, mark: re.Match[str]) -> None:
        before = self.text[max(0, mark.start() - 1) : mark.start()]
        after = self.text[mark.end() : mark.end() + 1]
        inside = mark[0][0] == "_" and before.isalnum() and after.isalnum()
        left = len(mark[0])
        if before.strip() and not inside:
            left = self._close_matching(mark[0][0], left)
        if not left or inside:
            return
        if not after:
            self.text = self.text[:-left].rstrip(" ")
        elif after.strip():
            self.opened.append(mark[0][0] * left)

    def _close_matching(self, mark: str, count: int) -> int:
        """Close what was opened with the same mark; how many of the marks are left over."""
        while count and (at := self._find_last(mark)) is not None:
            taken = min(count, len(self.opened[at]))
            left = len(self.opened[at]) - taken
            self.opened[at:] = [mark * left] if left else []
            count -= taken
        return count

    def _find_last(self, mark: str) -> int | None:
        found = [at for at, marks in enumerate(self.opened) if marks[0] == mark]
        return found[-1] if found else None
