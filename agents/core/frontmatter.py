"""The properties at the beginning of a note, read line by line.

Nothing here is YAML: what people write in notes (`name: @ada`, `time: 12:30`, `tags: #a`,
`see: [[Plan]]`) means something else or nothing there, and a hostile block can kill a YAML parser.
Values stay text. The block is kept as it is; setting a property changes its lines and no others.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

BYTE_ORDER_MARK = "\ufeff"
MAX_VALUE_CHARS = 2_000
"""How much of a value over several lines is read."""
_KEY_LINE = re.compile(r"(?P<key>[^\s:#\-\[\]{}\"'][^:\n]{0,200}?|\"[^\"\n]{1,200}\")\s*:(?:\s|$)")
_LIST_ITEM = re.compile(r"\s*-(?:\s+|$)")
_BLOCK_SCALAR = re.compile(r"[|>][+-]?\d?\s*$")
_PLAIN_VALUE = re.compile(r"[\w(][\w ().,/+-]*")
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+$")
_ENDINGS = ("---", "...")


@dataclass(slots=True)
class Property:
    """A property: where it stands in the note (lines from 0), and its values as text."""

    name: str
    first: int
    last: int
    """The line after its last one."""
    values: list[str] = field(default_factory=list)
    is_list: bool = False

    @property
    def value(self) -> str:
        return self.values[0] if self.values else ""


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """The block of properties. `end` is the line after it, 0 where a note has none."""

    end: int = 0
    properties: tuple[Property, ...] = ()

    def find(self, *names: str) -> Property | None:
        """Return the first property that has one of these names, in whatever case."""
        wanted = {name.casefold() for name in names}
        return next((p for p in self.properties if p.name.casefold() in wanted), None)

    def get_value(self, *names: str) -> str:
        found = self.find(*names)
        return found.value if found else ""

    def get_values(self, *names: str) -> list[str]:
        """Return a list property, or the parts of a line that are separated by commas."""
        found = self.find(*names)
        if found is None:
            return []
        if found.is_list:
            return found.values
        return [part.strip() for value in found.values for part in value.split(",") if part.strip()]


def read_frontmatter(lines: Sequence[str]) -> Frontmatter:
    """Read the properties of a note, given its lines. Never raises."""
    if not lines or lines[0].removeprefix(BYTE_ORDER_MARK).rstrip() != "---":
        return Frontmatter()
    end = next((n for n in range(1, len(lines)) if lines[n].rstrip() in _ENDINGS), 0)
    if not end or not _looks_like_properties(lines[1:end]):
        return Frontmatter()  # a rule across the page, not properties
    return Frontmatter(end + 1, tuple(_read_properties(lines, end)))


def _looks_like_properties(block: Sequence[str]) -> bool:
    first = next((line for line in block if line.strip()), None)
    if first is None:
        return len(block) < 2  # an empty block; more empty lines lie between two rules
    return bool(_KEY_LINE.match(first)) or first.lstrip().startswith(("#", "{{", "<%"))


def _read_properties(lines: Sequence[str], end: int) -> Iterator[Property]:
    current: Property | None = None
    for number in range(1, end):
        line = lines[number].rstrip()
        match = _KEY_LINE.match(line)
        if match:
            if current is not None:
                yield current
            current = Property(match["key"].strip('" '), number, number + 1)
            _read_inline_value(current, line[match.end() :].strip())
        elif current is not None and line.strip():
            current.last = number + 1
            _read_further_line(current, line)
    if current is not None:
        yield current


def _read_inline_value(found: Property, value: str) -> None:
    if not value or _BLOCK_SCALAR.match(value):
        return
    if value.startswith("[") and value.endswith("]") and not value.startswith("[["):
        found.is_list = True
        found.values = [unquote_value(part) for part in _split_list(value[1:-1]) if part.strip()]
    else:
        found.values = [unquote_value(value)]


def _read_further_line(found: Property, line: str) -> None:
    if item := _LIST_ITEM.match(line):
        found.is_list = True
        if value := unquote_value(line[item.end() :].strip()):
            found.values.append(value)
    elif line[0].isspace():  # a text over several lines
        if not found.values:
            found.values.append(line.strip())
        elif not found.is_list and len(found.values[0]) < MAX_VALUE_CHARS:
            found.values[0] += f" {line.strip()}"


def _split_list(inner: str) -> Iterator[str]:
    """Yield the parts between commas that stand outside of quotes."""
    start, quote, is_fresh = 0, "", True
    for place, character in enumerate(inner):
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and is_fresh:
            quote, is_fresh = character, False
        elif character == ",":
            yield inner[start:place].strip()
            start, is_fresh = place + 1, True
        elif is_fresh and not character.isspace():
            is_fresh = False
    yield inner[start:].strip()


def unquote_value(value: str) -> str:
    if len(value) >= 2 and value[0] == value[-1] == '"':
        return value[1:-1].replace('\\"', '"').replace("\\\\", "\\")
    if len(value) >= 2 and value[0] == value[-1] == "'":
        return value[1:-1].replace("''", "'")
    return value


def set_property(text: str, name: str, value: str | Sequence[str]) -> str:
    """Return the text with a property set, a line of its own; everything else stays as it is."""
    lines = _LINE.findall(text)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    written = f"{name}: {_format_value(value)}{newline}"
    block = read_frontmatter(lines)
    if not block.end:
        mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
        return f"{mark}---{newline}{written}---{newline}{text.removeprefix(BYTE_ORDER_MARK)}"
    found = block.find(name)
    first, last = (found.first, found.last) if found else (block.end - 1, block.end - 1)
    return "".join([*lines[:first], written, *lines[last:]])


def _format_value(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return _format_scalar(value)
    return f"[{', '.join(_format_scalar(item) for item in value)}]"


def _format_scalar(value: str) -> str:
    plain = " ".join(value.splitlines()).strip()
    if _PLAIN_VALUE.fullmatch(plain) and "," not in plain:
        return plain
    escaped = plain.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
