"""The text of a web page as plain Markdown: headings, paragraphs, lists, cells, code, links.

No tree is built: parsers that build one need minutes for a page of nested tags. Here a page is read
from its beginning to its end, so that twice as much takes twice the time, whatever it is. Patterns
are possessive (they never go back), and what was looked for in vain is not looked for again.
"""

import html
import re
from dataclasses import dataclass

from agents.tools.page_blocks import LinkNumbers, PageBlock, PageLink

MAX_BLOCKS = 20_000
"""Paragraphs, items and rows: many more than anybody is shown."""
MAX_TAGS = 100_000
MAX_CHARS = 400_000
"""Of text. What comes behind either is left out, and the page says so."""
_TAG = re.compile(
    r"""<(?P<close>/?)(?P<name>[a-zA-Z][^\s/>]*+)"""
    r"""(?P<attributes>(?:[^>=]++|=\s*+(?:"[^"]*+"|'[^']*+')?+)*+)>"""
)
_ATTRIBUTE = re.compile(
    r"""(?<![^\s"'/])([^\s=/"']++)\s*+=\s*+(?:"([^"]*+)"|'([^']*+)'|([^\s"'>]++))"""
)
_LONG_NUMBER = re.compile(r"&#(?:\d{8,}+|[xX][0-9a-fA-F]{8,}+);?+")
"""No character, and perhaps more digits than Python turns into a number."""
_SPACES = re.compile(r"\s++")
_RAW = frozenset({"script", "style", "textarea", "iframe", "noembed", "noframes", "xmp", "title"})
"""What is in these is no markup: only their own end is looked for."""
_ASIDES = frozenset({"nav", "header", "footer", "aside", "form", "dialog", "menu"})
"""What stands around the text of most pages."""
_NO_TEXT = frozenset(
    {"svg", "math", "template", "noscript", "select", "button", "object", "audio", "video"}
)
_ARTICLE_PARTS = frozenset({"header", "footer"})
"""Of a page they stand around the text, of an article they belong to it."""
_RAW_END = {name: re.compile(rf"</{name}(?=[\s/>])", re.IGNORECASE) for name in _RAW}
_BOUNDS = {
    name: re.compile(rf"<(/?){name}(?=[\s/>])", re.IGNORECASE) for name in _ASIDES | _NO_TEXT
}
_MAIN, _ARTICLE = 2, 1
_HEADINGS = {f"h{number}": "#" * number + " " for number in range(1, 7)}
_BLOCKS = _ASIDES | {
    *("p", "div", "section", "article", "main", "body", "blockquote", "figure", "figcaption"),
    *("address", "details", "summary", "dl", "dt", "dd", "fieldset", "hr"),
    *("table", "thead", "tbody", "tfoot", "caption"),
}
_LINE_BREAKS = _BLOCKS | _HEADINGS.keys() | {"li", "tr"}
_MAX_INDENT = 6


@dataclass(frozen=True, slots=True)
class PageText:
    """What a page says. A link is `[1]` behind its words, and in `links` in that order."""

    title: str
    text: str
    links: tuple[str, ...] = ()
    is_cut: bool = False
    """Whether it goes on behind what was read."""


def extract_page(source: str, url: str) -> PageText:
    """Return title and text of an HTML page: its main part, if it says which that is."""
    scanner = _Scanner(source, _ASIDES | _NO_TEXT)
    scanner.scan()
    if not scanner.has_text:  # some pages are one form from the beginning to the end
        scanner = _Scanner(source, _NO_TEXT)
        scanner.scan()
    return scanner.build_page(url)


