"""Blocks of a web page, and the links in them, which are numbered when all of it is known."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple
from urllib.parse import urldefrag, urljoin

MAX_LINKS = 200


class PageLink(NamedTuple):
    """Stands behind the words of a link until links are numbered."""

    href: str


@dataclass(slots=True)
class PageBlock:
    """Text between two line breaks of a page."""

    level: int
    prefix: str = ""
    group: int = 0
    """The list or table that it is an item or a row of: no empty line is between those."""
    is_code: bool = False
    pieces: list[str | PageLink] = field(default_factory=list)
    has_text: bool = False

    def add(self, text: str) -> None:
        self.pieces.append(text)
        self.has_text = self.has_text or not text.isspace()

    def render(self, links: "LinkNumbers") -> str:
        text = "".join(
            piece if isinstance(piece, str) else links.mark(piece.href) for piece in self.pieces
        )
        if self.is_code:
            return "```\n" + text.strip("\n") + "\n```"
        lines = (" ".join(line.split()) for line in text.split("\n"))
        return self.prefix + "\n".join(filter(None, lines))


class LinkNumbers:
    """Numbers links in the order in which they come, each address once."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._numbers: dict[str, int] = {}
        self._marks: dict[str, str] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._numbers)

    def mark(self, href: str) -> str:
        """Return the mark that stands behind the words of a link; empty if it has none."""
        if href not in self._marks:
            self._marks[href] = self._find_mark(href)
        return self._marks[href]

    def _find_mark(self, href: str) -> str:
        try:
            address = urldefrag(urljoin(self._url, href.strip()))[0]
        except ValueError:
            return ""
        if not address.startswith(("http://", "https://")) or address == self._url:
            return ""
        if len(self._numbers) >= MAX_LINKS and address not in self._numbers:
            return ""
        return f" [{self._numbers.setdefault(address, len(self._numbers) + 1)}]"
