"""Our rules for markdown-it: what an answer may hold besides CommonMark, and what it may not."""

import re
from collections.abc import Callable, Iterator
from typing import cast

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token

LinkResolver = Callable[[str, int | None], str | None]
"""The address of a cited path and line, or None when it is not a source of this answer."""

Attrs = dict[str, str | int | float]

MAX_NESTING = 20
_MAX_EMPTY_CELLS = 256
"""A table that leaves out more cells than these ends: each is nine bytes of HTML for none."""
_LIST_TOKENS = ("bullet_list_open", "ordered_list_open", "list_item_open")
_TERMINATORS = re.compile(r"[\n!&*<\[\\\]_`~]")
"""Where inline rules are tried: none that is left begins with anything else."""
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*):", re.IGNORECASE)
ALLOWED_SCHEMES = frozenset({"http", "https", "mailto"})
_BARE_URL = re.compile(r"\bhttps?://[a-z0-9][!-~]*", re.IGNORECASE)
_NOT_IN_URL = re.compile(r"[\"<>\[\]\\^`{|}*]")
_MAX_PATH_LENGTH = 300
"""The longest path that is cited."""
_LINES = re.compile(r"(?<=.):(\d{1,7})(?:-\d{1,7})?\Z")
_LINES_CHARS = len(":1234567-1234567")
_PATH = re.compile(r"[\w./@+-]+\.\w+\Z")
_ENTRY = re.compile(r"(?P<thread>thread:[^#]+)#(?P<number>\d{1,9})\Z")


class NestingTooDeep(Exception):
    """Nested beyond what markdown-it reads, which would leave the inner text out; or emphasis that
    is nested as deep, which browsers and patches of the page have to climb."""


def install(md: MarkdownIt) -> None:
    md.inline.terminator_re = _TERMINATORS
    md.inline.ruler.before("link", "cite", cite_rule)
    md.block.ruler.at("table", table_rule, {"alt": ["paragraph", "reference"]})
    md.core.ruler.push("ours", finish_tokens)


def is_allowed_url(url: str) -> bool:
    """Allow addresses of the web and of mail, and relative ones."""
    scheme = _SCHEME.match(url.strip())
    return scheme is None or scheme[1].lower() in ALLOWED_SCHEMES


def cite_rule(state: StateInline, silent: bool) -> bool:
    """Link `[path]`, `[path:line]` or `[thread:name#3]` if it is a source.

    A path is not read for emphasis.
    """
    cited = _read_citation(state)
    if not cited:
        return False
    path, line = _split_place(cited)
    link = cast(LinkResolver | None, state.env.get("link"))
    href = link(path, line) if link else None
    if len(path) > _MAX_PATH_LENGTH or (href is None and not _PATH.match(path)):
        return False
    if not silent:
        _push_citation(state, cited, href)
    state.pos += len(cited) + len("[]")
    return True


def _split_place(cited: str) -> tuple[str, int | None]:
    """Return what is cited, and the line or the entry of it."""
    if entry := _ENTRY.match(cited):
        return entry["thread"], int(entry["number"])
    lines = _LINES.search(cited, max(0, len(cited) - _LINES_CHARS - 1))
    return (cited[: lines.start()], int(lines[1])) if lines else (cited, None)


def _read_citation(state: StateInline) -> str:
    """Return what stands between the brackets here, if it is no link and can be a path."""
    if state.src[state.pos] != "[":
        return ""
    start = state.pos + 1
    end = state.src.find("]", start, min(state.posMax, start + _MAX_PATH_LENGTH + _LINES_CHARS + 1))
    is_link = state.src.startswith("](", end, state.posMax)
    inner = state.src[start : max(start, end)]
    return "" if is_link or "[" in inner or "\n" in inner else inner


def _push_citation(state: StateInline, cited: str, href: str | None) -> None:
    if href is None:
        state.push("text", "", 0).content = f"[{cited}]"
        return
    state.push("link_open", "a", 1).attrs = {"class": "cite", "href": href}
    state.push("text", "", 0).content = cited
    state.push("link_close", "a", -1)


