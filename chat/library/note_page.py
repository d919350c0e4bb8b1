"""A note as a page shows it: stretches of its text and of its lines, and what belongs to it."""

import re
from dataclasses import dataclass
from html import escape, unescape
from itertools import chain

from agents.models import Project
from agents.search.sections import split_lines
from agents.vault import canvas
from chat.library.note_links import (
    Embeds,
    PageLimits,
    PageLinks,
    ParsedText,
    suggest_path,
    take_turns,
)
from chat.library.note_rendering import render_note, render_value
from chat.markdown import RenderBudget
from chat.markdown.budget import estimate_cost
from chat.markdown.heading_order import order_all_headings
from chat.markdown.rendering import render_plain
from chat.rendering import quota
from chat.rendering.cache import RenderCache
from chat.rendering.fragments import PAGE_CHARS, find_page_end
from chat.rendering.source_links import NOTE_LINES

MAX_CACHED_CHARS = 16_000_000
"""Characters of notes that a process keeps as HTML."""
TOO_DEAR = "This note has more Markdown than one page shows: its end is plain text."
CHARS_PER_COST = 10
"""Characters of a note that cost one unit to be read: that is done each time."""
MAX_LISTED = 50
MAX_HEADINGS = 200
MAX_VALUE_CHARS = 300
_HEADING = re.compile(r'<h([3-6]) id="([^"]+)">(.*?)</h\1>', re.DOTALL)
_TAG = re.compile(r"<[^>]*>")


@dataclass(frozen=True, slots=True)
class PageHeading:
    """A heading of a note, and the address on its page that leads there."""

    level: int
    text: str
    href: str


@dataclass(frozen=True, slots=True)
class MissingLink:
    """A link that leads nowhere yet; `path` is where a note for it would be made."""

    target: str
    path: str


@dataclass(frozen=True, slots=True)
class NoteProperty:
    """A property as a table shows it: its values are HTML."""

    name: str
    values: list[str]


@dataclass(frozen=True, slots=True)
class _RenderedNote:
    blocks: list[str]
    properties: list[NoteProperty]
    remarks: list[str]

    def count_chars(self) -> int:
        values = (value for each in self.properties for value in each.values)
        return sum(map(len, chain(self.blocks, values)))


_cache: RenderCache[str, _RenderedNote] = RenderCache(MAX_CACHED_CHARS, _RenderedNote.count_chars)


@dataclass(frozen=True, slots=True)
class NotePage:
    """`block` and `line` are where the next stretch begins, `earlier` where the one before does."""

    blocks: list[str]
    block: int | None
    lines: list[tuple[int, str]]
    line: int | None
    earlier: int | None
    title_anchor: str
    """The id of the heading that says the title once more, and so is not shown twice."""
    headings: list[PageHeading]
    properties: list[NoteProperty]
    missing: list[MissingLink]
    remarks: list[str]
    """Sentences about what the page does not have, because there is too much of it."""

    @property
    def first(self) -> int:
        """The number of the first line that is shown."""
        return self.lines[0][0] if self.lines else 1


