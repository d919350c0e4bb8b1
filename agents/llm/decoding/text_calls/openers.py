"""Openings of calls, which the scanner asks of the families, computed once per tool set."""

import re
from collections.abc import Iterable
from functools import lru_cache

from agents.llm.decoding.text_calls.base import Family
from agents.llm.decoding.text_calls.inline import Inline
from agents.llm.decoding.text_calls.registry import FAMILIES

MAX_TICKS = 64
TICKS_PATTERN = f"`{{1,{MAX_TICKS}}}"
"""A run of backticks. Bounded, because it is held back until it has ended."""

_NAME = re.compile(r"[\w.:/-]+")


class OpenerIndex:
    """The openers of all families, and their beginnings."""

    def __init__(self, known: frozenset[str]) -> None:
        inline = Inline(frozenset(filter(_NAME.fullmatch, known)))
        tags = {opener: family for _, family in FAMILIES for opener in family.openers}
        self.families: dict[str, Family] = {**tags, **dict.fromkeys(inline.openers, inline)}
        self.word_prefixes = _collect_prefixes(inline.openers)
        self._tag_prefixes = _collect_prefixes(tags)
        self._max_tag_length = max(map(len, tags))
        self._letters = frozenset("".join(known))
        self._max_word_length = max(map(len, inline.openers), default=0)
        words = "|".join(map(re.escape, inline.openers))
        word = f"(?<!\\w)(?:{words})" if words else "(?!)"
        self.tags = tuple(tags)
        self.known = known
        self.token = re.compile(f"{TICKS_PATTERN}|<|{word}")
        self.opener = re.compile("|".join((*map(re.escape, tags), word)))

    def family_at(self, text: str, pos: int) -> Family | None:
        """Return the family whose complete opener is at `pos`."""
        match = self.opener.match(text, pos)
        return self.families[match[0]] if match else None

    def may_begin(self, text: str, pos: int) -> bool:
        """Return whether the text from `pos` on is the beginning of a tag that opens a call."""
        return len(text) - pos < self._max_tag_length and text[pos:] in self._tag_prefixes

    def find_last_word(self, text: str, pos: int) -> int:
        """Return where, after `pos`, the text ends in the beginning of a known name, or ends."""
        if text[-1:] not in self._letters:
            return len(text)
        for start in range(max(pos, len(text) - self._max_word_length), len(text)):
            if text[start:] in self.word_prefixes and not _is_inside_word(text, start):
                return start
        return len(text)


def _is_inside_word(text: str, pos: int) -> bool:
    before = text[pos - 1 : pos]
    return before.isalnum() or before == "_"


def _collect_prefixes(openers: Iterable[str]) -> frozenset[str]:
    return frozenset(opener[:end] for opener in openers for end in range(1, len(opener)))


@lru_cache(maxsize=64)
def get_opener_index(known: frozenset[str]) -> OpenerIndex:
    return OpenerIndex(known)
