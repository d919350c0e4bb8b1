"""Text of others inside Markdown of ours: it may look like anything, and ends where we say."""

import re

from markdown_it import MarkdownIt

_PARSER = MarkdownIt("commonmark")
_SPECIAL = re.compile(r"[\\`*_\[\]<>&~|#]")
_BREAK = re.compile(r"\r\n|\r|\n")
_TICKS = re.compile(r"`+")


def format_code_block(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "`" * max(3, _max_tick_run(text) + 1)
    return "\n".join((fence + language, *_BREAK.split(text), fence))


def format_code_span(text: str) -> str:
    """A code span, on one line."""
    text = " ".join(text.split())
    ticks = "`" * (_max_tick_run(text) + 1)
    space = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{ticks}{space}{text}{space}{ticks}" if text else ""


def format_quote(text: str) -> str:
    """A block quote: whatever is left open in it ends with it."""
    return "\n".join(f"> {line}".rstrip() for line in _BREAK.split(text))


def escape_markdown(text: str) -> str:
    """Plain words on one line."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def contain_markdown(text: str) -> str:
    """Markdown as it is; but what would swallow the text after it is put into a fence."""
    return format_code_block(text, "markdown") if _leaves_block_open(text) else text


def _leaves_block_open(text: str) -> bool:
    """Whether a heading after it would not be one: an open fence, an open HTML block."""
    if not any(opening in text for opening in ("```", "~~~", "<")):
        return False
    return _PARSER.parse(f"{text}\n\n# end")[-1].type != "heading_close"


def _max_tick_run(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)
