"""Our rules for markdown-it: what an answer may hold besides CommonMark, and what it may not."""

import re
from collections.abc import Callable, Iterator
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

Link = Callable[[str, int | None], str | None]
"""The address of a cited path and line, or None when it is not a source of this answer."""

Attrs = dict[str, str | int | float]

NESTING = 20
_EMPTY_CELLS = 256
"""A table that leaves out more cells than these ends: each is nine bytes of HTML for none."""
_LISTED = ("bullet_list_open", "ordered_list_open", "list_item_open")
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
SCHEMES = frozenset({"http", "https", "mailto"})
_BARE = re.compile(r"\bhttps?://[a-z0-9][!-~]*", re.IGNORECASE)
_NOT_IN_ADDRESS = re.compile(r"[\"<>\[\]\\^`{|}*]")
_CITE = re.compile(r"\[(?P<path>[^\[\]\n]{1,300}?)(?::(?P<line>\d{1,7})(?:-\d{1,7})?)?\](?!\()")
_PATH = re.compile(r"[\w./@+-]+\.\w+\Z")


class TooDeep(Exception):
    """Nested beyond what markdown-it reads; it would leave the inner text out."""


def install(md: MarkdownIt) -> None:
    md.inline.ruler.before("link", "cite", cite)
    md.block.ruler.at("table", bounded_table, {"alt": ["paragraph", "reference"]})
    md.core.ruler.push("ours", finish)


def allowed(url: str) -> bool:
    """Addresses of the web and of mail, and relative ones."""
    scheme = _SCHEME.match(url.strip())
    return scheme is None or scheme[1].lower() in SCHEMES


def cite(state: StateInline, silent: bool) -> bool:
    """`[path]` or `[path:line]`: a link if it is a source. A path is not read for emphasis."""
    if state.src[state.pos] != "[":
        return False
    found = _CITE.match(state.src, state.pos, state.posMax)
    if found is None:
        return False
    path, line = found["path"], found["line"]
    link = cast(Link | None, state.env.get("link"))
    href = link(path, int(line) if line else None) if link else None
    if href is None and not _PATH.match(path):
        return False
    if not silent:
        _push_cited(state, found[0], href)
    state.pos = found.end()
    return True


def _push_cited(state: StateInline, text: str, href: str | None) -> None:
    if href is None:
        state.push("text", "", 0).content = text
        return
    state.push("link_open", "a", 1).attrs = {"class": "cite", "href": href}
    state.push("text", "", 0).content = text[1:-1]
    state.push("link_close", "a", -1)


def bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """markdown-it fills rows up to the width of the head, up to 65,536 cells from a few bytes."""
    if silent or start + 2 > end:
        return table(state, start, end, silent)
    width = _row(state, start + 1).count("|")
    missing, last = 0, start + 2
    while last < end and missing <= _EMPTY_CELLS and (row := _row(state, last)):
        missing += max(0, width - row.count("|"))
        last += 1
    return table(state, start, max(last, start + 2), silent)


def _row(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def finish(state: StateCore) -> None:
    """The last look at the tokens of a block."""
    for token in state.tokens:
        if token.level >= NESTING - 1:
            raise TooDeep
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, max(3, int(token.tag[1]) + 1))}"
        elif token.type in ("th_open", "td_open"):
            token.attrs = _aligned(token)
        elif token.type in _LISTED:
            token.attrs = _listed(token)
        elif token.children:
            token.children = list(_inline(state.md, token.children))
    _continue(state)


def _continue(state: StateCore) -> None:
    """A piece of a long list or table says so, and a list goes on counting."""
    if not state.tokens or not state.env.get("more"):
        return
    first = state.tokens[0]
    first.attrSet("class", "more")
    if first.type == "ordered_list_open" and state.env.get("number") is not None:
        first.attrSet("start", state.env["number"])


def _aligned(token: Token) -> Attrs:
    """Inline styles are forbidden by the page's policy; classes are not."""
    style = str(token.attrs.get("style", ""))
    return {"class": style.removeprefix("text-align:")} if style else {}


def _listed(token: Token) -> Attrs:
    kept: Attrs = {"start": token.attrs["start"]} if "start" in token.attrs else {}
    return kept | ({"class": "task"} if "checked" in token.meta else {})


def _inline(md: MarkdownIt, tokens: list[Token]) -> Iterator[Token]:
    """Images become links, bare addresses too, but not within a link."""
    depth = 0
    for token in tokens:
        if token.tag == "a":
            depth += token.nesting
            token.attrs = _outward(token.attrs)
        if token.type == "image":
            yield from _picture(token, depth)
        elif token.type == "text" and depth == 0 and "://" in token.content:
            yield from _addresses(md, token.content)
        else:
            yield token


def _outward(attrs: Attrs) -> Attrs:
    """Other sites open beside the chat. Titles are dropped: they can say anything."""
    href = str(attrs.get("href", ""))
    kept = {name: attrs[name] for name in ("href", "class") if name in attrs}
    return kept | ({"target": "_blank"} if href.lower().startswith(("http", "//")) else {})


def _picture(token: Token, depth: int) -> Iterator[Token]:
    """A remote picture would tell its server what the answer says, so it is only linked."""
    source = str(token.attrs.get("src", ""))
    words = "".join(child.content for child in token.children or [])
    if depth or not source:
        yield _text(words or source)
    else:
        yield from _anchor(source, words or source)


def _addresses(md: MarkdownIt, text: str) -> Iterator[Token]:
    done = 0
    for found in _BARE.finditer(text):
        url = _trimmed(found[0])
        yield _text(text[done : found.start()])
        yield from _anchor(md.normalizeLink(url), url)
        done = found.start() + len(url)
    yield _text(text[done:])


def _anchor(href: str, text: str) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs=_outward({"href": href}))
    yield _text(text)
    yield Token("link_close", "a", -1)


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _trimmed(url: str) -> str:
    """An address without the sentence's punctuation, and without a bracket opened before it."""
    url = _NOT_IN_ADDRESS.split(url, maxsplit=1)[0]
    while True:
        bare = url.rstrip(".,;:!?'_~")
        if bare.endswith(")") and bare.count(")") > bare.count("("):
            bare = bare[:-1]
        if bare == url:
            return url
        url = bare
