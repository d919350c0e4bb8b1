"""A message as questions: the kind and the words of each, and what it leans on in what was said."""

import re
from collections.abc import Sequence
from dataclasses import replace

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.question import AND_IF, THREAD_ASKED, Question
from agents.llm.embedded.question_kinds import (
    KIND_CHARS,
    Kind,
    drop_containers,
    find_kind,
    names_folder,
    strip_manner,
)
from agents.llm.embedded.request import Exchange, list_cited, list_quotes
from agents.llm.embedded.vocabulary import is_german, list_content_words

_BACK = re.compile(
    r"\b(it|its|they|them|their|that|those|this|these|he|him|his|she|her|there|one|ones|same"
    r"|dann|dort|dessen|deren|davon|dafur|damit|er|sie|es|ihn|ihm|seine?r?|der zweite|das)\b"
)
_PERSON = re.compile(r"\b(he|him|his|she|her|they|them|their)\b")
_OPENS_BACK = re.compile(r"^\W*(and|but|or|so|then|also|und|aber|oder|what about|how about)\b")
_WHAT_ABOUT = re.compile(
    r"^\W*(?:(?:and|und|but)\s+)?(?:what about|how about|was ist mit|und(?! (?:w[aeio]\w+)))\b"
    r"|^\W*(?:and|but|und) (?:if|when|wenn|falls)\b"
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
    r"|^(.+)\s(?:vs\.?|versus)\s(.+)"
    r"|^(?:what (?:does|is|are) )?(.+?)\scompared (?:with|to)\s(.+)",
    re.IGNORECASE,
)
_COMPARED = re.compile(r"\s(?:compared?|differ|mean)\b(?: in .*)?$", re.IGNORECASE)
_ASKS = r"(?:who|when|where|how|what|why|which|wer|wann|wo|wie|was|warum|welche[rs]?)\b"
_IN = r"(?:(?:in|on|at|by|for|from|since|until|im|am|bis|seit|von) )?"
_PARTS = re.compile(rf"(?<=\?)\s+(?=\S)|[,;]?\s+(?:and|und)\s+(?={_IN}{_ASKS})", re.IGNORECASE)
_EVERYTHING = ("project", "projekt", "vault")
"""Words that ask about all notes, where no other word is."""
_MAX_PARTS, _MAX_WORDS = 3, 40
_MAX_CHARS = 2_000
_CONTRACTED = re.compile(r"\b(who|what|when|where|why|how)['\u2019]s\b", re.IGNORECASE)
_REQUEST = re.compile(
    r"(?:and |und |also )?(?:wh\w+|how|list|name|summ?\w*|compare|explain|describe|tell|give|show"
    r"|find|w[aeio]\w+|nenne|liste|fass\w*|vergleich\w*|erklar\w*)\b",
    re.IGNORECASE,
)


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
    if THREAD_ASKED.search(folded[:KIND_CHARS]):
        words = [word for word in words if fold(word) != "thread"] or words
    if kind is Kind.NOTES and words and not names_folder(folded):
        kind = Kind.LIST
    if words and all(fold(word) in _EVERYTHING for word in words):
        words, kind = [], Kind.ABOUT if kind is Kind.WHAT else kind
    question = Question(
        text=text,
        kind=kind,
        german=german,
        words=tuple(words[:_MAX_WORDS]),
        sides=_find_sides(text),
        folded=folded,
    )
    return _resolve(question, earlier) if earlier and (leans or _leans_back(question)) else question


def _find_sides(text: str) -> tuple[str, ...]:
    match = _BETWEEN.search(text[:KIND_CHARS].rstrip("?.! "))
    found = (side.partition(":")[0].strip() for side in match.groups() if side) if match else ()
    return tuple(_COMPARED.sub("", side) for side in found)


def _leans_back(question: Question) -> bool:
    """Return whether it can only be understood with what was said before."""
    if question.stands_alone:
        return False
    if not question.words:
        return not re.search(r"\b(project|projekt)", question.folded)
    has_name = not question.german and any(w[0].isupper() for w in question.words[1:])
    few = len(question.words) <= 3 and not has_name
    opens = bool(_OPENS_BACK.search(question.folded)) and len(question.words) <= 2
    opens = opens or bool(AND_IF.match(question.folded))
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