def build_note_page(
    project: Project,
    path: str,
    text: str,
    *,
    block: int = 0,
    line: int = 0,
    anchor: str = "",
    can_write: bool = False,
) -> NotePage:
    """Return the text from a block or an anchor on, and the lines around a line."""
    shown = ParsedText(path, text)
    budget = RenderBudget()
    embeds = Embeds(project, shown, budget, can_write=can_write)
    links = PageLinks(project, shown, can_write=can_write, embeds=embeds)
    chars = embeds.count_chars()
    quota.add_cost(chars // CHARS_PER_COST)

    def render() -> _RenderedNote:
        blocks = _render_blocks(shown, text, links, budget)
        properties = _list_properties(shown, links, embeds.limits)
        remarks = [TOO_DEAR] if budget.is_exhausted() else []
        return _RenderedNote(blocks, properties, embeds.limits.describe() + remarks)

    with take_turns(chars):
        rendered = _cache.get_or_create(embeds.digest(), render)
    blocks = rendered.blocks
    title_anchor = _find_title(blocks, shown.parsed.title)
    starts = _find_page_starts(blocks)
    block = _find_anchor(blocks, starts, anchor) if anchor else block
    end = find_page_end(blocks, block, PAGE_CHARS)
    first = max(0, min(line, len(shown.lines)) - 1) // NOTE_LINES * NOTE_LINES
    last = first + NOTE_LINES
    return NotePage(
        blocks=order_all_headings(blocks[max(block, 1 if title_anchor else 0) : end]),
        block=end if end < len(blocks) else None,
        lines=list(enumerate(shown.lines[first:last], first + 1)),
        line=last + 1 if last < len(shown.lines) else None,
        earlier=first + 1 - NOTE_LINES if first else None,
        title_anchor=title_anchor,
        headings=_list_headings(blocks[bool(title_anchor) :], is_paged=len(starts) > 1),
        properties=rendered.properties,
        missing=_list_missing(shown, embeds),
        remarks=rendered.remarks,
    )


def _render_blocks(
    shown: ParsedText, text: str, links: PageLinks, budget: RenderBudget
) -> list[str]:
    name = shown.path.lower()
    if name.endswith(".txt"):
        return [render_plain(text)]
    lines = split_lines(canvas.to_markdown(text)) if name.endswith(".canvas") else shown.body
    blocks = render_note(lines, links, budget)
    quota.add_cost(budget.spent)
    return blocks


def _find_title(blocks: list[str], title: str) -> str:
    """Return the id of the first block, if it is a heading that is the note's title."""
    found = _HEADING.fullmatch(blocks[0].strip()) if blocks else None
    return found[2] if found and _read_words(found[3]) == title else ""


def _read_words(html: str) -> str:
    return " ".join(unescape(_TAG.sub("", html)).split())


def _find_page_starts(blocks: list[str]) -> list[int]:
    starts = [0]
    while (end := find_page_end(blocks, starts[-1], PAGE_CHARS)) < len(blocks):
        starts.append(end)
    return starts


def _find_anchor(blocks: list[str], starts: list[int], anchor: str) -> int:
    """Return where the page begins that has an anchor."""
    wanted = f'id="{anchor}"'
    place = next((n for n, html in enumerate(blocks) if wanted in html), 0)
    return max(start for start in starts if start <= place)


def _list_headings(blocks: list[str], *, is_paged: bool) -> list[PageHeading]:
    found = []
    for html in blocks:
        for level, anchor, inner in _HEADING.findall(html):
            href = f"?at={anchor}#{anchor}" if is_paged else f"#{anchor}"
            found.append(PageHeading(int(level), _read_words(inner), href))
        if len(found) >= MAX_HEADINGS:
            break
    return found


def _list_properties(shown: ParsedText, links: PageLinks, limits: PageLimits) -> list[NoteProperty]:
    """Return the properties that have values. What is dear to show is shown as it is written."""
    budget, listed = RenderBudget(), []
    for found in shown.parsed.frontmatter.properties:
        values = []
        for value in found.values:
            if not limits.take("properties"):
                break
            budget.spent += estimate_cost(value[:MAX_VALUE_CHARS])
            if budget.is_exhausted():
                values.append(escape(value[:MAX_VALUE_CHARS]))
            else:
                values.append(_render_value(found.name, value, links))
        if values:
            listed.append(NoteProperty(found.name, values))
        if "properties" in limits.exceeded:
            break
    quota.add_cost(budget.spent)
    return listed


def _render_value(name: str, value: str, links: PageLinks) -> str:
    """Tags are written without their mark there, and mean the same."""
    is_tag = name.casefold() in ("tag", "tags") and "," not in value and " " not in value.strip()
    written = f"#{value.strip().lstrip('#')}" if is_tag else value
    return render_value(written[:MAX_VALUE_CHARS], links)


def _list_missing(shown: ParsedText, embeds: Embeds) -> list[MissingLink]:
    missing: dict[str, MissingLink] = {}
    for (_, target, _), found in embeds.iterate_resolved(shown):
        if target and found is None:
            missing.setdefault(target, MissingLink(target, suggest_path(shown.path, target)))
        if len(missing) >= MAX_LISTED:
            break
    return list(missing.values())
