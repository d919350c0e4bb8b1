"""Words in English and German: folding and light stems. Search and embedded model share them."""

import re
import unicodedata
from functools import lru_cache

WORD_PATTERN = re.compile(r"[^\W_]+(?:['\u2019.,][^\W_]+)*")
_SUFFIXES = (
    "ungen", "ings", "ing", "ung", "ers", "est", "ed", "es", "en", "er", "em", "ly", "s", "e",
)  # fmt: skip

_ENGLISH = """
a an and any are as at be been but by can could did do does for from had has have how i if in into
is it its me my no not of on or our shall should so than that the their them then there these they
this those to us was we were what when where which who whom whose why will with would you your
about tell please am
"""
_GERMAN = """
an in so was will aber alle als am auch auf aus bei bin bis das dass dem den der des die dies diese
ein eine einem einen einer es fur gibt hat haben ich im ist kann man mir mit nach nicht noch oder
sich sie sind uber um und uns unser von vor wann warum welche welcher welches wenn wer wie wieso
wird wo worden zu zum zur
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH.split())
GERMAN_STOP_WORDS = frozenset(_GERMAN.split())
"""Words that carry nothing, folded."""


def fold(text: str) -> str:
    """Lower case without accents."""
    if text.isascii():
        return text.lower()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return a folded word without its ending."""
    if word.endswith(("'s", "\u2019s")):
        word = word[:-2]
    if not word.isalpha() or len(word) < 4:
        return word
    if word.endswith(("ies", "ied", "ier")) and len(word) > 5:
        return word[:-2]
    if word.endswith(("ern", "eln")) and len(word) > 5:
        return word[:-1]
    for suffix in _SUFFIXES:
        least = 5 if suffix == "ly" else 3
        if word.endswith(suffix) and len(word) - len(suffix) >= least:
            word = word[: -len(suffix)]
            break
    if len(word) > 3 and word[-1] == word[-2]:
        word = word[:-1]
    if len(word) > 3 and word[-1] == "y":
        return word[:-1] + "i"
    return word[:-1] if len(word) > 3 and word[-1] == "e" else word


def list_completed_stems(word: str) -> list[str]:
    """Return the stems that a folded word may get by the rest of an ending, as `landi` by `ng`."""
    rests = (
        suffix[cut:]
        for suffix in _SUFFIXES
        for cut in range(1, len(suffix))
        if word.endswith(suffix[:cut])
    )
    return list(dict.fromkeys(stem(word + rest) for rest in rests))


def stems(text: str) -> list[str]:
    return [stem(word) for word in WORD_PATTERN.findall(fold(text))]
