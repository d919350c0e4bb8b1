"""What is asked: the kind of answer wanted, the words to look for, and what it refers back to."""

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import dropwhile, takewhile

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.question_kinds import (
    KIND_CHARS,
    Kind,
    find_sum,
    list_sorts,
)
from agents.llm.embedded.vocabulary import LIGHT, STOP, is_generic

_OR = re.compile(r"\b(\w+),? (?:or|oder) (?:(?:an?|the|other|andere[nrs]?|eine?n?) )?(\w+)")
_OTHERS = re.compile(r"\b(?:which|what) (?:other|alternative)\b")
_OF_AMOUNT = re.compile(
    r"^how (?:long|often|much|many|big|large|high|heavy|old|deep|tall|far)"
    r" (?:is|are|was|were|does|do|did|can|has|have) (.*)"
)
_CONTEXT_WEIGHT, _SOFT_WEIGHT = 0.35, 0.4
_DO, _BE, _AFTER = {"do", "does", "did"}, {"is", "are", "was", "were", "be"}, STOP | {""}
_MODAL = {"can", "could", "should", "must", "may", "will"}
AND_IF = re.compile(r"^\W*(?:and|but|und) (?:what )?(?:if|wenn|falls)\b")
_CALLED = re.compile(
    r"^what (?:is|was|are) (?:the |our )?name of (?:the |our |an? )?((?:\w+ ){0,2}?\w+)"
    r"(?: (?:in|at|of|on|from|who|that|for|with)\b|\W*$)"
    r"|^what (?:is|was|are) (?:the |our )?((?:\w+ ){0,2}?\w+)"
    r"(?: (?:in|at|of|on|from) .{1,40})? called\b"
)
_OUTCOME_ASKED = re.compile(
    r"\bwhat (?:happens|if)\b|\bwhat\b.{0,80} do(?:es)?\b.{0,80} (?:if|when)\b|was passiert"
    rf"|was .{{0,80}} wenn\b|{AND_IF.pattern}"
)
THREAD_ASKED = re.compile(
    r"\bthread (?:on|about|of|called|named|zu|uber)\b|\bthread\W*(?:about\W*)?$"
)
_VERBAL = re.compile(r"(?:t|en)$")  # how German verbs end, where nothing is written large
_NEGATION = re.compile(r"^(?:not|never)$|n['\u2019]t$")
_AUXILIARY = _DO | _BE | _MODAL | {"has", "have", "had"}
_FACTS = (Kind.WHO, Kind.WHEN, Kind.NUMBER, Kind.WHERE)
_ALONE = (Kind.TALK, Kind.CALCULATE, Kind.TIME, Kind.NOTES, Kind.RECENT)


