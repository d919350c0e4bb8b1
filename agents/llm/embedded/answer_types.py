"""Whether a passage has the shape of an answer: a date for when, a name for who, and so on."""

import re
from collections.abc import Container

from agents.core.stemming import fold
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.vocabulary import STOP

_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|marz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|dez(?:ember)?)\b"
)
_DATE = re.compile(
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,4}}|\b\d{{4}}-\d\d\b"
    rf"|\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|\b(?:in|by|until|since|im|ab|bis|seit)\s+{_MONTH}"
)
_LOOSE_DATE = re.compile(
    rf"\b(?:19|20)\d\d\b|\b{_MONTH}|\b\d{{1,2}}:\d\d\b|\b(?:mon|tues|wednes|thurs|fri|satur|sun)day"
    r"|\b(?:spring|summer|autumn|winter|week|year|month|every|montag|dienstag|mittwoch|donnerstag"
    r"|version \d|freitag|samstag|sonntag|fruhjahr|sommer|herbst|woche|jahr|monat)\b"
)
_NUMBER = re.compile(
    r"\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|once|none"
    r"|ein|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|halb)\b"
)
_SPAN = re.compile(
    rf"(?:{_NUMBER.pattern}|\b(?:an?|one|each|eine[rmn]?|several|few)\b)\W+(?:\w+\W+)?"
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tagen?|tage?|wochen?|monate?n?|jahre?n?|\w*(?:tagen|days))\b"
)
_OFTEN = re.compile(
    r"\bevery\b|\beach\b|\b(?:once|twice|times) (?:an?|per|every|each)\b|\bper\b"
    r"|\ba (?:day|week|month|year)\b|(?:dai|week|month|year)ly\b|\bjede\w*|\bpro\b|\balle \w+ \w+"
    r"|\bmonatlich|\bjahrlich|\btaglich"
)
_MONEY = re.compile(r"\beuros?\b|\beur\b|€|\$|£|\bdollars?\b|\bcents?\b|\busd\b|\bgbp\b")
_QUANTITIES = (
    (r"how (often|frequently)|wie oft", _OFTEN),
    (r"\bcost|\bprice|expensive|\bpaid\b|\bpay|kost|preis|teuer|how much money|miete", _MONEY),
    (r"how (long|soon|quickly|old)|wie (lange|schnell|alt)", _SPAN),
)
"""What is asked for, and how the right amount looks."""
_REASON = re.compile(
    r"\bbecause\b|\bso that\b|\bdue to\b|\btherefore\b|\breason|\bin order to\b|\bruled out\b"
    r"|\bsince\b|\bto avoid\b|\bcause|\bweil\b|\bdenn\b|\bdamit\b|\bwegen\b|\bdeshalb\b"
)
_REASON_HEADING = re.compile(
    r"\bwhy\b|\breason|\bbackground|\bmotivation|\brationale|\bwarum\b|\bgrund|\bcontext\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|near|to|im|am|bei|nach|aus|an der|auf der)\s+(?:the\s+|der\s+|dem\s+|den\s+)?"
    r"(?!Regel)[A-ZÄÖÜ]\w+|\bnext to\b|\bneben\b"
)
_LOOSE_PLACE = re.compile(
    r"\b(?:in|at|on|near|beside|under|above|below|behind|from|to|into|im|am|auf|bei|nach|aus"
    r"|hinter|links|rechts)\s+(?:the\s+|der\s+|dem\s+|den\s+|das\s+)?\w"
)
_PLACE_KEY = re.compile(r"(?:loc|place|ort|address|adresse|city|stadt|country|where|url)\w*:")
_PERSON_KEY = re.compile(r"(?:^|· )(?:who|wer)\b[^·]*:")
_NAME = re.compile(r"\b[A-ZÄÖÜ][a-zà-ÿ]+\s+(?:[A-Z]\.\s+)?[A-ZÄÖÜ][a-zà-ÿ]+\b")
_GERMAN_SUBJECT = re.compile(r"[A-ZÄÖÜ][a-zà-ÿ]+ [a-zäöü]+t?e? |[A-Z][a-zà-ÿ]+:")
_CAPITAL = re.compile(
    r"(?:[a-z,;:|)·]\s+|^)([A-ZÄÖÜ][a-zà-ÿ]{2,}|[A-Z]\. [A-Z]\S*)\b"
    r"(?! (?:the|an?|to|with|of|for|from|der|die|das)\b)"
)


def rate_shape(passage: Passage, question: Question, common: Container[str] = ()) -> float:
    """From 0 to 1: how much a passage looks like what such a question asks for.

    `common` are words that occur in lower case: with a capital they are still no names.
    """
    text = fold(passage.text)
    match question.kind:
        case Kind.WHEN:
            return 1.0 if _DATE.search(text) else 0.5 if _LOOSE_DATE.search(text) else 0.0
        case Kind.WHO:
            is_named = _PERSON_KEY.search(text)
            return 1.0 if is_named else _rate_person(passage.text, common, question.german)
        case Kind.NUMBER:
            return _rate_quantity(text, question)
        case Kind.WHY:
            return 1.0 if _REASON.search(text) else 0.0
        case Kind.WHERE:
            is_place = _PLACE.search(passage.text) or _PLACE_KEY.match(text)
            return 1.0 if is_place else 0.5 if _LOOSE_PLACE.search(text) else 0.0
    return 0.5


def gives_reasons(heading: str) -> bool:
    return bool(_REASON_HEADING.search(fold(heading)))


def _rate_person(text: str, common: Container[str], german: bool) -> float:
    """Rate a name; German writes all nouns large, so there one needs more signs of a name."""
    if any(_may_be_name(name.split()[0], common) for name in _NAME.findall(text)):
        return 1.0
    names = [name for name in _CAPITAL.findall(text) if _may_be_name(name, common)]
    opens = german and _GERMAN_SUBJECT.match(text)
    return 0.7 if names and (opens or not german) else 0.4 if names else 0.0


def _may_be_name(word: str, common: Container[str]) -> bool:
    folded = fold(word)
    return folded not in STOP and folded not in common


def _rate_quantity(text: str, question: Question) -> float:
    """Rate a number, and the right one: money for a cost, a span of time for how long."""
    for asked, amount in _QUANTITIES:
        if re.search(asked, question.folded):
            if amount.search(text):
                return 1.0
            return 0.3 if _NUMBER.search(text) else 0.0
    return 1.0 if _NUMBER.search(text) else 0.0
