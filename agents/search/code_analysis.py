"""Code as terms: each identifier as its words, and whole if it has several.

    analyse_code("readGauge(max_age)") == " readgauge read gaug maxˍage max age "

A term holds letters and digits alone, so another letter stands for `_` in whole identifiers.
"""

import re

from agents.core.stemming import fold
from agents.search.analysis import MAX_TERM_CHARS, QueryWord, analyse, get_word_term

UNDERSCORE = "\u02cd"
_MAX_CACHED_IDENTIFIERS = 200_000
_MAX_PARTS = 12
_IDENTIFIER_PATTERN = re.compile(r"\w+")
_ASCII_IDENTIFIER_CHARS = {
    code: char if (char := chr(code)).isalnum() or char == "_" else " " for code in range(128)
}
_PART_PATTERN = re.compile("[A-Z]+(?![a-z\u0080-\U0010ffff])|[A-Z]?[a-z\u0080-\U0010ffff]+|[0-9]+")


def analyse_code(text: str) -> str:
    """Return the terms of a text in their order, each between two spaces; "" if it has none."""
    terms = " ".join(filter(None, map(_terms_by_identifier.__getitem__, _find_identifiers(text))))
    return f" {terms} " if terms else ""


def _find_identifiers(text: str) -> list[str]:
    if text.isascii():  # several times as fast as looking for a pattern
        return text.translate(_ASCII_IDENTIFIER_CHARS).split()
    return _IDENTIFIER_PATTERN.findall(text)


def get_identifier_term(name: str) -> str:
    """Return the one term that every text has that uses a name; "" if no text can be found by it.

    Others may have it too: case is folded, and what is long is cut.
    """
    return _terms_by_identifier[name].partition(" ")[0]


def parse_identifiers(query: str) -> list[QueryWord]:
    """Return the identifiers of several words in a query, each as one word."""
    found = dict.fromkeys(_IDENTIFIER_PATTERN.findall(query))
    return [
        QueryWord(name, (get_identifier_term(name),), tuple((part,) for part in parts))
        for name in found
        if len(parts := _split_identifier(name)) > 1
    ]


class _TermsByIdentifier(dict[str, str]):
    """The terms of each identifier met so far: most of a text were met before."""

    def __missing__(self, name: str) -> str:
        if len(self) >= _MAX_CACHED_IDENTIFIERS:
            self.clear()
        terms = self[name] = " ".join(_list_terms(name))
        return terms


_terms_by_identifier = _TermsByIdentifier()


def _list_terms(name: str) -> list[str]:
    parts = _split_identifier(name)
    if len(parts) < 2:
        return parts
    folded = fold(name)
    if not (name.isascii() and name.isidentifier()):  # whatever somebody asks for may come here
        folded = re.sub(r"\W+", "", folded)
    return [folded.replace("_", UNDERSCORE)[:MAX_TERM_CHARS], *parts]


def _split_identifier(name: str) -> list[str]:
    """Return the words of an identifier as terms, once each."""
    words = _PART_PATTERN.findall(name)[:_MAX_PARTS]
    if not name.isascii():
        return list(dict.fromkeys(analyse(" ".join(words)).split()))
    return list(dict.fromkeys(map(get_word_term, words)))
