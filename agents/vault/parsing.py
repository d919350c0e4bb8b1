"""Parse a note: title, tags, aliases, links, headings and blocks.

Obsidian's notation is read, and plain Markdown. A parser never raises, and looks at each line once.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from urllib.parse import unquote

from agents.core.frontmatter import BYTE_ORDER_MARK, Frontmatter, read_frontmatter
from agents.models.vault import MAX_PATH_LENGTH, NoteLink
from agents.search.sections import split_lines
from agents.vault import canvas
from agents.vault.masking import iterate_text_lines
from agents.vault.paths import get_name

MAX_TITLE_LENGTH = 200
MAX_LABEL_LENGTH = 200
MAX_TAG_LENGTH = 200
MAX_TAGS = MAX_ALIASES = 1_000
"""Of one note; the rest of them are only text."""
_LABEL_WINDOW = 1_000
"""How far from `](` the rest of a Markdown link is looked for."""
_MAX_NESTED_LABELS = 4
_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(\S.*)")
_BLOCK = re.compile(r"(?:^|\s)\^([A-Za-z0-9-]+)\s*$")
TAG_PATTERN = re.compile(r"#(?<![^\s(\[{,;>*_\"'|]#)([^\s#\[\](){}<>|,;:.!?\"'`*\\&=+%$^~@]+)")
_COLOUR = re.compile(r"(?:[0-9a-f]{3,4}|[0-9a-f]{6}|[0-9a-f]{8})", re.IGNORECASE)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_DEFINITION = re.compile(
    r" {0,3}(\[([^\]\[^][^\]\[]*)\]:[ \t]*(<[^<>]*>|[^\s<>]\S*))"
    r"(?:[ \t]+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?[ \t]*$"
)
_DESTINATION = re.compile(r"[^\s()<>]*(?:\([^\s()<>]*\)[^\s()<>]*)*")


@dataclass(frozen=True, slots=True)
class Link:
    """A link as it is written. `start` and `end` are places in the line, numbered from 0."""

    line: int
    start: int
    end: int
    kind: NoteLink.Kind
    target: str
    """Without fragment, decoded; empty for the note itself."""
    fragment: str
    label: str
    written: str
    """All of it, from the first character to the last."""


@dataclass(frozen=True, slots=True)
class Heading:
    line: int
    level: int
    text: str


@dataclass(frozen=True, slots=True)
class ParsedNote:
    """Everything that is known of a note by reading it. Lines are numbered from 0."""

    title: str
    tags: tuple[str, ...]
    aliases: tuple[str, ...]
    links: tuple[Link, ...]
    headings: tuple[Heading, ...]
    blocks: dict[str, int]
    frontmatter: Frontmatter


def parse_note(path: str, text: str) -> ParsedNote:
    """Read a note. Files that are not Markdown are read as what they are."""
    if path.lower().endswith(".canvas"):
        text = canvas.to_markdown(text)
    lines = split_lines(text.removeprefix(BYTE_ORDER_MARK))
    block = read_frontmatter(lines)
    links = list(_find_frontmatter_links(lines, block))
    headings: list[Heading] = []
    blocks: dict[str, int] = {}
    tags = dict.fromkeys(_iterate_frontmatter_tags(block))
    for number, line in iterate_text_lines(lines, block.end):
        if not ("#" in line or "[" in line or "^" in line):
            continue
        found = find_links(line, number)
        links += found
        if heading := _HEADING.match(line):
            headings.append(Heading(number, len(heading[1]), _clean_heading(heading[2])))
        if mark := _BLOCK.search(line):
            blocks.setdefault(mark[1].lower(), number)
        if "#" in line:
            tags.update(dict.fromkeys(_find_tags(_blank_out(line, found))))
    return ParsedNote(
        title=_choose_title(path, block, headings, lines),
        tags=tuple(islice(tags, MAX_TAGS)),
        aliases=tuple(islice(_clean_aliases(block), MAX_ALIASES)),
        links=tuple(links),
        headings=tuple(headings),
        blocks=blocks,
        frontmatter=block,
    )


def _choose_title(path: str, block: Frontmatter, headings: list[Heading], lines: list[str]) -> str:
    """Return the given title, or the heading that a note begins with, or its name."""
    given = block.get_value("title")
    if not given and headings and not any(map(str.strip, lines[block.end : headings[0].line])):
        given = headings[0].text
    return " ".join((given or get_name(path)).split())[:MAX_TITLE_LENGTH]


def _clean_heading(text: str) -> str:
    return text.rstrip().rstrip("#").rstrip()


def _clean_aliases(block: Frontmatter) -> Iterator[str]:
    for alias in dict.fromkeys(block.get_values("aliases", "alias")):
        if alias.strip() and len(alias) <= MAX_LABEL_LENGTH:
            yield alias.strip()


# -- tags -----------------------------------------------------------------------------------------


def _iterate_frontmatter_tags(block: Frontmatter) -> Iterator[str]:
    for value in block.get_values("tags", "tag"):
        for part in value.split():
            if tag := clean_tag(part):
                yield tag


def _find_tags(line: str) -> Iterator[str]:
    for found in TAG_PATTERN.finditer(line):
        tag = clean_tag(found[1])
        if tag and not is_colour(tag):
            yield tag


def clean_tag(written: str) -> str:
    """Return a tag without its mark and without empty parts; empty if it is none, as `#123`."""
    parts = [part for part in written.strip().lstrip("#").split("/") if part]
    tag = "/".join(parts)
    has_letter = any(not (char.isdigit() or char in "/-_") for char in tag)
    return tag if has_letter and len(tag) <= MAX_TAG_LENGTH else ""


def is_colour(tag: str) -> bool:
    """Return whether it is a colour such as #1a2b3c or #fff; words such as #cafe are tags."""
    if not _COLOUR.fullmatch(tag):
        return False
    return any(char.isdigit() for char in tag) or len(set(tag.lower())) == 1


