"""Whether a passage has the shape of an answer: a date for when, a name for who, and so on."""

import re

from agents.core.stemming import fold, stem
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.vocabulary import STOP

_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|marz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|dez(?:ember)?)\b"
)
_NUMBER = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|once|none"
    r"|ein|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|halb)\b)"
)
_SHAPES = {
    Kind.WHEN: (
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,4}}|\b\d{{4}}-\d\d(?:-\d\d)?\b"
        rf"|\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|\b(?:in|by|until|since|im|ab|bis|seit)\s+{_MONTH}"
        r"|\b\d{1,2}(?::\d\d| uhr| o'clock)\b|\b(?:1[5-9]|20)\d\d\b"
        r"|\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag"
        r"|mittwoch)s?\b",
        rf"\b{_MONTH}|\b(?:spring|summer|autumn|winter"
        r"|(?:week|year|month|day|hour)s?|every|fruhjahr|sommer|herbst|wochen?|jahre?n?|monate?n?"
        r"|tage?n?|stunden?)\b"
        r"|\bversion \d",
    ),
    Kind.WHERE: (
        r"^(?:loc|place|ort|addr|adress|city|stadt|country|where|url)\w*:|\b(?:next to|neben)\b",
        r"\b(?:in|at|on|near|beside|under|above|below|behind|from|to|into|im|am|an|auf|bei|nach|aus"
        r"|hinter|links|rechts)\s+(?:the\s+|der\s+|dem\s+|den\s+|das\s+)?\w",
    ),
    Kind.WHY: (
        r"\bbecause\b|\bso that\b|\bdue to\b|\btherefore\b|\breason|\bin order to\b|\bruled out\b"
        r"|\bsince\b|\bto avoid\b|\bcause|\bweil\b|\bdenn\b|\bdamit\b|\bwegen\b|\bdeshalb\b",
    ),
    Kind.WHO: (r"(?:^|· )(?:who|wer)\b[^·]*:",),
    Kind.NUMBER: (_NUMBER,),
}
"""What such an answer has, folded: what is sure to be it, and what may be."""
_COMPILED = {kind: [re.compile(each) for each in shapes] for kind, shapes in _SHAPES.items()}
_QUANTITIES = tuple(
    (re.compile(asked), re.compile(amount))
    for asked, amount in (
        (
            r"how (often|frequently)|wie oft",
            r"\bevery\b|\beach\b|\b(?:once|twice|times) (?:an?|per|every|each)\b|\bper\b|\bpro\b"
            r"|\ba (?:day|week|month|year)\b|(?:dai|week|month|year)ly\b|\bjede\w*|\balle \w+ \w+"
            r"|\bmonatlich|\bjahrlich|\btaglich|\b\w+mal\b",
        ),
        (
            r"\bcost|\bprice|expensive|\bpaid\b|\bpay|kost|preis|teuer|how much money|miete",
            r"\beuros?\b|\beur\b|€|\$|£|\bdollars?\b|\bcents?\b|\busd\b|\bgbp\b",
        ),
        (
            r"how (long|soon|quickly|old)|wie (lange|schnell|alt)",
            rf"(?:{_NUMBER}|\b(?:an?|one|each|eine[rmn]?|several|few)\b)\W+(?:\w+\W+)?"
            r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|sekunden?|minuten?"
            r"|stunden?|tagen?|tage?|wochen?|monate?n?|jahre?n?|\w*(?:tagen|days))\b",
        ),
        (
            r"how (big|large|deep|tall|wide|thick|far)|wie (gross|tief|breit|dick|weit)|\bsize\b",
            rf"{_NUMBER}\S*\W+(?:[cmk]?m[²³2]?|[kmg]b|acres?|\w*met(?:re|er)s?n?|hektar|lit[er]+s?"
            r"|inch(?:es)?|feet|ft|miles?|bytes?)\b|\d by \d",
        ),
    )
)
"""What is asked for, and how the right amount looks."""
_REASON_HEADING = re.compile(
    r"\bwhy\b|\breason|\bbackground|\bmotivation|\brationale|\bwarum\b|\bgrund|\bcontext\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|near|to|im|am|bei|nach|aus|an der|auf der)\s+(?:the\s+|der\s+|dem\s+|den\s+)?"
    r"(?!Regel)[A-ZÄÖÜ]\w+"
)
_NAME = re.compile(r"\b([A-ZÄÖÜ][a-zà-ÿ]+)\s+(?:[A-Z]\.\s+)?[A-ZÄÖÜ][a-zà-ÿ]+\b")
_CAPITAL = re.compile(
    r"(?:[a-z,;:|)·]\s+|^)([A-ZÄÖÜ][a-zà-ÿ]{2,}|[A-Z]\. [A-Z]\S*)\b"
    r"(?! (?:the|an?|to|with|of|for|from|der|die|das)\b)"
)


def rate_shape(passage: str, question: Question) -> float:
    """From 0 to 1: how much a text looks like what such a question asks for."""
    text, kind = fold(passage), question.kind
    shapes = _COMPILED.get(kind)
    if shapes is None:
        return 0.5
    if kind is Kind.NUMBER:
        text = _COMPILED[Kind.WHEN][0].sub("", text)  # a date is no amount
        amounts = (amount for asked, amount in _QUANTITIES if asked.search(question.folded))
        if amount := next(amounts, None):
            return 1.0 if amount.search(text) else 0.3 if shapes[0].search(text) else 0.0
    if shapes[0].search(text) or (kind is Kind.WHERE and _PLACE.search(passage)):
        return 1.0
    if kind is Kind.WHO:
        return _rate_person(passage, question)
    return 0.5 if shapes[1:] and shapes[1].search(text) else 0.0


def gives_reasons(heading: str) -> bool:
    return bool(_REASON_HEADING.search(fold(heading)))


def _rate_person(text: str, question: Question) -> float:
    """Rate a name that the question does not have: two words that are written large, or one."""

    def is_new(name: str) -> bool:
        return fold(name) not in STOP and stem(fold(name)) not in question.weights

    if any(map(is_new, _NAME.findall(text))):
        return 1.0
    return 0.7 if any(map(is_new, _CAPITAL.findall(text))) else 0.0
