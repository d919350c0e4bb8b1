"""Names for conversations and exchanges, taken from questions: short, plain, never empty."""

import re
import unicodedata
from collections.abc import Iterator

from markdown_it import MarkdownIt
from markdown_it.token import Token

LONGEST = 60
NOTHING = "New conversation"
_LOOKED_AT = 2_000
"""Characters of a question that its title is taken from."""

_PARSER = MarkdownIt("commonmark", {"html": False})
_SENTENCE = re.compile(
    r".{7,}?(?:[!?\u2026]|(?<!\b\w)(?<!\b\w\w)\.)(?=\s)|.{5,}?[\u3002\uff01\uff1f]"
)
"""A sentence that says something: after "Hi!" and "Dr." it goes on."""
_HIDDEN = ("Cc", "Cf")
_JOINERS = "\u200c\u200d"
"""Invisible, and part of words and pictures."""


def title_of(question: str) -> str:
    """The first sentence of the first line that has words, without its Markdown."""
    question = question[:_LOOKED_AT]
    lines = [plain(line) for line in _lines(question)]
    line = next((line for line in lines if any(map(str.isalnum, line))), plain(question))
    sentence = _SENTENCE.match(line)
    return shortened(sentence[0] if sentence else line) if _shows(line) else NOTHING


def shortened(text: str, longest: int = LONGEST) -> str:
    """Text on one line, cut at the end of a word."""
    text = " ".join(text.split())
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    at_word = cut if text[longest - 1] == " " else cut.rpartition(" ")[0]
    return (at_word if len(at_word) > longest // 2 else cut).rstrip(" ,;:-") + "\u2026"


def _lines(question: str) -> Iterator[str]:
    """What a reader would see, line by line; code as it stands."""
    for token in _PARSER.parse(question):
        match token.type:
            case "inline":
                yield from "".join(map(_text, token.children or ())).splitlines()
            case "fence" | "code_block":
                yield from token.content.splitlines()


def _text(token: Token) -> str:
    return "\n" if token.type in ("softbreak", "hardbreak") else token.content


def plain(line: str) -> str:
    """Without characters that show nothing or turn the text around."""
    visible = (" " if char.isspace() else char for char in line)
    return "".join(c for c in visible if c in _JOINERS or unicodedata.category(c) not in _HIDDEN)


def _shows(text: str) -> bool:
    return any(char.isprintable() and not char.isspace() for char in text)
