"""Texts as terms, the same on every database: words folded and stemmed, or letters and pairs.

    analyse("Permits of the quay") == " permit of the quay "

Terms consist of letters and digits alone, so neither FTS5 nor PostgreSQL reads syntax into them.
Scripts that put no spaces between words are cut into single letters and pairs of them.
"""

import re
import unicodedata
from dataclasses import dataclass, replace

from agents.core.stemming import (
    ENGLISH_STOP_WORDS,
    GERMAN_STOP_WORDS,
    fold,
    list_completed_stems,
    stem,
)

MAX_TERM_CHARS = 40
MAX_QUERY_CHARS = 2_000
MAX_QUERY_WORDS = 32
"""Of a query so many words are looked up; `search` goes on with the rarest of them."""
MIN_PART_CHARS = 5
MIN_COMPOUND_CHARS = 9
MIN_PREFIX_CHARS = 3
PREFIX_SIGN = "*"
"""Ends a term of a query that stands for all terms that begin with it."""
_MAX_CACHED_WORDS = 200_000
_STOP_WORDS = ENGLISH_STOP_WORDS | GERMAN_STOP_WORDS
# Marks that Python does not count as parts of a word: accents, soft hyphens, joiners, and the
# vowel signs of Indic and South-East Asian scripts.
_MARKS = (
    "\u00ad\u200c\u200d\u0300-\u036f\u0591-\u05c7\u0610-\u061a\u064b-\u065f\u0900-\u0963"
    "\u0966-\u0dff\u0e30-\u0e4e\u0eb0-\u0ece\u0f71-\u0f84\u102b-\u103e\u1056-\u1059\u17b4-\u17d3"
    "\u3099\u309a"
)
_WORD_PATTERN = re.compile(rf"[\w{_MARKS}]+(?:['\u2019][\w{_MARKS}]+)*")
_LONE_APOSTROPHE_PATTERN = re.compile(r"'(?:(?<![A-Za-z0-9]')|(?![A-Za-z0-9]))")
_ASCII_WORD_CHARS = {
    code: char.lower() if (char := chr(code)).isalnum() or char == "'" else " "
    for code in range(128)
}
_SPACELESS_PATTERN = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u2e80-\u2fdf\u3005-\u3007\u3040-\u30ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+)"
)
# Folding makes signs of some letters: "⑴" is "(1)" then.
_NO_TERM_PATTERN = re.compile("[^a-z0-9\u0080-\U0010ffff]+|[\u00ad\u200c\u200d\u2019]+")


@dataclass(frozen=True, slots=True)
class QueryWord:
    """A word of a query: its terms, and lists of the parts of which each one may be known.

    Of a list, the first part that is known counts. A filler says nothing of what is looked for.
    """

    written: str
    terms: tuple[str, ...]
    part_lists: tuple[tuple[str, ...], ...] = ()
    is_filler: bool = False
    is_unfinished: bool = False
    """Somebody may still be typing it: its parts are what it may become."""


def analyse(text: str) -> str:
    """Return the terms of a text in their order, each between two spaces; "" if it has none."""
    terms = " ".join(map(_terms_by_word.__getitem__, _find_words(text)))
    return f" {terms} " if terms else ""


def get_word_term(word: str) -> str:
    """Return the one term of a word that has ASCII letters and digits alone."""
    return _terms_by_word[word.lower()]


def count_terms(analysed: str) -> int:
    return analysed.count(" ") - 1 if analysed else 0


def get_pattern(term: str) -> str:
    """Return what an analysed text holds that has a term of a query."""
    return f" {term[:-1]}" if term.endswith(PREFIX_SIGN) else f" {term} "


def parse_query(query: str, *, as_typed: bool = False) -> list[QueryWord]:
    """Return the words of a query, once each. Where all would be fillers, none is.

    As it is typed, its last word may be the beginning of another one.
    """
    words: dict[tuple[str, ...], QueryWord] = {}
    every = _find_words(query[:MAX_QUERY_CHARS])
    for number, written in enumerate(every, 1):
        is_last = as_typed and number == len(every)
        word = _parse_unfinished(written) if is_last else _parse_word(written)
        if word.terms:
            words.setdefault(word.terms, word)
        if len(words) == MAX_QUERY_WORDS:
            break
    if all(word.is_filler for word in words.values()):
        return [replace(word, is_filler=False) for word in words.values()]
    return list(words.values())


