"""Syntax of notes besides Markdown: links, embeds, callouts, highlights, tags and footnotes.

Rules for markdown-it. Where a link leads is not known here: `NoteLinks` is asked for that.
"""

import re
from dataclasses import dataclass
from typing import Literal, Protocol, cast
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

from agents.models.vault import NoteLink
from agents.vault.parsing import TAG_PATTERN, Link, clean_tag, find_wikilinks, is_colour
from chat.library.note_callouts import callout_rule

_TERMINATORS = re.compile(r"[\n!#$&*<=\[\\\]^_`~]")
_FOOTNOTE = re.compile(r"\[\^([^\s\[\]^]{1,60})\](:)?")
_BLOCK_NAME = re.compile(r"\^([A-Za-z0-9-]{1,100})[ \t]*(?=\n|$)")
_MATHS = re.compile(r"\$\$.+?\$\$|\$(?![\s$])(?:[^$\\\n]|\\.)*(?<![\s\\])\$(?![\d$])", re.DOTALL)
_NOT_A_PATH = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//")
_SIZE = re.compile(r"(\d{1,4})(?:x(\d{1,4}))?")
_NOT_IN_ANCHOR = re.compile(r"[^\w]+")
MAX_ANCHOR_CHARS = 80


@dataclass(frozen=True, slots=True)
class LinkPlace:
    """Where a link leads; an empty address where there is nothing yet and nothing can be made.

    A link of the kind `text` stays as it is written: the note has too many.
    """

    kind: Literal["note", "picture", "file", "missing", "text"]
    href: str


class NoteLinks(Protocol):
    """Where the links of one note lead."""

    def find(self, kind: str, target: str, fragment: str) -> LinkPlace:
        """Return where a link leads, as it is written."""

    def render_embed(self, target: str, fragment: str) -> str:
        """Return the HTML of a note to show inside of this one; empty if it is only linked."""

    def get_tag_address(self, tag: str) -> str:
        """Return the page of a tag; empty where the note has too many."""

    def add_anchor(self, heading: str) -> str:
        """Return an id for a heading that no other heading of the note has; empty for none."""


def install(md: MarkdownIt) -> None:
    """Read the text of notes instead of answers."""
    md.disable("cite")
    md.inline.terminator_re = _TERMINATORS
    for name, rule in (
        ("wikilink", wikilink_rule),
        ("footnote", footnote_rule),
        ("highlight", highlight_rule),
        ("tag", tag_rule),
        ("block_name", block_name_rule),
        ("maths", maths_rule),
    ):
        md.inline.ruler.before("link", name, rule)
    md.core.ruler.after("block", "callouts", callout_rule)
    md.core.ruler.before("ours", "note", finish_note)


def make_anchor(heading: str) -> str:
    """Return the id of a heading; links to it are made by the same rule."""
    words = _NOT_IN_ANCHOR.sub("-", heading.casefold()).strip("-")
    return f"h-{words[:MAX_ANCHOR_CHARS]}"


def make_fragment_anchor(fragment: str) -> str:
    """Return the id of what a link's `#heading`, `#a#b` or `#^block` leads to."""
    if fragment.startswith("^"):
        return f"b-{fragment[1:].lower()}"
    return make_anchor(fragment.rpartition("#")[2]) if fragment else ""


def _get_links(env: object) -> NoteLinks:
    return cast("dict[str, NoteLinks]", env)["notes"]


# -- within lines ---------------------------------------------------------------------------------


def wikilink_rule(state: StateInline, silent: bool) -> bool:
    """Parse `[[Note#Heading|label]]` and `![[Note]]`."""
    start = state.pos
    opening = start + 1 if state.src[start] == "!" else start
    if not state.src.startswith("[[", opening):
        return False
    end = state.src.find("]]", opening, state.posMax)
    if end < 0 or "\n" in state.src[opening:end]:
        return False
    written = state.src[start : end + 2]
    link = next(find_wikilinks(written, 0), None)
    if link is None or link.written != written:
        return False
    if not silent:
        _push_wikilink(state, link)
    state.pos = end + 2
    return True


def _push_wikilink(state: StateInline, link: Link) -> None:
    place = _get_links(state.env).find(link.kind, link.target, link.fragment)
    if place.kind == "text":
        state.push("text", "", 0).content = link.written
        return
    shown = link.target + (f" > {link.fragment.lstrip('^')}" if link.fragment else "")
    if link.kind != NoteLink.Kind.EMBED:
        _push_link(state, place, link.label or shown.removeprefix(" > "))
    elif place.kind == "picture":
        _push_picture(state, place.href, link.label, link.target)
    else:
        token = state.push("note_embed", "", 0)
        token.meta = {"link": link, "place": place}
        token.content = link.label or shown


def _push_link(state: StateInline, place: LinkPlace, label: str) -> None:
    is_missing = place.kind == "missing"
    tag = "a" if place.href else "span"
    opened = state.push(f"{'link' if place.href else 'span'}_open", tag, 1)
    opened.attrs = {"class": "missing" if is_missing else "wikilink"}
    if place.href:
        opened.attrs["href"] = place.href
    state.push("text", "", 0).content = label
    state.push(f"{'link' if place.href else 'span'}_close", tag, -1)


def _push_picture(state: StateInline, source: str, label: str, name: str) -> None:
    token = state.push("note_image", "img", 0)
    token.attrs = _build_picture_attrs(source, label, name)


def _build_picture_attrs(source: str, label: str, name: str) -> dict[str, str | int | float]:
    """Take from `label` a size as the picture's, and the rest as what it shows."""
    words, _, last = label.rpartition("|")
    size = _SIZE.fullmatch(last.strip())
    said = words if size else label
    attrs: dict[str, str | int | float] = {"src": source, "alt": said or name, "loading": "lazy"}
    if size:
        attrs["width"] = size[1]
        if size[2]:
            attrs["height"] = size[2]
    return attrs


