"""Which passages answer a question: each is rated by the words it has, itself and around it."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from operator import mul

from agents.core.stemming import fold, stem, stems
from agents.llm.embedded.answer_types import rate_shape, tells_outcome
from agents.llm.embedded.note_names import (
    is_entrance,
    list_pointed,
    rate_note,
    rate_title,
)
from agents.llm.embedded.passages import Passage, stem_all
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.vocabulary import IN_CHARGE, LIGHT, REFERS_BACK, compare_words, share_head

AROUND, NAMED, WHOLLY_NAMED, REFERRED, NEAR = 0.8, 0.65, 0.9, 0.8, 0.5
"""What a word is worth in the headings above, in the name of the note, in a name that is asked for
whole, in the sentence before one that refers to it, and in those just before."""


_POINTED, _SAME_HEAD, _OF_ALL, _LISTED_OF_ALL = 0.9, 0.5, 0.4, 0.15
"""What a word is worth that a line of the notes points from, a compound with the same last word,
and a word that all notes are about, in any question and where a list is asked for."""
_OUTCOME_WORTH, _OTHER_SUBJECT, _HEADED_SUBJECT = 1.15, 0.6, 0.9
"""What a passage gains that tells an outcome that is asked for, and loses that has not what an
amount is asked of, or has it only in its heading."""
_UNKNOWN = 1.0
"""What a word weighs that was said before and that no passage has: it tells nothing apart."""


@dataclass(frozen=True, slots=True)
class ScoredPassage:
    passage: Passage
    coverage: float
    """The share of the question's words that it has, with what stands around it."""
    own: float
    """The part of it that its own words give."""
    shape: float
    score: float


