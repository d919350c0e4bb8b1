"""Where a call may begin: what the scanner asks of the families, computed once per tool set."""

import re
from collections.abc import Iterable
from functools import lru_cache

from agents.llm.text_calls.base import Family
from agents.llm.text_calls.deepseek import DeepSeek
from agents.llm.text_calls.function_tags import FunctionTags
from agents.llm.text_calls.hermes import Hermes
from agents.llm.text_calls.inline import Inline
from agents.llm.text_calls.invoke import Invoke

MOST_TICKS = 64
TICKS = f"`{{1,{MOST_TICKS}}}"
"""A run of backticks. Bounded, because it is held back until it has ended."""

_NAME = re.compile(r"[\w.:/-]+")

TAGGED: tuple[Family, ...] = (Hermes(), Invoke(), DeepSeek(), FunctionTags())


class Grammar:
    """The openers of all families, and their beginnings."""

    def __init__(self, known: frozenset[str]) -> None:
        inline = Inline(frozenset(filter(_NAME.fullmatch, known)))
        tags = {opener: family for family in TAGGED for opener in family.openers}
        self.families: dict[str, Family] = {**tags, **dict.fromkeys(inline.openers, inline)}
        self.words = _beginnings(inline.openers)
        self._tags = _beginnings(tags)
        self._longest_tag = max(map(len, tags))
        self._letters = frozenset("".join(known))
        self._longest_word = max(map(len, inline.openers), default=0)
        words = "|".join(map(re.escape, inline.openers))
        word = f"(?<!\\w)(?:{words})" if words else "(?!)"
        self.token = re.compile(f"{TICKS}|<|{word}")
        self.opener = re.compile("|".join((*map(re.escape, tags), word)))

    def family_at(self, text: str, pos: int) -> Family | None:
        """The family whose complete opener is at `pos`."""
        match = self.opener.match(text, pos)
        return self.families[match[0]] if match else None

    def may_begin(self, text: str, pos: int) -> bool:
        """Whether the text from `pos` on is the beginning of a tag that opens a call."""
        return len(text) - pos < self._longest_tag and text[pos:] in self._tags

    def last_word(self, text: str, pos: int) -> int:
        """Where, after `pos`, the text ends in the beginning of a known name; else its length."""
        if text[-1:] not in self._letters:
            return len(text)
        for start in range(max(pos, len(text) - self._longest_word), len(text)):
            if text[start:] in self.words and not _in_word(text, start):
                return start
        return len(text)


def _in_word(text: str, pos: int) -> bool:
    before = text[pos - 1 : pos]
    return before.isalnum() or before == "_"


def _beginnings(openers: Iterable[str]) -> frozenset[str]:
    return frozenset(opener[:end] for opener in openers for end in range(1, len(opener)))


@lru_cache(maxsize=64)
def grammar_for(known: frozenset[str]) -> Grammar:
    return Grammar(known)
