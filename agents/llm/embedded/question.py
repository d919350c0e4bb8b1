"""What is asked: the kind of answer wanted, the words to look for, and what it refers back to."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.request import Exchange, list_cited, list_quotes
from agents.llm.embedded.vocabulary import STOP, is_generic, is_german, list_content_words

Kind = Enum(
    "Kind",
    "TALK CALCULATE TIME NOTES RECENT CODE MENTION SUMMARY COMPARE LIST WHY WHO WHEN NUMBER WHERE"
    " HOW ABOUT YES_NO WHAT",
)
"""What sort of answer a question wants."""

_PATTERNS = (
    (Kind.TALK, r"^\W*((ok|okay|great|good|super|prima|alles klar)\W+)*(hello|hi|hey|hallo|moin"
                r"|good (morning|evening|day)|guten (tag|morgen|abend)|thanks?|thank you|danke|thx"
                r"|vielen dank|help|hilfe|who are you|what can you do|wer bist du|was kannst du)"
                r"(\W+(oracle|there|so much|very much|a lot|how are you|schon|sehr))*\W*$"),
    (Kind.TIME, r"what('s| is) the (current )?time|what time is it|what('s| is) (the date )?today"
                r"|wie spat ist es|welcher tag ist heute"),
    (Kind.RECENT, r"what('s| is| has| was)? (new|changed|happened)( in [\w ]+)?"
                  r"( lately| recently| last)?\W*$|\b(latest|newest|recent) (notes?|changes|news)"
                  r"|changed (lately|recently)|was (ist neu|gibt es neues)|zuletzt geander"
                  r"|(letzten?|neuesten?) (notizen|anderungen)"),
    (Kind.CODE, r"\b(where|which file|what file|wo)\b.*\b(defin|implement|declar|i[nm] (the )?code)"
                r"|definition (of|von)\b|which (function|class|method|module)\b"),
    (Kind.MENTION, r"\bwhere\b.*\b(mention|written|describ|document|noted|discuss|say)"
                   r"|\b(which|what|list|show|find)\b.*\bnotes?\b.*\b(mention|about|say|on|with|over"
                   r"|contain|talk|refer|discuss|describ)|\bwo steht\b"
                   r"|\bwo (wird|ist)\b.*\b(erwahn|steh|beschrieb|notier|uber|etwas)"
                   r"|welche notizen.*(erwahn|uber|zu)\b|mentions of"),
    (Kind.NOTES, r"\b(list|show|which|what|all|how many)( \w+){0,2} (notes|files|documents)\b"
                 r"|welche notizen|alle notizen|liste.*notizen"),
    (Kind.SUMMARY, r"what (did|was|were|happened|came)\b.*\b(meeting|call|conversation)\b"
                   r"|summar[iy]|\boverview of\b|tl;?dr|in short|\bgist\b|zusammen(fass|gefasst)"
                   r"|fasse?\b.*zusammen|uberblick|was wurde\b.*\bbesproch"),
    (Kind.COMPARE, r"\bcompare|difference between|\bversus\b|\bvs\b|vergleich|unterschied"),
    (Kind.WHY, r"\bwhy\b|\breasons?\b|how come|warum|weshalb|wieso|\bgrund"),
    (Kind.HOW, r"what happens|what (do|should) (i|we|you) do|was (passiert|tun)|what is done"
               r"|\b(steps|procedure|instructions|schritte)\b"),
    (Kind.LIST, r"^(please )?(list|enumerate|name (all|the|every))\b|what are (all|the|our|my)\b"
                r"|^(which|what) (\w+ ){0,3}?\w+s (are|were|do|does|did|have|has|is|should|must"
                r"|can|need|go|still|we)\b|^(which|what) .* are there\b"
                r"|^(welche|nenne|liste|zahle)\b"
                r"|what (else )?(parts|tasks|questions|risks|steps|rules|things)\b"
                r"|what (should|must|do|does|can) .*\b(bring|take|pack|include|contain)\b"
                r"|\bwho (are|is (all )?(on|in|part of))\b|\bwer (sind|ist alles|gehort)\b"),
    (Kind.WHO, r"\b(who|whom|whose|wer|wem|wen|wessen)\b|which person|what is the name of"),
    (Kind.WHEN, r"^\W*(\w+ ){0,2}(when|wann)\b"
                r"|(what|which|welche[rmn]?) (dates?|days?|months?|years?|version)\b"
                r"|\bdeadline\b|\bdatum\b|\bfrist\b|by what time"),
    (Kind.NUMBER, r"\bhow (many|much|long|often|far|high|large|big|heavy|old|deep|fast|tall|wide"
                  r"|expensive|soon|quickly|frequently)\b|\bhow (?!do|does|did|can|to)\w+ "
                  r"(is|are|was|were|must|should|does|do|did|can|has|have)\b"
                  r"|\bwie ?(viel|viele|lange|oft|hoch|gross|teuer|weit|schwer|alt|tief|schnell)\b"
                  r"|what (does|do|did) .* cost|\bwas koste[nt]\b"
                  r"|what ((is|was|are) the .*)?(price|cost|budget|size|range|accuracy|weight"
                  r"|height|length|number|share|percentage|discount|voltage|capacity|rate)\b"),
    (Kind.WHERE, r"\b(where|wo|wohin|woher)\b|(which|what) (place|town|city|country|room)"),
    (Kind.HOW, r"\bhow\b|^\W*wie\b|\bwas (muss|soll)\b"),
    (Kind.ABOUT, r"\babout\W*$|^\W*(what|was) (is|are|ist|sind) |^\W*(tell me|erzahl\w*)\b"
                 r"|\bworum\b|\bwovon\b|explain|describe|beschreib|erklar"),
    (Kind.YES_NO, r"^\W*(is|are|was|were|do|does|did|can|could|may|must|should|will|has|have|am|ist"
                  r"|sind|war|hat|haben|kann|darf|durfen|konnen|muss|mussen|gibt es|wird|werden"
                  r"|soll|sollen)\b"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_BACK = re.compile(
    r"\b(it|its|they|them|their|that|those|this|these|he|him|his|she|her|there|one|ones|same"
    r"|dann|dort|dessen|deren|davon|dafur|damit|er|sie|es|ihn|ihm|seine?r?|der zweite|das)\b"
)
_OPENS_BACK = re.compile(r"^\W*(and|but|or|so|then|also|und|aber|oder|what about|how about)\b")
_WHAT_ABOUT = re.compile(r"^\W*(?:(?:and|und|but)\s+)?(?:what about|how about|was ist mit|und)\b")
_ORDINALS = {
    "first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "erste": 0,
    "zweite": 1, "dritte": 2, "vierte": 3, "letzte": -1, "1st": 0, "2nd": 1, "3rd": 2,
}  # fmt: skip
_SUM = re.compile(r"[\d(][\d\s.+*/()-]+")
_SUM_INSIDE = re.compile(r"[\d)]\s*[+*/]\s*[+*\d(-]|[\d)] - ?[\d(]")
_SUM_ASKED = re.compile(
    r"\b(what is|whats|calculate|compute|how much is|was ist|wie ?viel ist|rechne)\b"
)
_BETWEEN = re.compile(
    r"\b(?:compare|between|vergleiche|zwischen)\s+(\S.*?)\s(?:and|with|to|und|mit)\s(.+)"
    r"|^(.+)\s(?:vs\.?|versus)\s(.+)",
    re.IGNORECASE,
)
_ASKS = r"(?:who|when|where|how|what|why|which|wer|wann|wo|wie|was|warum|welche[rs]?)\b"
_PARTS = re.compile(rf"(?<=\?)\s+(?=\S)|[,;]?\s+(?:and|und)\s+(?={_ASKS})", re.IGNORECASE)
_EVERYTHING = ("project", "projekt", "vault")
"""Words that ask about all notes, where no other word is."""
_MAX_PARTS = 3
_MAX_CHARS = 2_000
_KIND_CHARS = 400
"""What is asked is seen from the beginning; a long text must not take long to look at."""
_CONTEXT_WEIGHT, _SOFT_WEIGHT = 0.35, 0.4
_DO, _BE, _AFTER = {"do", "does", "did"}, {"is", "are", "was", "were", "be"}, STOP | {""}
_AUXILIARY = _DO | _BE | {"has", "have", "had", "can", "could", "should", "must", "may", "will"}
_FACTS = (Kind.WHO, Kind.WHEN, Kind.NUMBER, Kind.WHERE)
_ALONE = (Kind.TALK, Kind.CALCULATE, Kind.TIME, Kind.NOTES, Kind.RECENT)


@dataclass(frozen=True)
class Question:
    text: str
    kind: Kind
    german: bool = False
    words: tuple[str, ...] = ()  # to look for, as they were written
    context: tuple[str, ...] = ()  # words of what was said before, that it refers to
    paths: tuple[str, ...] = ()  # notes that the answer before it cited
    sides: tuple[str, ...] = ()  # what is compared
    folded: str = field(default="", compare=False)

    @cached_property
    def weights(self) -> dict[str, float]:
        """How much each stem counts."""
        weights = {stem(fold(word)): _CONTEXT_WEIGHT for word in self.context}
        return weights | {stem(fold(word)): self._weigh(word) for word in self.words}

    @cached_property
    def names(self) -> frozenset[str]:
        """Stems of numbers, and of what is written large where not every noun is."""
        found = (w for w in self.words if w[0].isdigit() or (w[0].isupper() and not self.german))
        return frozenset(stem(fold(word)) for word in found)

    def _weigh(self, word: str) -> float:
        """Weigh a word: answers put verbs in other words, and German writes only nouns large."""
        is_noun = self.german and word[0].isupper() and not self.text.startswith(word)
        is_measure = re.search(rf"\b(how|wie) {re.escape(fold(word))}\b", self.folded)
        is_soft = self.german or is_measure or self._is_verb(word) or is_generic(stem(fold(word)))
        return _SOFT_WEIGHT if is_soft and not is_noun else 1.0

    def _is_verb(self, word: str) -> bool:
        """Return whether an English word is a verb, by where it stands: `who lends`, `did it open`,
        `are they kept`."""
        said = ["", *WORD_PATTERN.findall(self.folded), ""]
        if not word.islower() or word not in said:
            return False
        at = said.index(word)
        is_asked = said[at - 1] == "who" or (said[at - 1] == "what" and _AUXILIARY.isdisjoint(said))
        if is_asked or (word[-2:] == "ed" and not _BE.isdisjoint(said)):
            return True
        return not _DO.isdisjoint(said) and said[at - 1] not in STOP and said[at + 1] in _AFTER

    @property
    def call(self) -> tuple[str, dict[str, str]] | None:
        """The call of another tool that answers by itself."""
        calls = {
            Kind.CALCULATE: ("calculate", {"expression": _find_sum(self.text)}),
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
    parts = [part for part in parts if part][:_MAX_PARTS] or [text]
    found: list[Question] = []
    for part in parts:
        before = [*earlier, *(Exchange(q.text, "") for q in found)]
        found.append(analyse(part, before))
    return found


def analyse(text: str, earlier: Sequence[Exchange] = ()) -> Question:
    """Understand a question, with the exchanges before it if it leans on them."""
    text = " ".join(text.split())[:_MAX_CHARS]
    folded = fold(text)
    words = list_content_words(text)
    if all(fold(word) in _EVERYTHING for word in words):
        words = []
    german = is_german(folded)
    question = Question(
        text=text,
        kind=_find_kind(folded, german),
        german=german,
        words=tuple(words),
        sides=_find_sides(text),
        folded=folded,
    )
    return _resolve(question, earlier) if earlier and _leans_back(question) else question


def _find_kind(folded: str, german: bool) -> Kind:
    folded = folded[:_KIND_CHARS]
    expression = _find_sum(folded)
    if expression and (_SUM_ASKED.search(folded) or 2 * len(expression) > len(folded)):
        return Kind.CALCULATE
    found = next((kind for kind, pattern in _COMPILED if pattern.search(folded)), Kind.WHAT)
    is_what = german and found is Kind.YES_NO and folded.startswith("was ")
    return Kind.WHAT if is_what else found


def _find_sum(text: str) -> str:
    """Return the first piece of arithmetic in a text; dates and telephone numbers are none."""
    for found in _SUM.finditer(text):
        expression = found[0].rstrip(" .+*/(-")
        if _SUM_INSIDE.search(expression):
            return expression
    return ""


def _find_sides(text: str) -> tuple[str, ...]:
    match = _BETWEEN.search(text[:_KIND_CHARS].rstrip("?.! "))
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
        (n for w, n in _ORDINALS.items() if re.search(rf"\b{w}\b", question.folded)), None
    )
    words, context = question.words, (*before.words, *before.context)
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


def _list_names(quotes: Sequence[str]) -> list[str]:
    """Return names in the first thing that was quoted: what a pronoun most likely stands for."""
    first = quotes[0] if quotes else ""
    return [w for w in list_content_words(first) if w[0].isupper() and WORD_PATTERN.match(w)][:4]
