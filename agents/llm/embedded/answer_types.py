"""Whether a passage has the shape of an answer: a date for when, a name for who, and so on."""

import re
from collections.abc import Container

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.passages import Unit
from agents.llm.embedded.question import Kind, Question

_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|marz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|dez(?:ember)?)\b"
)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,4}}|\b\d{{4}}-\d\d-\d\d\b"
    rf"|\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|\b(?:in|by|until|since|im|ab|bis|seit)\s+{_MONTH}"
)
_LOOSE_DATE = re.compile(
    rf"\b(?:19|20)\d\d\b|\b{_MONTH}|\b\d{{1,2}}:\d\d\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:spring|summer|autumn|winter|week|year|month|every|montag|dienstag|mittwoch|donnerstag"
    r"|freitag|fruhjahr|sommer|herbst|woche|jahr|monat)\b"
)
_NUMBER = re.compile(
    r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|once|none"
    r"|ein|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|halb)\b"
)
_MONEY = re.compile(r"\beuros?\b|\beur\b|€|\$|£|\bdollars?\b|\bcents?\b|\busd\b|\bgbp\b")
_SPAN = re.compile(
    r"\b(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tagen?|tage?|wochen?|monate?n?|jahre?n?|arbeitstagen?)\b"
)
_OFTEN = re.compile(
    r"\bevery\b|\beach\b|\b(?:once|twice|times) (?:an?|per|every|each)\b|\bper\b"
    r"|\ba (?:day|week|month|year)\b|ly\b|\bjede\w*|\bpro\b|\bmonatlich|\bjahrlich|\btaglich"
)
_SIZE = re.compile(r"\d\s?(?:mm|cm|m|km|metres?|meters?|inch|feet|by|kg|litres?|%)\b")
_WHY = re.compile(
    r"\bbecause\b|\bso that\b|\bdue to\b|\btherefore\b|\breason|\bin order to\b|\bruled out\b"
    r"|\bsince\b|\bto avoid\b|\bcause|\bweil\b|\bdenn\b|\bdamit\b"
    r"|\bwegen\b|\bdeshalb\b"
)
_WHY_HEADING = re.compile(
    r"\bwhy\b|\breason|\bbackground|\bmotivation|\bwarum\b|\bgrund|\bcontext\b"
)
_WHERE = re.compile(
    r"\b(?:in|at|on|near|beside|under|above|below|behind|next to|from|to|into|im|am|auf|bei|nach"
    r"|aus|neben)\s+(?:the\s+|der\s+|dem\s+|den\s+|das\s+)?\w"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|near|to|im|am|bei|nach|aus)\s+(?:the\s+)?[A-ZÄÖÜ]\w+|\bnext to\b|\broof\b"
    r"|\btower\b|\bsafe\b|\boffice\b|\bquay\b|\bfolder\b|\bLager\b"
)
_NAME = re.compile(r"\b[A-ZÄÖÜ][a-zà-ÿ]+\s+(?:[A-Z]\.\s+)?[A-ZÄÖÜ][a-zà-ÿ]+\b")
_CAPITAL = re.compile(
    r"(?:[a-z,;:|)]\s+|^|\|\s*)([A-ZÄÖÜ][a-zà-ÿ]{2,})\b"
    r"(?! (?:the|an?|to|with|of|for|from|der|die|das)\b)"
)
_NO_NAMES_TEXT = """
    the this that these those when where what who why how all each every some most none nobody no
    if it its they we he she one two three four five six there here then after before above below
    whoever anything everything since while with without and but for from not never only der die das
    ein eine es er sie wir wer wann wo wie monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december should
    does will can would could tell wait
"""
_NO_NAMES = frozenset(_NO_NAMES_TEXT.split())


def cue(unit: Unit, question: Question, common: Container[str] = ()) -> float:
    """From 0 to 1: how much a unit looks like what such a question asks for.

    `common` are words that occur in lower case: with a capital they are still no names.
    """
    text = fold(unit.text)
    match question.kind:
        case Kind.WHEN:
            return 1.0 if _DATE.search(text) else 0.5 if _LOOSE_DATE.search(text) else 0.0
        case Kind.WHO:
            return _person(unit.text, common)
        case Kind.NUMBER:
            return _quantity(text, question)
        case Kind.WHY:
            return 1.0 if _WHY.search(text) else 0.8 if reasons_below(unit.heading) else 0.0
        case Kind.WHERE:
            return 1.0 if _PLACE.search(unit.text) else 0.4 if _WHERE.search(text) else 0.0
        case Kind.HOW:
            return (
                1.0 if unit.mark[:-1].isdigit() else 0.6 if unit.kind in ("item", "code") else 0.4
            )
        case Kind.LIST:
            return 1.0 if unit.kind in ("item", "row") else 0.4
    return 0.5


def reasons_below(heading: str) -> bool:
    return bool(_WHY_HEADING.search(fold(heading)))


def _person(text: str, common: Container[str]) -> float:
    if any(_may_be_name(name.split()[0], common) for name in _NAME.findall(text)):
        return 1.0
    names = [name for name in _CAPITAL.findall(text) if _may_be_name(name, common)]
    return 0.7 if names else 0.0


def _may_be_name(word: str, common: Container[str]) -> bool:
    return fold(word) not in _NO_NAMES and fold(word) not in common


def _quantity(text: str, question: Question) -> float:
    """Score a number, and the right one: money for a cost, a span of time for how long."""
    asked = question.folded
    often = re.search(r"how often|how frequently|wie oft", asked)
    if often:
        return 1.0 if _OFTEN.search(text) else 0.1
    if not _NUMBER.search(text):
        return 0.0
    if re.search(
        r"\bcost|\bprice|expensive|\bpaid\b|\bpay|budget|kost|preis|teuer|how much money", asked
    ):
        return 1.0 if _MONEY.search(text) else 0.3
    if re.search(r"how (long|soon|quickly|old)|wie (lange|schnell|alt)", asked):
        return 1.0 if _SPAN.search(text) else 0.3
    if re.search(
        r"how (far|high|large|big|deep|tall|wide|thick|accurate)|wie (hoch|gross|weit)", asked
    ):
        return 1.0 if _SIZE.search(text) else 0.4
    return 0.6 + 0.4 * _counted(text, question)


def _counted(text: str, question: Question) -> bool:
    """Return whether a number stands close before something that was asked about."""
    words = WORD_PATTERN.findall(text)
    wanted = {stem(fold(word)) for word in question.words}
    for at, word in enumerate(words):
        near = {stem(other) for other in words[at + 1 : at + 4]}
        if near & wanted and (_NUMBER.fullmatch(word) or word[0].isdigit()):
            return True
    return False
