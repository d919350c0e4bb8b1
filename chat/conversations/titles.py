"""Names for conversations and exchanges, taken from questions: short, plain, never empty."""

import re
import unicodedata
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

MAX_TITLE_LENGTH = 60
DEFAULT_TITLE = "New conversation"
_SOURCE_CHARS = 2_000
"""Characters of a question that its title is taken from."""

_PARSER = MarkdownIt("commonmark", {"html": False})
_SENTENCE = re.compile(
    r".{7,}?(?:[!?\u2026]|(?<!\b\w)(?<!\b\w\w)\.)(?=\s)|.{5,}?[\u3002\uff01\uff1f]"
)
"""A sentence that says something: after "Hi!" and "Dr." it goes on."""
_HIDDEN = ("Cc", "Cf")
_JOINERS = "\u200c\u200d"
"""Invisible, and part of words and pictures."""


def make_title(question: str) -> str:
    """Return the first sentence of the first line that has words, without its Markdown."""
    question = question[:_SOURCE_CHARS]
    lines = [strip_invisible(line) for line in _iter_lines(question)]
    line = next((line for line in lines if any(map(str.isalnum, line))), strip_invisible(question))
    sentence = _SENTENCE.match(line)
    return (
        truncate_at_word(sentence[0] if sentence else line) if _is_visible(line) else DEFAULT_TITLE
    )


def truncate_at_word(text: str, max_length: int = MAX_TITLE_LENGTH) -> str:
    """Return text on one line, cut at the end of a word."""
    text = " ".join(text.split())
    if len(text) <= max_length:
        return text
    cut = text[: max_length - 1]
    at_word = cut if text[max_length - 1] == " " else cut.rpartition(" ")[0]
    return (at_word if len(at_word) > max_length // 2 else cut).rstrip(" ,;:-") + "\u2026"


def _iter_lines(question: str) -> Iterator[str]:
    """Yield what a reader would see, line by line; code as it stands."""
    for token in _PARSER.parse(question):
        match token.type:
            case "inline":
                yield from "".join(map(_token_text, token.children or ())).splitlines()
            case "fence" | "code_block":
                yield from token.content.splitlines()


def _token_text(token: Token) -> str:
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content


def strip_invisible(line: str) -> str:
    """Strip characters that show nothing or turn the text around."""
    visible = (" " if char.isspace() else char for char in line)
    return "".join(c for c in visible if c in _JOINERS or unicodedata.category(c) not in _HIDDEN)


def _is_visible(text: str) -> bool:
    return any(char.isprintable() and not char.isspace() for char in text)