def _find_words(text: str) -> list[str]:
    if text.isascii():  # five times as fast as looking for a pattern
        return _LONE_APOSTROPHE_PATTERN.sub(" ", text).translate(_ASCII_WORD_CHARS).split()
    return _WORD_PATTERN.findall(text.lower().replace("_", " "))


class _TermsByWord(dict[str, str]):
    """The terms of each word met so far: most words of a text were met before."""

    def __missing__(self, word: str) -> str:
        if len(self) >= _MAX_CACHED_WORDS:
            self.clear()
        terms = self[word] = " ".join(_split_word(word))
        return terms


_terms_by_word = _TermsByWord()


def _split_word(word: str) -> list[str]:
    """Return the terms of one word as they stand in the index."""
    terms: list[str] = []
    for number, part in enumerate(_SPACELESS_PATTERN.split(_fold_word(word))):
        if number % 2:
            terms += [*part, *_list_pairs(part)]
        elif term := _get_term(part):
            terms.append(term)
    return terms


def _fold_word(word: str) -> str:
    """Fold a word, and put the syllables of Korean together again."""
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", fold(word))


def _get_term(word: str) -> str:
    return _NO_TERM_PATTERN.sub("", stem(word))[:MAX_TERM_CHARS]


def _list_pairs(letters: str) -> list[str]:
    return [letters[start : start + 2] for start in range(len(letters) - 1)]


def _parse_word(word: str) -> QueryWord:
    """Read a word. Where no spaces are, pairs of letters are words, and letters their parts."""
    folded = _fold_word(word)
    if folded in _STOP_WORDS:
        return QueryWord(word, (_get_term(folded),), is_filler=True)
    terms, letters = [], ""
    for number, part in enumerate(_SPACELESS_PATTERN.split(folded)):
        if number % 2:
            terms += _list_pairs(part) or [part]
            letters += part
        elif term := _get_term(part):
            terms.append(term)
    if letters:
        each = tuple((letter,) for letter in dict.fromkeys(letters))
        return QueryWord(word, tuple(dict.fromkeys(terms)), each)
    return QueryWord(word, tuple(terms), _list_compound_parts(folded, terms))


def _parse_unfinished(word: str) -> QueryWord:
    """Read a word that may go on: with other letters, or with the rest of an ending."""
    parsed, folded = _parse_word(word), _fold_word(word)
    if parsed.is_filler or len(parsed.terms) != 1 or _SPACELESS_PATTERN.search(folded):
        return parsed
    (term,) = parsed.terms
    if len(term) < MIN_PREFIX_CHARS:
        return parsed
    completed = (_NO_TERM_PATTERN.sub("", stem) for stem in list_completed_stems(folded))
    ends = [(each[:MAX_TERM_CHARS],) for each in completed if each and each != term]
    heads, *tails = parsed.part_lists or ((),)
    lists = ((term + PREFIX_SIGN, *heads), *ends, *tails)
    return replace(parsed, part_lists=lists, is_unfinished=True)


def _list_compound_parts(word: str, terms: list[str]) -> tuple[tuple[str, ...], ...]:
    """Return what a long word may begin with, and what it may end with, longest first."""
    if len(word) < MIN_COMPOUND_CHARS or len(word) > MAX_TERM_CHARS or not word.isalpha():
        return ()
    cuts = range(MIN_PART_CHARS, len(word) - 2)
    heads = dict.fromkeys(_get_term(word[:cut]) for cut in reversed(cuts))
    tails = dict.fromkeys(_get_term(word[-cut:]) for cut in reversed(cuts))
    return (
        tuple(head for head in heads if head not in terms),
        tuple(tail for tail in tails if tail not in terms),
    )
