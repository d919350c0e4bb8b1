"""`python -m agents.tools.page_reading`: a page on standard input, its text on standard output.

It imports no more than it needs, as it is started for each page.
"""

import contextlib
import json
import os
import re
import resource
import sys
from dataclasses import asdict, dataclass, replace

from agents.core.sanitize import truncate
from agents.tools.page_charsets import decode_body
from agents.tools.page_text import MAX_CHARS, PageText, extract_page

MAX_TITLE = 200
NICENESS = 10
MAX_MEMORY = 512 * 1024 * 1024
MAX_SECONDS = 5
"""Of the processor. The dearest page takes less than one."""
_CONTENT_TYPE = re.compile(r"\s*([\w.+-]+/[\w.+-]+)\s*(?:;|$)")
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]")
_LINE_ENDS = re.compile("\r\n?|[\x85\u2028\u2029]")


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """A page as its server gave it."""

    url: str
    declared: str
    """What its server says that it is."""
    body: bytes

    @property
    def text(self) -> str:
        return decode_body(self.body, self.declared)

    @property
    def is_html(self) -> bool:
        return parse_content_type(self.declared) in ("text/html", "application/xhtml+xml")


def parse_content_type(declared: str) -> str:
    found = _CONTENT_TYPE.match(declared)
    return found[1].lower() if found else ""


def read_page(fetched: FetchedPage) -> PageText:
    """Return title and text of a page, whatever kind of text it is."""
    source = fetched.text
    if fetched.is_html:
        page = extract_page(source, fetched.url)
        title = truncate(_clean(page.title), MAX_TITLE)
        return replace(page, title=title, text=_clean(page.text))
    text = _clean(source[:MAX_CHARS])
    first = text.partition("\n")[0]
    title = first.lstrip("# ").strip() if first.startswith("# ") else ""
    return PageText(truncate(title, MAX_TITLE), text, is_cut=len(source) > MAX_CHARS)


def _clean(text: str) -> str:
    """Return text without characters that nobody sees, and lines that others would not count."""
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    return "\n".join(line.rstrip() for line in text.split("\n")).strip("\n")


# -- the process ----------------------------------------------------------------------------------


def main() -> None:
    _limit_resources()
    url, declared = json.loads(sys.stdin.buffer.readline())
    page = read_page(FetchedPage(url, declared, sys.stdin.buffer.read()))
    json.dump(asdict(page), sys.stdout)


def _limit_resources() -> None:
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY, MAX_MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_SECONDS, MAX_SECONDS))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


if __name__ == "__main__":
    main()
