"""Hostile input that other people collected, if it lies beside this checkout; and a few of ours."""

import json
import tarfile
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "payloads"
OURS = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "</p></div></details></article></main><h1>owned</h1>",
    "</title><script>alert(1)</script>",
    '<div id="composer" hx-swap-oob="true" hx-get="/x" ws-send>mine</div>',
    '"><i id=ack data-message=x data-url=javascript:alert(1)>',
    "'}' hx-vals='js:{x:alert(1)}",
    "<!--",
    "]]>",
    "{{ 7|add:7 }}{% debug %}",
    "&lt;script&gt;",
    "[x](javascript:alert(1)) ![x](data:text/html,x) <https://e.example/?q=%22onload=>",
    "\u202e<b hx-get=/x>\u0000</b>",
    "```html\n<script>alert(1)</script>\n```",
    "\r\n\t ",
    "a\nb.md",
]


def _missing(name: str) -> None:
    if not (FOLDER / name).exists():
        pytest.skip("the collection of payloads is not beside this checkout")


@cache
def lines(name: str) -> tuple[str, ...]:
    """The lines of a collected file."""
    _missing(name)
    text = (FOLDER / name).read_text(encoding="utf-8", errors="replace")
    return tuple(line for line in text.splitlines() if line.strip())


@cache
def naughty() -> tuple[str, ...]:
    """The big list of naughty strings."""
    _missing("blns.json")
    return tuple(json.loads((FOLDER / "blns.json").read_text(encoding="utf-8")))


@cache
def json_suite() -> tuple[bytes, ...]:
    """Documents that are JSON and documents that are not."""
    _missing("json_test_suite.tar.gz")
    with tarfile.open(FOLDER / "json_test_suite.tar.gz") as archive:
        files = [archive.extractfile(member) for member in archive if member.isfile()]
        return tuple(file.read() for file in files if file is not None)


COLLECTIONS: dict[str, Callable[[], tuple[str, ...]]] = {
    "ours": lambda: tuple(OURS),
    "xss_alert": lambda: lines("xss_alert.txt"),
    "xss_jhaddix": lambda: lines("xss_jhaddix.txt"),
    "xss_rsnake": lambda: lines("xss_rsnake.txt"),
    "blns": naughty,
}
"""Each as a function, because those that are missing skip the test that asks for them."""
