"""The text of a note to HTML that is safe to put into the page."""

import logging
import re
from collections.abc import Iterator, Sequence

import nh3
from markdown_it.common.utils import escapeHtml, normalizeReference
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict

from agents.core.sanitize import replace_unstorable
from agents.vault.masking import iterate_text_lines
from agents.vault.parsing import iterate_definitions
from chat.library import note_syntax
from chat.library.note_syntax import LinkPlace, NoteLinks
from chat.markdown import plugins
from chat.markdown.blocks import Block, ProseBlock
from chat.markdown.budget import RenderBudget
from chat.markdown.rendering import (
    ALLOWED_CLASSES,
    ALLOWED_TAGS,
    BlockRenderer,
    build_parser,
    render_block,
    render_plain,
)
from chat.markdown.splitter import Splitter

logger = logging.getLogger(__name__)

FILES_PREFIX = "/library/"
"""Pictures come from there and from nowhere else."""
_TONES = {"callout", "info", "good", "bad", "plain"}
_FOCUS = {"tabindex": {"0"}}
_COMMENT = "%%"
_COMMENT_STAND_IN = "\x01\x01"
_STAND_IN = re.compile(_COMMENT_STAND_IN)


def _keep_own_pictures(tag: str, name: str, value: str) -> str | None:
    if tag == "img" and name == "src" and not value.startswith(FILES_PREFIX):
        return None
    return value


_HEADINGS = {name: {"id"} for name in ("h3", "h4", "h5", "h6", "span", "sup")}
_cleaner = nh3.Cleaner(
    tags={*ALLOWED_TAGS, "aside", "details", "img", "mark", "summary", "sup"},
    clean_content_tags=set(),
    attributes={
        "*": set(),
        "a": {"href"},
        "ol": {"start"},
        "img": {"src", "alt", "width", "height", "loading"},
        "details": {"open"},
        **_HEADINGS,
    },
    tag_attribute_values={"a": {"target": {"_blank"}}, "div": _FOCUS, "pre": _FOCUS},
    attribute_filter=_keep_own_pictures,
    allowed_classes={
        **ALLOWED_CLASSES,
        "a": {"wikilink", "missing", "tag"},
        "aside": {"embed"},
        "details": _TONES,
        "div": {*ALLOWED_CLASSES["div"], *_TONES},
        "p": {*ALLOWED_CLASSES["p"], "callout-title", "embed-title"},
        "span": {*ALLOWED_CLASSES["span"], "missing"},
        "summary": {"callout-title"},
    },
    url_schemes=set(plugins.ALLOWED_SCHEMES),
    link_rel="noopener noreferrer nofollow",
)


class _NoteRenderer(BlockRenderer):
    def note_image(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        return self.renderToken(tokens, idx, options, env)

    def note_embed(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        """Link what would be shown inside of this note, when it is within a line."""
        return _render_link(tokens[idx].meta["place"], tokens[idx].content)

    def note_block(
        self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType
    ) -> str:
        token = tokens[idx]
        title = _render_link(token.meta["place"], token.content)
        return f'<aside class="embed"><p class="embed-title">{title}</p>{token.info}</aside>\n'


def _render_link(place: LinkPlace, label: str) -> str:
    name = "missing" if place.kind == "missing" else "wikilink"
    if not place.href:
        return f'<span class="{name}">{escapeHtml(label)}</span>'
    return f'<a class="{name}" href="{escapeHtml(place.href)}">{escapeHtml(label)}</a>'


_md = build_parser(_NoteRenderer)
note_syntax.install(_md)


def render_note(lines: Sequence[str], links: NoteLinks, budget: RenderBudget) -> list[str]:
    """Return the blocks of a note, given the lines below its properties."""
    splitter = Splitter(budget)
    shown, references = take_definitions(list(remove_comments(lines)))
    blocks = splitter.feed("\n".join(shown)) + splitter.flush()
    return [_render(block, links, references) for block in blocks]


def take_definitions(lines: list[str]) -> tuple[list[str], dict[str, dict[str, str]]]:
    """Return the lines without those that say where labels lead, and where those lead. Blocks are
    parsed one by one, and a label may be used in any of them."""
    references: dict[str, dict[str, str]] = {}
    shown = list(lines)
    for number, label, destination in iterate_definitions(lines):
        href = _md.normalizeLink(destination)
        if _md.validateLink(href):
            references.setdefault(normalizeReference(label), {"href": href, "title": ""})
            shown[number] = ""
    return shown, references


def render_value(text: str, links: NoteLinks) -> str:
    """Return a line of text with its links, as properties have them."""
    html = _md.renderInline(replace_unstorable(text), {"notes": links, "colours": False})
    return _cleaner.clean(html)


def _render(block: Block, links: NoteLinks, references: dict[str, dict[str, str]]) -> str:
    """Render; nh3 has the last word. What fails is shown as it was written."""
    if not isinstance(block, ProseBlock):
        return render_block(block)
    env = {
        "notes": links,
        "link": None,
        "colours": True,
        "more": block.more,
        "number": block.number,
        "references": references,
    }
    try:
        return _cleaner.clean(str(_md.render(replace_unstorable(block.text), env)))
    except plugins.NestingTooDeep:
        return render_plain(block.text)
    except Exception:
        logger.exception("A block of a note could not be rendered")
        return render_plain(block.text)


def remove_comments(lines: Sequence[str]) -> Iterator[str]:
    """Yield the lines without what stands between `%%`, which is for whoever edits the note.

    There are as many lines as before. In code and formulas, `%%` is what it is.
    """
    if not any(_COMMENT in line for line in lines):
        yield from lines
        return
    marked = [line.replace(_COMMENT, _COMMENT_STAND_IN) for line in lines]
    places = [
        [at.start() for at in _STAND_IN.finditer(line) if lines[n].startswith(_COMMENT, at.start())]
        for n, line in iterate_text_lines(marked)
    ]
    left = sum(map(len, places))
    is_open = False
    for line, marks in zip(lines, places, strict=True):
        kept, start = [], 0
        for mark in marks:
            if not is_open:
                kept.append(line[start:mark])
                is_open = left > 1  # the last one closes nothing
                start = mark + len(_COMMENT) if is_open else mark
            else:
                is_open, start = False, mark + len(_COMMENT)
            left -= 1
        yield "".join(kept) + ("" if is_open else line[start:])