def _blank_out(line: str, links: list[Link]) -> str:
    pieces, place = [], 0
    for link in links:
        if link.end > place:
            pieces += [line[place : link.start], " " * (link.end - max(place, link.start))]
            place = link.end
    return "".join([*pieces, line[place:]])


# -- links ----------------------------------------------------------------------------------------


def _find_frontmatter_links(lines: list[str], block: Frontmatter) -> Iterator[Link]:
    for number in range(1, max(1, block.end - 1)):
        if "[[" in lines[number]:
            yield from find_wikilinks(lines[number], number)


def find_links(line: str, number: int) -> list[Link]:
    """Return the links of a line in their order."""
    found = list(find_wikilinks(line, number)) if "[[" in line else []
    if "]:" in line and (definition := _read_definition_link(line, number)):
        return [definition]
    if "](" in line:
        found += find_markdown_links(line, number)
        found.sort(key=lambda link: link.start)
    return found


def iterate_definitions(lines: Sequence[str]) -> Iterator[tuple[int, str, str]]:
    """Yield where `[label]: destination` is written, both parts. `[text][label]` leads there."""
    if any("]:" in line for line in lines):
        for number, line in iterate_text_lines(lines):
            if found := _match_definition(line):
                yield number, found[2], found[3].strip("<>")


def _match_definition(line: str) -> re.Match[str] | None:
    found = _DEFINITION.match(line) if "]:" in line else None
    return found if found and "](" not in found[3] else None


def _read_definition_link(line: str, number: int) -> Link | None:
    found = _match_definition(line)
    if found is None:
        return None
    written = found[3].strip("<>")
    return _build_markdown_link(number, *found.span(1), found[2], written, found[1])


def find_wikilinks(line: str, number: int) -> Iterator[Link]:
    place = line.find("[[")
    while place >= 0:
        end = line.find("]]", place + 2)
        if end < 0:
            return
        start = line.rfind("[[", place, end)
        inner = line[start + 2 : end]
        is_escaped = start > 0 and line[start - 1] == "\\"
        is_embed = start > 0 and line[start - 1] == "!"
        if not is_escaped and (
            link := _read_wikilink(line, number, start - is_embed, end + 2, inner)
        ):
            yield link
        place = line.find("[[", end + 2)


def _read_wikilink(line: str, number: int, start: int, end: int, inner: str) -> Link | None:
    target, _, label = inner.partition("|")
    target = target.removesuffix("\\").strip()  # within tables the bar is escaped
    target, _, fragment = target.partition("#")
    if not (target or fragment) or max(len(target), len(fragment)) > MAX_PATH_LENGTH:
        return None
    is_embed = line[start] == "!"
    kind = NoteLink.Kind.EMBED if is_embed else NoteLink.Kind.WIKILINK
    written = line[start:end]
    label = label.strip()[:MAX_LABEL_LENGTH]
    return Link(number, start, end, kind, target.strip(), fragment.rstrip(), label, written)


def find_markdown_links(line: str, number: int) -> Iterator[Link]:
    place = line.find("](")
    while place >= 0:
        opening = place + 2
        written, end = _read_destination(line, opening)
        if end > 0 and (link := _read_markdown_link(line, number, place, end, written)):
            yield link
        place = line.find("](", max(end, opening))


def _read_destination(line: str, start: int) -> tuple[str, int]:
    """Return where a Markdown link leads, as written, and the place after its last bracket."""
    while line[start : start + 1] == " ":
        start += 1
    if line[start : start + 1] == "<":
        closing = line.find(">", start, start + _LABEL_WINDOW)
        if closing < 0:
            return "", -1
        written, after = line[start + 1 : closing], closing + 1
    else:
        match = _DESTINATION.match(line, start)
        after = match.end() if match else start
        written = line[start:after]
    bracket = line.find(")", after, after + _LABEL_WINDOW)
    title = line[after:bracket].strip() if bracket >= 0 else ""
    if bracket < 0 or (title and title[0] not in "\"'("):
        return "", -1
    return written, bracket + 1


def _find_label_start(line: str, place: int) -> int:
    """Return where the label before `](` begins; it may hold a picture, which has brackets too."""
    first = max(0, place - _LABEL_WINDOW)
    start = line.rfind("[", first, place)
    for _ in range(_MAX_NESTED_LABELS):
        if start < 0 or line.count("]", start, place) < line.count("[", start, place):
            break
        start = line.rfind("[", first, start)
    return start


def _read_markdown_link(line: str, number: int, place: int, end: int, written: str) -> Link | None:
    start = _find_label_start(line, place)
    if start < 0:
        return None
    first = start - (start > 0 and line[start - 1] == "!")
    return _build_markdown_link(
        number, first, end, line[start + 1 : place], written, line[first:end]
    )


def _build_markdown_link(
    number: int, start: int, end: int, label: str, destination: str, written: str
) -> Link | None:
    """Return a link to a file, None for one that leads elsewhere."""
    if not destination or _SCHEME.match(destination):
        return None
    target, _, fragment = destination.partition("#")
    target, fragment = unquote(target), unquote(fragment)
    if max(len(target), len(fragment)) > MAX_PATH_LENGTH or "\x00" in target + fragment:
        return None
    kind = NoteLink.Kind.IMAGE if written.startswith("!") else NoteLink.Kind.MARKDOWN
    return Link(number, start, end, kind, target, fragment, label[:MAX_LABEL_LENGTH], written)
