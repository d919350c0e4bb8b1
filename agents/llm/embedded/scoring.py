"""Which passages answer a question: every unit is weighed, the best that differ are kept."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from agents.core.stemming import WORD_PATTERN, stems
from agents.llm.embedded.answer_types import cue, reasons_below
from agents.llm.embedded.passages import Unit
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.vocabulary import agreeing

FOUND = 0.5
"""The share of the question's words that a passage must cover to be called an answer."""
NEAR = 0.3
_AGREES, _AROUND, _NAMED, _BEFORE, _COMPOUND = 0.75, 0.7, 0.5, 0.35, 0.6
_WHO_IS = re.compile(r"^\W*(?:who|what|wer|was) (?:is|are|was|ist|sind|war)\b")
_DANGLING = re.compile(
    r"(?:It|Its|This|They|Their|These|Those|That|He|She|His|Her|Such|Both|Therefore|However"
    r"|The (?:fix|result|other|same)|Es|Sie|Er|Dies\w*|Das|Deshalb|Otherwise|Then|Also)\b"
)

_REFERS_BACK = re.compile(r"\b(?:it|them|they|he|she|her|him|ihn|ihm)\b")


@dataclass(frozen=True, slots=True)
class Weighed:
    unit: Unit
    coverage: float
    own: float
    """The part of the coverage that the unit's own words give."""
    cue: float
    score: float


class Scale:
    """Weighs units for one question. Rare words count more; how rare is seen from the units."""

    def __init__(self, question: Question, material: Sequence[Unit]) -> None:
        self.question = question
        having = Counter(word for unit in material for word in unit.stems | unit.around)
        total = len(material)
        self._common = {
            w for unit in material for w in WORD_PATTERN.findall(unit.text) if w.islower()
        }
        self.weights = {
            word: weight * math.log(1 + (total + 1) / max(1.5, having[word] + 1))
            for word, weight in question.weights.items()
        }
        self.unseen = any(
            weight >= 1 and not having[word] and not any(having[w] for w in agreeing(word))
            for word, weight in question.weights.items()
        )
        """Whether a word of the question is nowhere to be found."""
        self.total = sum(self.weights.values()) or 1.0
        asked = pairwise(stems(question.text))
        self._pairs = {pair for pair in asked if set(pair) & self.weights.keys()}

    def weigh(self, unit: Unit) -> Weighed:
        own = total = 0.0
        for word, weight in self.weights.items():
            inside = _inside(word, unit)
            own += weight * inside
            total += weight * max(inside, _outside(word, unit, self._named(unit)))
        coverage, own = total / self.total, own / self.total
        fits = cue(unit, self.question, self._common)
        if self.question.kind is Kind.WHO and own >= 0.95 and not unit.text.endswith("?"):
            fits = max(fits, 0.7)  # it repeats the question: its subject is what was asked for
        score = (0.6 * coverage + 0.4 * own) * self._shape(fits) + 0.08 * self._beside(unit)
        return Weighed(unit, coverage, own, fits, score * self._prior(unit))

    def _named(self, unit: Unit) -> float:
        """Return what the title of its note is worth: more below the heading that was asked for."""
        fits = self.question.kind is Kind.WHY and reasons_below(unit.heading)
        return _AROUND if fits else _NAMED

    def _shape(self, fits: float) -> float:
        if self.question.is_fact or self.question.kind is Kind.WHY:
            return 0.4 + 0.6 * fits
        return 0.75 + 0.25 * fits

    def _prior(self, unit: Unit) -> float:
        prior = 1.0 if unit.read else 0.9
        if unit.text.endswith("?") and "question" not in self.question.folded:
            prior *= 0.6  # a question is no answer
        if any(unit.text.strip(" |") in quote for quote in self.question.said):
            prior *= 0.4  # it was said already
        if unit.kind == "meta":
            prior *= 0.6
        if unit.kind == "sentence" and unit.text.endswith(":"):
            prior *= 0.7
        if self.question.kind is Kind.WHAT and unit.block <= 4 and unit.kind == "sentence":
            prior *= 1.1  # what comes first in a note says what it is about
        if _WHO_IS.search(self.question.folded) and unit.text.startswith(self.question.words[:1]):
            prior *= 1.1  # "X is …" says who or what X is
        if self.question.paths and unit.path in self.question.paths:
            prior *= 1.1
        return prior

    def _beside(self, unit: Unit) -> float:
        """Return the share of the question's neighbouring words that are neighbours here."""
        return len(self._pairs & {*pairwise(stems(unit.text))}) / max(1, len(self._pairs))

    def best(self, material: Iterable[Unit]) -> list[Weighed]:
        weighed = [self.weigh(unit) for unit in material]
        return sorted(weighed, key=lambda w: (-w.score, w.unit.path, w.unit.line, w.unit.text))


def _inside(word: str, unit: Unit) -> float:
    if word in unit.stems:
        return 1.0
    if agreeing(word) & unit.stems:
        return _AGREES
    return _COMPOUND if _is_part(word, unit.stems) else 0.0


def _outside(word: str, unit: Unit, named: float) -> float:
    """Return how much of it heading, title or the sentence before says: understood here."""
    words = {word} | agreeing(word)
    if words & unit.around:
        return _AROUND
    if words & unit.named:
        return named
    return _BEFORE if unit.before is not None and words & unit.before.stems else 0.0


def _is_part(word: str, found: frozenset[str]) -> bool:
    """Return whether one is part of the other: `radar` in `radarkopf`, for long words."""
    if len(word) < 5:
        return False
    return any(
        (
            other.startswith(word)
            or other.endswith(word)
            or (len(other) > 5 and word.startswith(other))
        )
        for other in found
        if len(other) >= 5
    )


def same_fact(first: Unit, second: Unit) -> bool:
    """Return whether two units say nearly the same."""
    if first.text == second.text:
        return True
    small, large = sorted((first.stems, second.stems), key=len)
    return len(small) >= 4 and len(small & large) / len(small | large) > 0.7


def dangling(unit: Unit) -> bool:
    """Return whether a unit cannot be understood without the sentence before it."""
    short = len(unit.text) < 60 and bool(_REFERS_BACK.search(unit.text))
    return unit.before is not None and (short or bool(_DANGLING.match(unit.text)))


def chosen(question: Question, weighed: Sequence[Weighed], most: int) -> list[Weighed]:
    """Return the best, and what comes close to it and is not said yet."""
    if not weighed:
        return []
    best = weighed[0]
    share = 0.85 if question.is_fact else 0.7
    kept: list[Weighed] = []
    for one in weighed:
        if one.score < share * best.score or one.coverage < (share + 0.05) * best.coverage:
            continue
        if one.own < 0.5 * best.own or (question.is_fact and one.cue < 0.5 * best.cue):
            continue
        if any(same_fact(one.unit, other.unit) for other in kept):
            continue
        kept.append(one)
        if len(kept) == most:
            break
    return kept