class PassageScorer:
    """Rates passages for a question. Rare words count more; how rare is seen from the passages."""

    def __init__(self, question: Question, passages: Sequence[Passage]) -> None:
        self.question = question
        notes = {passage.path: passage for passage in passages}.values()
        places = {found for p in passages for found in (p.stems, p.around, p.named)}
        vocabulary = frozenset[str]().union(*places)
        self.matches = {
            word: {s: rate for s in vocabulary if (rate := self._compare(word, s))}
            for word in question.weights
        }
        for words, names in list_pointed(question, passages):
            known = vocabulary.intersection(stem(fold(name)) for name in names)
            for word in words:
                self.matches[word] |= dict.fromkeys(known, _POINTED)
        self._forms = frozenset(form for forms in self.matches.values() for form in forms)
        self._entrances = {n.title for n in notes if is_entrance(n.path)}
        self._rates: dict[frozenset[str], tuple[float, ...]] = {}
        asked = self._list_asked()
        self.weights = {
            word: weight * self._weigh(word, passages) for word, weight in asked.items()
        }
        self.telling = [word for word, weight in asked.items() if weight >= 1.0]
        self.total = sum(self.weights.values()) or 1.0
        self.named_paths = {note.path for note in notes if rate_note(question, note) == 1.0}
        """The notes whose whole title the question has."""
        self.told_paths = {p.path for p in passages if p.kind == "property" and self._is_told(p)}
        """Those of which it has a whole property: who they are by."""

    def _is_told(self, passage: Passage) -> bool:
        """Return whether a question has the whole value of a property, of more than one word."""
        value = passage.text.partition(": ")[2]
        return " " in value and rate_title(self.question, value) == 1.0

    def _compare(self, word: str, other: str) -> float:
        """Say how much a stem of a note stands for a word; German builds compounds."""
        rate = compare_words(word, other)
        return _SAME_HEAD if not rate and self.question.german and share_head(word, other) else rate

    def _list_asked(self) -> dict[str, float]:
        """Return what the words of a question weigh: of two of which one is enough, none if no
        passage has it and one has the other; little, if all notes are about it."""
        pairs = (pair[::step] for pair in self.question.choices for step in (1, -1))
        gone = {
            one for one, other in pairs if not self.matches.get(one) and self.matches.get(other)
        }
        weights = {w: weight for w, weight in self.question.weights.items() if w not in gone}
        partly = [t for t in self._entrances if rate_title(self.question, t) < 1]  # `the garden`
        whole = {w for w in weights if any(self.match(w, stem_all(title)) for title in partly)}
        if whole < weights.keys() and not self.question.is_fact:
            worth = _LISTED_OF_ALL if self.question.kind is Kind.LIST else _OF_ALL
            weights |= {word: min(weights[word], worth) for word in whole}
        return weights

    def _weigh(self, word: str, passages: Sequence[Passage]) -> float:
        forms = self.matches[word].keys()
        having = sum(not forms.isdisjoint(passage.stems) for passage in passages)
        if not having and word in self.question.leaned_on:
            return _UNKNOWN
        return math.log(2 + len(passages) / (having + 1))

    def match(self, word: str, found: frozenset[str]) -> float:
        """Return how well one of the found stems stands for a word of the question."""
        forms = self.matches[word]
        return max((forms[form] for form in forms.keys() & found), default=0.0)

    def _rate_words(self, found: frozenset[str]) -> tuple[float, ...]:
        """Return for each word of the question how well the found stems stand for it."""
        if found not in self._rates:
            some = found & self._forms
            self._rates[found] = tuple(self.match(w, some) for w in self.weights) if some else ()
        return self._rates[found]

    def cover(self, *places: tuple[frozenset[str], float]) -> float:
        """Return the share of the question that stems have, each place for what it is worth."""
        columns = [
            [worth * rate for rate in rates]
            for found, worth in places
            if (rates := self._rate_words(found))
        ]
        best = [max(rates) for rates in zip(*columns, strict=True)]
        covered: float = sum(map(mul, best, self.weights.values()))
        return covered / self.total

    def count_telling(self, passage: Passage) -> int:
        """Return how many words that tell what is asked a passage has itself."""
        return sum(self.match(word, passage.stems) > 0 for word in self.telling)

    def covers(self, known: frozenset[str], *, lacking: int = 0) -> bool:
        """Return whether stems have every word of the question that tells what it is about, but
        for as many as may be lacking of several; never a name."""
        missing = [word for word in self.telling if not self.match(word, known)]
        may_lack = (
            min(lacking, len(self.telling) - 1) if self.question.names.isdisjoint(missing) else 0
        )
        return len(missing) <= max(0, may_lack)

    def rate(self, passage: Passage) -> ScoredPassage:
        is_entry = passage.source == "thread" and passage.score > 0  # found, not read
        is_named = passage.path in self.named_paths or is_entry
        inside = [(passage.stems, 1.0)]
        if passage.before and passage.refers:
            inside.append((passage.before.stems, REFERRED))
        if passage.kind == "property":  # it is of its note
            inside.append((passage.named, 1.0 if is_named else 0.9))
        worth = WHOLLY_NAMED if is_named or passage.path in self.told_paths else NAMED
        outside = (passage.around, AROUND), (passage.named, worth)
        own, coverage = self.cover(*inside), self.cover(*inside, *outside, (passage.near, NEAR))
        shape = self._rate_shape(passage, own) if coverage else 0.0
        score = 0.55 * coverage + 0.35 * own + 0.1 * self.cover(*outside)
        if self.question.is_fact:
            score *= 0.4 + 0.6 * shape
        elif self.question.kind is Kind.WHY:
            score *= 0.7 + 0.3 * shape
        if self.question.subject and not self.has_subject(passage, own=True):
            score *= _HEADED_SUBJECT if self.has_subject(passage) else _OTHER_SUBJECT
        if passage.kind == "property" and not self.is_asked(passage):
            score *= 0.6
        if tells_outcome(passage.text, self.question):
            score *= _OUTCOME_WORTH
        score *= 1.1 if passage.path in self.question.paths else 1.05 if is_named else 1.0
        return ScoredPassage(passage, coverage, own, shape, score)

    def _rate_shape(self, passage: Passage, own: float) -> float:
        """Rate how much a passage looks like an answer; one that says all of it may be one."""
        cells, kind = self._list_asked_cells(passage), self.question.kind
        first = passage.text.partition(" · ")[0]
        text = " · ".join([first, *cells]) if cells else passage.text
        shape = rate_shape(text, self.question)
        if cells and not shape and kind is Kind.WHEN:
            rest = [c for c in passage.text.split(" · ")[1:] if c not in cells]
            fits = [c for c in rest if rate_shape(c, self.question) == 1.0]
            named = [c for c in cells if self._is_named(c.partition(": ")[0])]
            is_told = any(not re.search(r"\d", cell) for cell in named)  # `reachable: on demand`
            return 0.7 if len(fits) == 1 or is_told else 0.0
        if kind is Kind.WHERE and any(self._is_named(cell.partition(": ")[0]) for cell in cells):
            return max(shape, 0.7)
        if own < 0.9 or passage.kind == "property" or kind is Kind.NUMBER:
            return shape
        if self.question.named_thing:
            return shape
        is_told = kind is not Kind.WHO or not (passage.refers or self.list_lacking(passage))
        return max(shape, 0.5) if is_told else shape

    def _list_asked_cells(self, passage: Passage) -> list[str]:
        """Return those cells of a row, behind the first, that a question asks for."""
        if passage.kind != "row":
            return []
        first, *cells = passage.text.split(" · ")
        rest = [word for word in self.weights if not self.match(word, stem_all(first))]
        return [c for c in cells if any(self.match(word, stem_all(c)) for word in rest)]

    def _is_named(self, column: str) -> bool:
        return any(self.match(word, stem_all(column)) for word in self.weights)

    def is_asked(self, passage: Passage) -> bool:
        """Return whether a passage may be meant: of properties those asked for by name or value, or
        where a thing is."""
        if passage.kind != "property" or self.question.kind is Kind.WHERE:
            return True
        if self.question.kind is Kind.WHEN and not _KEPT.match(passage.text):
            return True
        title = frozenset(stems(passage.title))
        return any(self.match(w, passage.stems) and not self.match(w, title) for w in self.weights)

    def is_called(self, passage: Passage) -> bool:
        """Return whether a question has the name of a property."""
        name, title = stem_all(passage.text.partition(": ")[0]), frozenset(stems(passage.title))
        return any(self.match(w, name) and not self.match(w, title) for w in self.weights)

    def is_told(self, passage: Passage) -> bool:
        """Return whether a passage is the very property asked for of a note that is named."""
        if passage.kind != "property" or passage.path not in self.named_paths:
            return False
        by_name = self.is_called(passage)
        is_place = self.question.kind is Kind.WHERE and rate_shape(passage.text, self.question) == 1
        fits = not self.question.is_fact or rate_shape(passage.text, self.question) >= 0.5
        return is_place or (by_name and fits)

    def has_subject(self, passage: Passage, *, own: bool = False) -> bool:
        """Return whether a passage has what an amount is asked of, itself or around it."""
        known = passage.stems if own else passage.stems | passage.around | passage.named
        return any(self.match(word, known) for word in self.question.subject)

    def strays(self, passage: Passage) -> bool:
        """Return whether a passage has nothing of what a question leans on."""
        known = passage.stems | passage.around | passage.named
        leaned_on = self.question.leaned_on
        return bool(leaned_on) and not any(self.match(word, known) for word in leaned_on)

    def has_own(self, passage: Passage) -> bool:
        """Return whether a passage has a word of the question itself, not of what was before."""
        own = self.weights.keys() - {*self.question.leaned_on}
        return any(self.match(word, passage.stems | passage.around) for word in own)

    def has_all_own(self, passage: Passage) -> bool:
        """Return whether a question leans on what was said, and a passage has its own words."""
        own = self.weights.keys() - {*self.question.leaned_on}
        return len(own) < len(self.weights) and all(self.match(w, passage.stems) for w in own)

    def list_lacking(self, passage: Passage) -> list[str]:
        """Return the words of the question that a passage has neither itself nor around it."""
        known = passage.stems | passage.around | passage.named | passage.near
        return [word for word in self.weights if not self.match(word, known)]

    def lacks_telling(self, passage: Passage) -> bool:
        return any(word in self.telling for word in self.list_lacking(passage))

    def lacks_deed(self, passage: Passage) -> bool:
        """Return whether a passage lacks what somebody did, or when: in English verbs tell it."""
        asks_deed = self.question.kind in (Kind.WHO, Kind.WHEN) and not self.question.german
        lacking = {*self.list_lacking(passage)}.difference(self.question.leaned_on)
        if passage.kind == "row" and _DUTY.search(passage.text):  # whose row it is, has it
            lacking -= IN_CHARGE
        if self.question.verbs and not self.question.verbs <= lacking:
            return False
        return asks_deed and passage.kind != "property" and not lacking <= LIGHT

    def is_whole(self, passage: Passage) -> bool:
        """Return whether a passage lacks no name that is asked for, and its note was read."""
        known = passage.stems | passage.around | passage.named
        known |= passage.before.stems if passage.before else frozenset()
        names = self.question.names & self.weights.keys()
        has_names = all(self.match(name, known) for name in names)
        return passage.read and has_names and self.may_tell(passage) and self.is_asked(passage)

    def may_tell(self, passage: Passage) -> bool:
        """Return whether a passage of this sort can answer such a question at all."""
        kind = self.question.kind
        if passage.kind == "property" and not self.is_called(passage):
            return not (kind in (Kind.HOW, Kind.WHY) or self.question.asks_saying)
        if passage.kind == "row":
            return kind is not Kind.WHY
        if passage.is_pointer:
            return kind is Kind.WHERE
        return self._is_said(passage.text)

    def _is_said(self, text: str) -> bool:
        """Return whether a text tells something: a question in a note does not, unless what stands
        behind it has to do with what is asked."""
        asked = _QUESTION.match(text)
        rest = frozenset(stems(text[asked.end() :])) if asked else frozenset()
        return not (asked or text.endswith("?")) or any(self.match(w, rest) for w in self.weights)

    def sort(self, passages: Iterable[Passage]) -> list[ScoredPassage]:
        rated = [self.rate(passage) for passage in passages]
        return sorted(rated, key=lambda r: (-r.score, r.passage.place, r.passage.text))


_KEPT = re.compile(r"(?:created|updated|modified|added|erstellt|geändert)\b", re.IGNORECASE)
"""Properties that tell of the note, not of what it is about."""
_DUTY = re.compile(r"· (?:tasks?|role|job|does|owns?|duty|duties|aufgaben?|rolle)\b[^:·]*:", re.I)
_QUESTION = re.compile(
    r"(?:Do|Does|Did|Is|Are|Was|Were|Can|Could|Should|Must|May|Will|Wh\w+|How|W[aeio]\w+|Hat|Darf"
    r"|Kann|Soll|Muss|Gibt|Brauch\w+|Ist|Sind)\b[^.!?]*\?(?:\s|$)"
)


def continues(passage: Passage, first: Passage) -> bool:
    """Return whether a passage goes on about what another says, or is what that leads to."""
    if first.text.endswith(":"):
        return passage.lead == first.text and passage.path == first.path
    return passage.before == first and bool(REFERS_BACK.search(passage.text))


def choose(rated: Iterable[ScoredPassage], limit: int) -> list[Passage]:
    """Return the first passages, each text once."""
    first: dict[str, Passage] = {}
    for each in rated:
        first.setdefault(each.passage.text, each.passage)
    return list(first.values())[:limit]