class _Scanner:
    """Goes through a page once. What is open is counted, not kept as a tree."""

    def __init__(self, source: str, dropped: frozenset[str]) -> None:
        self._source = source
        self._dropped = dropped
        self._unclosed: set[str] = set()
        """Elements of which one has no end: none of that name is looked for again."""
        self._position = 0
        self._room = MAX_CHARS
        self._is_cut = False
        self._title = ""
        self._mains = self._articles = self._pres = 0
        self._lists: list[int] = []
        """Of each open list the number of its next item; 0 if it has no numbers."""
        self._groups = 0
        self._is_row = False
        self._is_cell_empty = True
        self._href = ""
        self._block = PageBlock(0)
        self._blocks: list[PageBlock] = []

    @property
    def has_text(self) -> bool:
        return any(block.has_text for block in (*self._blocks, self._block))

    def build_page(self, url: str) -> PageText:
        blocks = [block for block in (*self._blocks, self._block) if block.has_text]
        best = max((block.level for block in blocks), default=0)
        links, parts, last = LinkNumbers(url), list[str](), PageBlock(0)
        for block in blocks:
            if block.level == best:
                is_next = 0 != block.group == last.group
                parts += ["\n" if is_next else "\n\n", block.render(links)]
                last = block
        return PageText(self._title, "".join(parts[1:]), tuple(links), self._is_cut)

    def scan(self) -> None:
        source = self._source
        for _ in range(MAX_TAGS):
            start = source.find("<", self._position)
            self._add_text(self._position, start if start >= 0 else len(source))
            if start < 0:
                return
            if self._room <= 0 or len(self._blocks) >= MAX_BLOCKS:
                break
            if not self._scan_tag(start):
                return
        self._is_cut = True

    def _scan_tag(self, start: int) -> bool:
        """Go on behind a tag or what looks like one; return whether there can be more."""
        source, following = self._source, self._source[start + 1 : start + 2]
        if (tag := _TAG.match(source, start)) is not None:
            self._position = tag.end()
            self._apply_tag(tag)
        elif source.startswith("<!--", start):
            self._skip_to("-->", start + len("<!--"))
        elif following in ("!", "?", "/"):
            self._skip_to(">", start + 1)
        elif following.isalpha():
            return False  # cut off in the middle of a tag
        else:
            self._position = start + 1
            self._block.add("<")
        return True

    def _skip_to(self, end: str, start: int) -> None:
        found = self._source.find(end, start)
        self._position = len(self._source) if found < 0 else found + len(end)

    def _add_text(self, start: int, end: int) -> None:
        if start < end:
            self._is_cut = self._is_cut or end - start > self._room
            text = _decode_entities(self._source[start : min(end, start + self._room)])
            self._room = max(0, self._room - (end - start))
            self._is_cell_empty = self._is_cell_empty and text.isspace()
            self._block.add(text if self._pres else _SPACES.sub(" ", text))

    # -- tags -------------------------------------------------------------------------------------

    def _apply_tag(self, tag: re.Match[str]) -> None:
        name = tag["name"].lower()
        if tag["close"]:
            self._end(name)
        elif name in _RAW:
            content = self._take_raw(name)
            if name == "title" and not self._title:
                self._title = " ".join(_decode_entities(content).split())
        elif name not in self._dropped or not self._skip_element(name, tag["attributes"]):
            self._begin(name, tag["attributes"])

    def _take_raw(self, name: str) -> str:
        end = _RAW_END[name].search(self._source, self._position)
        start, self._position = self._position, end.start() if end else len(self._source)
        return self._source[start : self._position]

    def _skip_element(self, name: str, attributes: str) -> bool:
        """Leave out an element with all that is in it. One without an end is no element."""
        if name in _ARTICLE_PARTS and (self._mains or self._articles):
            return False
        if name in self._unclosed or (name in _NO_TEXT and attributes.endswith("/")):
            return False
        depth = 1
        for bound in _BOUNDS[name].finditer(self._source, self._position):
            depth += -1 if bound[1] else 1
            if not depth:
                self._skip_to(">", bound.end())
                return True
        self._unclosed.add(name)
        return False

    def _begin(self, name: str, attributes: str) -> None:
        if name == "a":
            self._href = _find_href(attributes)
        elif name == "br" or (self._pres and name in _LINE_BREAKS):
            self._block.pieces.append("\n")
        elif name == "pre":
            self._pres += 1
            self._start_block(is_code=True)
        elif name in ("td", "th"):
            self._start_cell()
        elif not self._pres:
            self._mains += name == "main"
            self._articles += name == "article"
            self._begin_block(name)

    def _begin_block(self, name: str) -> None:
        if name in ("ul", "ol"):
            self._groups += not self._lists
            self._lists.append(int(name == "ol"))
        elif name == "tr":
            self._start_block(group=self._groups)
            self._is_row = True
        elif name in _LINE_BREAKS:
            self._groups += name == "table"
            prefix = self._take_bullet() if name == "li" else _HEADINGS.get(name, "")
            self._start_block(prefix, group=self._groups if name == "li" else 0)

    def _end(self, name: str) -> None:
        if name == "a" and self._href:
            self._block.pieces.append(PageLink(self._href))
            self._href = ""
        elif name == "pre":
            self._pres = max(0, self._pres - 1)
            self._start_block()
        elif name in ("tr", "table"):
            self._is_row = False
            self._start_block()
        elif not self._pres and (name in _LINE_BREAKS or name in ("ul", "ol")):
            self._mains = max(0, self._mains - (name == "main"))
            self._articles = max(0, self._articles - (name == "article"))
            if name in ("ul", "ol"):
                del self._lists[-1:]
            if not self._is_row:
                self._start_block()

    def _start_cell(self) -> None:
        if self._block.has_text:
            self._block.pieces.append(" | ")
        self._is_cell_empty = True

    def _start_block(self, prefix: str = "", *, group: int = 0, is_code: bool = False) -> None:
        """Begin a new block; in a row only a line, in an empty item or row nothing."""
        last, is_plain = self._block, not (prefix or group or is_code)
        if self._is_row and not group and not is_code:
            if not self._is_cell_empty:
                last.pieces.append("\n")
        elif last.has_text or not (last.group and is_plain):
            if last.has_text:
                self._blocks.append(last)
            level = _MAIN if self._mains else _ARTICLE if self._articles else 0
            self._block = PageBlock(level, prefix, group, is_code)

    def _take_bullet(self) -> str:
        indent = "  " * min(_MAX_INDENT, max(0, len(self._lists) - 1))
        number = self._lists[-1] if self._lists else 0
        if not number:
            return f"{indent}- "
        self._lists[-1] += 1
        return f"{indent}{number}. "


def _find_href(attributes: str) -> str:
    for name, *values in _ATTRIBUTE.findall(attributes):
        if name.lower() == "href":
            return _decode_entities("".join(values))
    return ""


def _decode_entities(text: str) -> str:
    return html.unescape(_LONG_NUMBER.sub("\ufffd", text)) if "&" in text else text
