"""Escape foreign text inside our own Markdown, so that it cannot break out of its place."""

import re

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|#]")
_BREAK = re.compile(r"\r\n|\r|\n")
_TICKS = re.compile(r"`+")


def format_code_block(text: str, language: str = "") -> str:
    """Return a code block whose fence is longer than any in the text."""
    fence = "`" * max(3, _max_tick_run(text) + 1)
    return "\n".join((fence + language, *_BREAK.split(text), fence))


def format_code_span(text: str) -> str:
    """Return a code span, on one line."""
    text = " ".join(text.split())
    ticks = "`" * (_max_tick_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def format_quote(text: str) -> str:
    """Return a block quote: whatever is left open in it ends with it."""
    return "\n".join(f"> {line}".rstrip() for line in _BREAK.split(text))


def escape_markdown(text: str) -> str:
    """Return plain words on one line."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def contain_markdown(text: str) -> str:
    """Return Markdown as it is, in a fence if it would swallow the text after it."""
    return format_code_block(text, "markdown") if _leaves_block_open(text) else text


def _leaves_block_open(text: str) -> bool:
    """Return whether a heading after it would not be one: an open fence, an open HTML block."""
    if not any(opening in text for opening in ("```", "~~~", "<")):
        return False
    return _PARSER.parse(f"{text}\n\n# end")[-1].type != "heading_close"


def _max_tick_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
