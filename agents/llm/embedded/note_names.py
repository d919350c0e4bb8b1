"""How a question names notes: by their titles, or by a line in them that points to one."""

import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Question
from agents.llm.embedded.vocabulary import LIGHT, STOP, compare_words, list_content_words

_HISTORY = re.compile(r"\brelease notes\b|\bchange ?log\b|\bversionshinweise\b")
_HISTORY_ASKED = re.compile(
    r"\b(?:releases?d?|versions?|chang\w+|new|when|since|wann|seit|neu)\b|\d\.\d"
)
_MAX_NAME = 4
_ENTRANCES = ("index", "readme", "overview", "home", "start", "about", "ubersicht", "übersicht")
"""Names of notes that say what the others are about."""


def list_pointed(
    question: Question, passages: Iterable[Passage]
) -> Iterator[tuple[list[str], list[str]]]:
    """Yield words of a question that the notes put in other words, with these: a line in a note
    that leads into all others points from them to the note about it."""
    own = question.weights.keys() - {*question.leaned_on} - LIGHT
    for passage in passages:
        if not (passage.is_pointer and is_entrance(passage.key)):
            continue
        label, _, target = passage.text.rpartition(": ")
        told = [stem(fold(word)) for word in list_content_words(label)]
        named = [w for w in list_content_words(target) if stem(fold(w)) not in LIGHT]
        asked = [w for w in own if any(compare_words(w, each) >= 0.8 for each in told)]
        is_new = {stem(fold(word)) for word in named}.isdisjoint(told)
        if is_new and told and len(asked) >= len(told):
            yield asked, named[:_MAX_NAME]


def is_entrance(path: str) -> bool:
    """Return whether a note leads into all others."""
    return "/" not in path and PurePosixPath(path).stem.casefold() in _ENTRANCES


def is_history(question: Question, note: Passage) -> bool:
    """Return whether a note only tells what has changed, and nobody asks for that."""
    return bool(_HISTORY.search(fold(note.title))) and not _HISTORY_ASKED.search(question.folded)


def rate_note(question: Question, passage: Passage) -> float:
    """Say how much of the name of a passage's note a question has."""
    names = (passage.title, PurePosixPath(passage.path).stem)
    return max(rate_title(question, name) for name in names)


def rate_title(question: Question, title: str) -> float:
    """Say how much of a title a question names, from 0 to 1; numbers alone name nothing."""
    words = [stem(w) for w in WORD_PATTERN.findall(fold(title)) if w not in STOP]
    telling = [word for word in words if not word[0].isdigit()] or words
    asked = question.weights.keys()
    named = sum(any(compare_words(a, word) >= 0.8 for a in asked) for word in telling)
    return named / len(telling) if telling else 0.0
