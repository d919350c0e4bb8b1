"""What is asked: the kind of answer wanted, the words to look for, and what it refers back to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import dropwhile, takewhile

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.question_kinds import (
    KIND_CHARS,
    Kind,
    drop_containers,
    find_kind,
    find_sum,
    list_sorts,
    names_folder,
    strip_manner,
)
from agents.llm.embedded.request import Exchange, list_cited, list_quotes
from agents.llm.embedded.vocabulary import LIGHT, STOP, is_generic, is_german, list_content_words

_BACK = re.compile(
    r"\b(it|its|they|them|their|that|those|this|these|he|him|his|she|her|there|one|ones|same"
    r"|dann|dort|dessen|deren|davon|dafur|damit|er|sie|es|ihn|ihm|seine?r?|der zweite|das)\b"
)
_PERSON = re.compile(r"\b(he|him|his|she|her|they|them|their)\b")
_OPENS_BACK = re.compile(r"^\W*(and|but|or|so|then|also|und|aber|oder|what about|how about)\b")
_WHAT_ABOUT = re.compile(
    r"^\W*(?:(?:and|und|but)\s+)?(?:what about|how about|was ist mit|und(?! (?:w[aeio]\w+)))\b"
    r"|^\W*(?:and|but) (?:the|an?|in|on|at|for|from|of|with) \w+(?:\W+\w+){0,2}\W*$"
)
_ORDINALS = {
    "first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "erste": 0,
    "zweite": 1, "dritte": 2, "vierte": 3, "letzte": -1, "1st": 0, "2nd": 1, "3rd": 2,
}  # fmt: skip
_THE = r"(?:the|that|d(?:er|ie|as|em|en))"
_BETWEEN = re.compile(
    r"\b(?:compare|contrast|between|vergleiche|zwischen|distinguish(?:es)?"
    r"|unterscheide[nt]+(?: sich)?|how (?:do|does|is|are))\s+(\S.*?)\s"
    r"(?:and|with|to|und|mit|von|(?:differs? |different )?from)\s(.+?)(?:\s(?:differ|compare)\w*)?$"
    r"|^[^,]*, (.+)\s(?:or|oder)\s(.+)"
    r"|^(.+)\s(?:and|or|und|oder)\s(.+?)[:,] (?:how|what|which|wie|was|worin)\b.*"
    r"|^(.+)\s(?:vs\.?|versus)\s(.+)",
    re.IGNORECASE,
)
_ASKS = r"(?:who|when|where|how|what|why|which|wer|wann|wo|wie|was|warum|welche[rs]?)\b"
_IN = r"(?:(?:in|on|at|by|for|from|since|until|im|am|bis|seit|von) )?"
_PARTS = re.compile(rf"(?<=\?)\s+(?=\S)|[,;]?\s+(?:and|und)\s+(?={_IN}{_ASKS})", re.IGNORECASE)
_OR = re.compile(r"\b(\w+),? (?:or|oder) (?:(?:an?|the|other|andere[nrs]?|eine?n?) )?(\w+)")
_EVERYTHING = ("project", "projekt", "vault")
"""Words that ask about all notes, where no other word is."""
_OF_AMOUNT = re.compile(
    r"^how (?:long|often|much|many|big|large|high|heavy|old|deep|tall|far)"
    r" (?:is|are|was|were|does|do|did|can|has|have) (.*)"
)
_MAX_PARTS = 3
_MAX_CHARS = 2_000
_CONTEXT_WEIGHT, _SOFT_WEIGHT = 0.35, 0.4
_DO, _BE, _AFTER = {"do", "does", "did"}, {"is", "are", "was", "were", "be"}, STOP | {""}
_MODAL = {"can", "could", "should", "must", "may", "will"}
_CONTRACTED = re.compile(r"\b(who|what|when|where|why|how)['\u2019]s\b", re.IGNORECASE)
_OUTCOME_ASKED = re.compile(
    r"\bwhat (?:happens|if)\b|\bwhat\b.{0,80} do(?:es)?\b.{0,80} (?:if|when)\b|was passiert"
    r"|was .{0,80} wenn\b"
)
_THREAD_ASKED = re.compile(
    r"\bthread (?:on|about|of|called|named|zu|uber)\b|\bthread\W*(?:about\W*)?$"
)
_REQUEST = re.compile(
    r"(?:and |und |also )?(?:wh\w+|how|list|name|summ?\w*|compare|explain|describe|tell|give|show"
    r"|find|w[aeio]\w+|nenne|liste|fass\w*|vergleich\w*|erklar\w*)\b",
    re.IGNORECASE,
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
        return self.kind is Kind.YES_NO and word[0].isdigit()

    def _weigh(self, word: str) -> float:
        """Weigh a word: answers put verbs in other words, and German writes only nouns large."""
        is_noun = self.german and word[0].isupper() and not self.text.startswith(word)
        is_noun = is_noun or (self.german and self.text.islower() and not _VERBAL.search(word))
        is_measure = re.search(rf"\b(how|wie) {re.escape(fold(word))}\b", self.folded)
        is_soft = self.german or is_measure or self._is_verb(word) or is_generic(stem(fold(word)))
        is_soft = is_soft or self._is_compared(word) or fold(word) in self._sorts
        is_light = stem(fold(word)) in LIGHT
        return _SOFT_WEIGHT if is_light or (is_soft and not is_noun) else 1.0

    def _is_verb(self, word: str) -> bool:
        """Return whether an English word is a verb, by where it stands: `who lends`, `did it open`,
        `are they kept`."""
        said = ["", *WORD_PATTERN.findall(self.folded), ""]
        if not word.islower() or word not in said:
            return False
        at = said.index(word)
        is_asked = said[at - 1] == "who" or (said[at - 1] == "what" and _AUXILIARY.isdisjoint(said))
        is_asked = is_asked or (said[at - 1] == "to" and not self.is_fact)
        is_asked = is_asked or bool(_NEGATION.search(said[at - 1]))
        is_done = word[-2:] == "ed" and (self.kind is Kind.LIST or not _BE.isdisjoint(said))
        if is_asked or is_done:
            return True
        done = (n for n, each in enumerate(said) if each in _DO or (n > 1 and each in _MODAL))
        rest = range(next(done, len(said)) + 2, len(said) - 1)
        return at == next((n for n in rest if said[n - 1] not in STOP and said[n + 1] in _AFTER), 0)

    @cached_property
    def asks_outcome(self) -> bool:
        """Whether it asks what follows from something."""
        return bool(_OUTCOME_ASKED.search(self.folded[:KIND_CHARS]))

    @cached_property
    def asks_thread(self) -> bool:
        """Whether it asks for a thread as such: `the thread on false alarms`."""
        return bool(_THREAD_ASKED.search(self.folded[:KIND_CHARS]))

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


def analyse_all(text: str, earlier: Sequence[Exchange] = ()) -> list[Question]:
    """Return the questions in a message, at most three; a later one may lean on an earlier."""
    parts = [part.strip(" ,;") for part in _PARTS.split(" ".join(text.split())[:_MAX_CHARS])]
    is_asked = any(part.endswith("?") for part in parts)  # what is said behind it, is not
    if is_asked and not parts[-1].endswith("?") and not _REQUEST.match(parts[-1]):
        parts.pop()
    parts = [part for part in parts if part][:_MAX_PARTS] or [text]
    found: list[Question] = []
    for part in parts:
        before = [*earlier, *(Exchange(q.text, "") for q in found)]
        is_short = bool(found) and len(list_content_words(part)) <= 1  # `… and in which year?`
        found.append(analyse(part, before, leans=is_short))
    return found


def analyse(text: str, earlier: Sequence[Exchange] = (), *, leans: bool = False) -> Question:
    """Understand a question, with the exchanges before it if it leans on them."""
    text = " ".join(text.split())[:_MAX_CHARS]
    text = _CONTRACTED.sub(r"\1 is", strip_manner(text))
    folded = fold(text)
    german = is_german(folded)
    kind = find_kind(folded, german)
    words = drop_containers(kind, list_content_words(text))
    if _THREAD_ASKED.search(folded[:KIND_CHARS]):
        words = [word for word in words if fold(word) != "thread"] or words
    if kind is Kind.NOTES and words and not names_folder(folded):
        kind = Kind.LIST
    if all(fold(word) in _EVERYTHING for word in words):
        words = []
    question = Question(
        text=text,
        kind=kind,
        german=german,
        words=tuple(words),
        sides=_find_sides(text),
        folded=folded,
    )
    return _resolve(question, earlier) if earlier and (leans or _leans_back(question)) else question


def _find_sides(text: str) -> tuple[str, ...]:
    match = _BETWEEN.search(text[:KIND_CHARS].rstrip("?.! "))
    return tuple(side.strip() for side in match.groups() if side) if match else ()


def _leans_back(question: Question) -> bool:
    """Return whether it can only be understood with what was said before."""
    if question.stands_alone:
        return False
    if not question.words:
        return not re.search(r"\b(project|projekt)", question.folded)
    few = len(question.words) <= 3 and not any(w[0].isupper() for w in question.words[1:])
    opens = bool(_OPENS_BACK.search(question.folded)) and len(question.words) <= 2
    return opens or (few and bool(_BACK.search(question.folded)))


def _resolve(question: Question, earlier: Sequence[Exchange]) -> Question:
    last = earlier[-1]
    before = analyse(last.question, earlier[:-1])
    quotes = list_quotes(last.answer)
    kind = question.kind
    if _WHAT_ABOUT.search(question.folded) and kind in (Kind.WHAT, Kind.YES_NO, Kind.ABOUT):
        kind = before.kind
    pointed = next(
        (n for w, n in _ORDINALS.items() if re.search(rf"\b{_THE} {w}\b", question.folded)), None
    )
    words, context = question.words, (*before.words, *before.context)
    if replaced := _list_replaced(question, before):  # another one is named instead
        quotes, context = [], tuple(w for w in context if stem(fold(w)) not in replaced)
    if pointed is not None and -len(quotes) <= pointed < len(quotes):
        words = tuple(w for w in words if fold(w) not in _ORDINALS)
        context = tuple(list_content_words(quotes[pointed])[:8])
        if not words:
            words, context = context, ()
            kind = Kind.WHAT if kind is before.kind else kind
    elif not words:
        words, context = (*before.words, *_list_names(quotes)), before.context
    elif not context or question.kind in (Kind.WHO, Kind.WHY):
        context = (*context, *_list_names(quotes))
    return replace(
        question,
        kind=kind,
        german=question.german or (before.german and not question.words),
        words=words,
        context=tuple(dict.fromkeys(w for w in context if w not in words))[:12],
        paths=list_cited(last.answer),
    )


def _list_replaced(question: Question, before: Question) -> set[str]:
    """Return the names of the question before that new ones take the place of, by numbers numbers
    alone. A first word is written large whatever it is."""
    if _PERSON.search(question.folded):
        return set()
    later = [
        w for w in question.words if len(question.words) == 1 or not question.text.startswith(w)
    ]
    kinds = {w[0].isdigit() for w in later if stem(fold(w)) in question.names}
    return {name for name in before.names if name[0].isdigit() in kinds}


def _list_names(quotes: Sequence[str]) -> list[str]:
    """Return names in the first thing that was quoted: what a pronoun most likely stands for."""
    first = quotes[0] if quotes else ""
    return [w for w in list_content_words(first) if w[0].isupper() and WORD_PATTERN.match(w)][:4]