def footnote_rule(state: StateInline, silent: bool) -> bool:
    """Parse `[^1]`, and at the beginning of a line `[^1]:`, which is where it leads."""
    found = (
        _FOOTNOTE.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "[" else None
    )
    if found is None:
        return False
    is_note = bool(found[2]) and (state.pos == 0 or state.src[state.pos - 1] == "\n")
    end = found.end() if is_note or not found[2] else found.end() - 1
    anchor = "fn-" + _NOT_IN_ANCHOR.sub("-", found[1])
    if not silent:
        if is_note and state.pos:
            state.push("hardbreak", "br", 0)
        state.push("sup_open", "sup", 1).attrs = {"id": anchor} if is_note else {}
        if is_note:
            state.push("text", "", 0).content = found[1]
        else:
            _push_link(state, LinkPlace("note", f"#{anchor}"), found[1])
        state.push("sup_close", "sup", -1)
    state.pos = end
    return True


def highlight_rule(state: StateInline, silent: bool) -> bool:
    """Parse `==marked==`."""
    start, end_of_all = state.pos + 2, state.posMax
    if not state.src.startswith("==", state.pos) or state.src[start : start + 1].strip() in (
        "",
        "=",
    ):
        return False
    end = state.src.find("==", start, end_of_all)
    if end < 0 or state.src[end - 1].isspace():
        return False
    if not silent:
        state.push("mark_open", "mark", 1)
        state.pos, state.posMax = start, end
        state.md.inline.tokenize(state)
        state.push("mark_close", "mark", -1)
        state.posMax = end_of_all
    state.pos = end + 2
    return True


def tag_rule(state: StateInline, silent: bool) -> bool:
    """Link `#tag/below` to its page; numbers and colours are none."""
    if state.src[state.pos] != "#" or state.linkLevel:
        return False
    found = TAG_PATTERN.match(state.src, state.pos, state.posMax)
    tag = clean_tag(found[1]) if found else ""
    if found is None or not tag or is_colour(tag):
        return False
    if not silent:
        _push_tag(state, found[0], _get_links(state.env).get_tag_address(tag))
    state.pos = found.end()
    return True


def _push_tag(state: StateInline, written: str, address: str) -> None:
    if not address:
        state.push("text", "", 0).content = written
        return
    state.push("link_open", "a", 1).attrs = {"href": address, "class": "tag"}
    state.push("text", "", 0).content = written
    state.push("link_close", "a", -1)


def block_name_rule(state: StateInline, silent: bool) -> bool:
    """Hide `^name` at the end of a line, but let links lead there."""
    if state.src[state.pos] != "^" or not (state.pos == 0 or state.src[state.pos - 1].isspace()):
        return False
    found = _BLOCK_NAME.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    if not silent:
        state.push("span_open", "span", 1).attrs = {"id": f"b-{found[1].lower()}"}
        state.push("span_close", "span", -1)
    state.pos = found.end()
    return True


def maths_rule(state: StateInline, silent: bool) -> bool:
    """Leave `$x_1$` as it is written: its marks mean nothing else."""
    found = (
        _MATHS.match(state.src, state.pos, state.posMax) if state.src[state.pos] == "$" else None
    )
    if found is None:
        return False
    if not silent:
        state.push("text", "", 0).content = found[0]
    state.pos = found.end()
    return True


# -- whole blocks ---------------------------------------------------------------------------------


def finish_note(state: StateCore) -> None:
    """Give headings their ids, notes that stand alone their place, paths their addresses."""
    links = _get_links(state.env)
    tokens: list[Token] = []
    for place, token in enumerate(state.tokens):
        if token.type == "heading_open":
            anchor = links.add_anchor(state.tokens[place + 1].content)
            token.attrs = {"id": anchor} if anchor else {}
        if token.type == "inline" and token.children:
            token.children = [_resolve(child, links) for child in token.children]
        tokens.append(token)
        if token.type == "paragraph_close":
            _lift_embed(tokens, links)
    state.tokens = tokens


def _lift_embed(tokens: list[Token], links: NoteLinks) -> None:
    """Show a note inside of this one where a paragraph has nothing else."""
    children = tokens[-2].children or []
    if len(children) != 1 or children[0].type != "note_embed":
        return
    link: Link = children[0].meta["link"]
    if html := links.render_embed(link.target, link.fragment):
        shown = children[0]
        tokens[-3:] = [Token("note_block", "", 0, content=shown.content, meta=shown.meta)]
        tokens[-1].info = html


def _resolve(token: Token, links: NoteLinks) -> Token:
    """Lead paths as Markdown writes them to where the notes and files are."""
    name = "href" if token.type == "link_open" else "src"
    written = str(token.attrs.get(name, ""))
    is_ours = token.attrs.get("class") in ("wikilink", "missing", "tag")
    if token.type not in ("link_open", "image") or is_ours or _NOT_A_PATH.match(written):
        return token
    target, _, fragment = written.partition("#")
    kind = NoteLink.Kind.IMAGE if name == "src" else NoteLink.Kind.MARKDOWN
    place = links.find(kind, unquote(target), unquote(fragment))
    if name == "src" and place.kind == "picture":
        label = "".join(child.content for child in token.children or [])
        return Token("note_image", "img", 0, attrs=_build_picture_attrs(place.href, label, target))
    if place.kind == "text" and name == "src":
        return Token("text", "", 0, content=token.content)
    if place.kind == "text":
        del token.attrs[name]
        return token
    token.attrs[name] = place.href or "#"
    if place.kind == "missing":
        token.attrs["class"] = "missing"
    return token