def table_rule(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Limit cells: markdown-it fills rows to the head's width, 65,536 cells from a few bytes."""
    if not table(state, start, end, True):  # first: most lines are none, and that is soon seen
        return False
    if silent:
        return True
    width = _get_row(state, start + 1).count("|")
    missing, last = 0, start + 2
    while last < end and missing <= _MAX_EMPTY_CELLS and (row := _get_row(state, last)):
        missing += max(0, width - row.count("|"))
        last += 1
    return table(state, start, max(last, start + 2), silent)


def _get_row(state: StateBlock, line: int) -> str:
    return state.src[state.bMarks[line] + state.tShift[line] : state.eMarks[line]]


def finish_tokens(state: StateCore) -> None:
    """Look at the tokens of a block for the last time."""
    for token in state.tokens:
        if token.level >= MAX_NESTING - 1:
            raise NestingTooDeep
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, max(3, int(token.tag[1]) + 1))}"
        elif token.type in ("th_open", "td_open"):
            token.attrs = _alignment_attrs(token)
        elif token.type in _LIST_TOKENS:
            token.attrs = _list_attrs(token)
        elif token.children:
            if max(child.level for child in token.children) >= MAX_NESTING:
                raise NestingTooDeep
            token.children = list(_rewrite_inline(state.md, token.children))
    _mark_continuation(state)


def _mark_continuation(state: StateCore) -> None:
    """Mark a piece of a long list or table as one, and let a list go on counting."""
    if not state.tokens or not state.env.get("more"):
        return
    first = state.tokens[0]
    first.attrSet("class", "more")
    if first.type == "ordered_list_open" and state.env.get("number") is not None:
        first.attrSet("start", state.env["number"])


def _alignment_attrs(token: Token) -> Attrs:
    """Return classes: inline styles are forbidden by the page's policy."""
    style = str(token.attrs.get("style", ""))
    return {"class": style.removeprefix("text-align:")} if style else {}


def _list_attrs(token: Token) -> Attrs:
    kept: Attrs = {"start": token.attrs["start"]} if "start" in token.attrs else {}
    return kept | ({"class": "task"} if "checked" in token.meta else {})


def _rewrite_inline(md: MarkdownIt, tokens: list[Token]) -> Iterator[Token]:
    """Turn images into links, bare addresses too, but not within a link."""
    depth = 0
    for token in tokens:
        if token.tag == "a":
            depth += token.nesting
            token.attrs = _external_link_attrs(token.attrs)
        if token.type == "image":
            yield from _link_image(token, depth)
        elif token.type == "text" and depth == 0 and "://" in token.content:
            yield from _link_bare_urls(md, token.content)
        else:
            yield token


def _external_link_attrs(attrs: Attrs) -> Attrs:
    """Open other sites beside the chat. Titles are dropped: they can say anything."""
    href = str(attrs.get("href", ""))
    kept = {name: attrs[name] for name in ("href", "class") if name in attrs}
    return kept | ({"target": "_blank"} if href.lower().startswith(("http", "//")) else {})


def _link_image(token: Token, depth: int) -> Iterator[Token]:
    """Yield a link instead: a remote picture would tell its server what the answer says."""
    source = str(token.attrs.get("src", ""))
    words = "".join(child.content for child in token.children or [])
    if depth or not source:
        yield _text_token(words or source)
    else:
        yield from _make_link(source, words or source)


def _link_bare_urls(md: MarkdownIt, text: str) -> Iterator[Token]:
    done = 0
    for found in _BARE_URL.finditer(text):
        url = _trim_url(found[0])
        yield _text_token(text[done : found.start()])
        yield from _make_link(md.normalizeLink(url), url)
        done = found.start() + len(url)
    yield _text_token(text[done:])


def _make_link(href: str, text: str) -> Iterator[Token]:
    yield Token("link_open", "a", 1, attrs=_external_link_attrs({"href": href}))
    yield _text_token(text)
    yield Token("link_close", "a", -1)


def _text_token(content: str) -> Token:
    return Token("text", "", 0, content=content)


def _trim_url(url: str) -> str:
    """Return an address without the sentence's punctuation or a bracket opened before it."""
    url = _NOT_IN_URL.split(url, maxsplit=1)[0]
    unopened = url.count(")") - url.count("(")
    while True:
        url = url.rstrip(".,;:!?'_~")
        closing = len(url) - len(url.rstrip(")"))
        if closing == 0 or unopened <= 0:
            return url
        taken = min(closing, unopened)
        url, unopened = url[: len(url) - taken], unopened - taken