@dataclass(frozen=True)
class Question:
    text: str
    kind: Kind
    german: bool = False
    words: tuple[str, ...] = ()  # to look for, as they were written, but for some phrases
    context: tuple[str, ...] = ()  # words of what was said before, that it refers to
    paths: tuple[str, ...] = ()  # notes that the answer before it cited
    sides: tuple[str, ...] = ()  # what is compared
    folded: str = field(default="", compare=False)

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each stem counts."""
        weights = dict.fromkeys(self.leaned_on, _CONTEXT_WEIGHT)
        return weights | {stem(fold(word)): self._weigh(word) for word in self.words}

    @cached_property
    def leaned_on(self) -> tuple[str, ...]:
        """Stems of what was said before."""
        own = {stem(fold(word)) for word in self.words}
        return tuple(s for s in (stem(fold(word)) for word in self.context) if s not in own)

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of numbers, and of what is written large where not every noun is."""
        found = (w for w in self.words if w[0].isdigit() or (w[0].isupper() and not self.german))
        return frozenset(stem(fold(word)) for word in found if not self._is_compared(word))

    @cached_property
    def choices(self) -> tuple[tuple[str, ...], ...]:
        """Stems of things of which one is enough: `lemons or other citrus fruit`."""
        found = _OR.findall(self.folded) if self.kind is Kind.YES_NO else ()
        return tuple((stem(one), stem(other)) for one, other in found)

    @cached_property
    def _sorts(self) -> frozenset[str]:
        return list_sorts(self.kind, self.folded)

    def _is_compared(self, word: str) -> bool:
        """Return whether a number is held against another one, as in `May she spend 800 euros?`."""
        if not word[0].isdigit() or self.kind not in (Kind.YES_NO, Kind.WHO):
            return False
        is_sum = re.search(rf"{re.escape(word)} (?:euro|dollar)", self.text)
        return self.kind is Kind.YES_NO or is_sum is not None

    def _weigh(self, word: str) -> float:
        """Weigh a word: answers put verbs in other words, and German writes only nouns large."""
        is_noun = self.german and word[0].isupper() and not self.text.startswith(word)
        is_noun = is_noun or (self.german and self.text.islower() and not _VERBAL.search(word))
        is_measure = self._is_after(r"(?:how|wie)", word)
        is_soft = self.german or is_measure or self._is_verb(word) or is_generic(stem(fold(word)))
        is_soft = is_soft or self._is_compared(word) or fold(word) in self._sorts
        is_soft = is_soft or (self.asks_others and self._is_after(r"other", word))
        is_light = stem(fold(word)) in LIGHT or self._is_later(word)
        return _SOFT_WEIGHT if is_light or (is_soft and not is_noun) else 1.0

    def _is_after(self, before: str, word: str) -> bool:
        return bool(re.search(rf"\b{before} {re.escape(fold(word))}\b", self.folded))

    def _is_later(self, word: str) -> bool:
        """Return whether a word is of what something is done before, where its outcome is asked:
        `What happens if the panel is connected before the battery?`."""
        rest = self.folded.rpartition(" before ")[2] if self.asks_outcome else self.folded
        return rest != self.folded and fold(word) in WORD_PATTERN.findall(rest)

    def _is_verb(self, word: str) -> bool:
        """Return whether an English word is a verb, by where it stands: `who lends`, `did it open`,
        `are they kept`."""
        said = ["", *WORD_PATTERN.findall(self.folded), ""]
        if not word.islower() or word not in said:
            return False
        at = said.index(word)
        is_asked = said[at - 1] == "who" or (said[at - 1] == "what" and _AUXILIARY.isdisjoint(said))
        is_needed = said[at - 1] == "to" and said[at - 2] in ("need", "needs", "needed")
        is_asked = is_asked or is_needed or (said[at - 1] == "to" and not self.is_fact)
        is_asked = is_asked or bool(_NEGATION.search(said[at - 1]))
        is_done = word[-2:] == "ed" and (self.kind is Kind.LIST or not _BE.isdisjoint(said))
        if is_asked or is_done:
            return True
        if self.kind is Kind.NUMBER and is_generic(stem(said[-2])):  # `does a new one for it cost`
            return at == len(said) - 2
        done = (n for n, each in enumerate(said) if each in _DO or (n > 1 and each in _MODAL))
        rest = range(next(done, len(said)) + 2, len(said) - 1)
        return at == next((n for n in rest if said[n - 1] not in STOP and said[n + 1] in _AFTER), 0)

    @cached_property
    def asks_outcome(self) -> bool:
        """Whether it asks what follows from something."""
        return bool(_OUTCOME_ASKED.search(self.folded[:KIND_CHARS]))

    @property
    def asks_others(self) -> bool:
        """Whether it asks for what there is besides: `which other ways`."""
        return bool(_OTHERS.search(self.folded))

    @cached_property
    def asks_thread(self) -> bool:
        """Whether it asks for a thread as such: `the thread on false alarms`."""
        return bool(THREAD_ASKED.search(self.folded[:KIND_CHARS]))

    @property
    def asks_saying(self) -> bool:
        """Whether it asks what somebody says or thinks: no property of a note tells it."""
        return bool(re.match(r"(?:and |und )?what (?:does|do|did)\b", self.folded))

    @cached_property
    def subject(self) -> tuple[str, ...]:
        """The stems of what an amount is asked of: the first words behind `how long is`."""
        asked = _OF_AMOUNT.search(self.folded)
        stems = map(stem, WORD_PATTERN.findall(asked[1]) if asked else ())
        rest = dropwhile(lambda each: self.weights.get(each) != 1.0, stems)
        return tuple(takewhile(lambda each: self.weights.get(each) == 1.0, rest))

    @cached_property
    def named_thing(self) -> str:
        """The stem of a thing whose name is asked for: `What is the ferry called?`."""
        found = _CALLED.search(self.folded)
        return stem((found[1] or found[2]).split()[-1]) if found else ""

    @cached_property
    def verbs(self) -> frozenset[str]:
        """Stems of the words that say what somebody does."""
        return frozenset(stem(fold(word)) for word in self.words if self._is_verb(word))

    @property
    def call(self) -> tuple[str, dict[str, str]] | None:
        """The call of another tool that answers by itself."""
        calls = {
            Kind.CALCULATE: ("calculate", {"expression": find_sum(self.text)}),
            Kind.TIME: ("current_time", dict[str, str]()),
        }
        return calls.get(self.kind)

    @property
    def is_fact(self) -> bool:
        return self.kind in _FACTS

    @property
    def is_general(self) -> bool:
        """Whether it asks about all notes, with no word of its own."""
        return not self.words and not self.context

    @property
    def stands_alone(self) -> bool:
        """Whether no note is looked for, nor what was said before."""
        return self.kind in _ALONE
