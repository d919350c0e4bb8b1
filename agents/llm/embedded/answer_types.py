"""Whether a passage has the shape of an answer: a date for when, a name for who, and so on."""

import re
from functools import lru_cache

from agents.core.stemming import WORD_PATTERN, fold, stem
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.vocabulary import STOP, compare_words, is_generic, is_german

_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|marz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|dez(?:ember)?)\b"
)
_NUMBER = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|once|none"
    r"|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|halb)\b)"
)
_LENGTH = rf"{_NUMBER}[\d.,]*\W*(?:[cmk]?m|\w*met(?:re|er)s?n?|inch(?:es)?|feet|ft|miles?)\b"
_MONEY = r"\beuros?\b|\beur\b|€|\$|£|\bdollars?\b|\bcents?\b|\busd\b|\bgbp\b"
_DURATION = (
    rf"(?:{_NUMBER}|\b(?:an?|one|each|eine[rmn]?|several|few)\b)\W+(?:\w+\W+)?"
    r"(?:seconds?|minutes?|hours?|days?|nights?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tagen?|tage?|wochen?|monate?n?|jahre?n?|\w*(?:tagen|days)|knots?|knoten)\b"
    r"|\b[km]?m/[hs]\b|\bmph\b"
)
_DAYS = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag"
    r"|mittwoch)s?"
)
_TIME = re.compile(rf"{_MONTH}|{_DAYS}")
_SHAPES = {
    Kind.WHEN: (
        rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,4}}|\b\d{{4}}-\d\d(?:-\d\d)?\b"
        rf"|\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|\b(?:in|by|until|since|im|ab|bis|seit)\s+{_MONTH}"
        rf"|\b\d{{1,2}}(?::\d\d| uhr| o'clock)\b|\b(?:1[5-9]|20)\d\d\b|\b{_DAYS}\b",
        rf"\b{_MONTH}|\b(?:spring|summer|autumn|winter"
        r"|(?:week|year|month|day|hour)s?|every|fruhjahr|sommer|herbst|wochen?|jahre?n?|monate?n?"
        r"|tage?n?|stunden?|any time|jederzeit|(?:morning|evening|night|morgen|abend|nacht)s?)\b"
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
            r"\bcost|\bprice|expensive|\bpaid\b|\bpay|\bearn|\bsalary|kost|preis|teuer|zahl(?:en|t)\b"
            r"|how much money|\bgeld\b|miete|verdien|gehalt\b",
            _MONEY,
        ),
        (
            r"phone.*number|number.*phone|(?:telefon|handy|ruf)nummer",
            r"\d[\d /()-]{4,}\d",
        ),
        (r"how (hot|cold|warm)|wie (heiss|kalt|warm)", r"°|\bdegrees?\b|\bgrad\b|\d ?[cf]\b"),
        (
            r"how heavy|\bweigh|wie schwer|\bwieg",
            rf"{_NUMBER}[\d.,]*\W*(?:[km]?g|t|lbs?|oz|tons?|tonnen?|\w*gram\w*|pounds?)\b",
        ),
        (r"how long (is|are|was)|wie lang\b", rf"{_LENGTH}|{_DURATION}"),
        (r"how (long|soon|fast|quickly|old)|wie (lange|schnell|alt)", _DURATION),
        (r"how high|wie hoch", rf"{_LENGTH}|{_MONEY}|%"),
        (
            r"how (deep|tall|wide|thick|far)|wie (tief|breit|dick|weit)\b",
            rf"(?<! by )(?<! x )(?<![\d.,]){_LENGTH}",
        ),
        (
            r"how (big|large)|wie gross|\bsize\b",
            rf"{_LENGTH}|{_NUMBER}\S*\W+(?:[cmk]?m[²³2]|[kmg]b|acres?|\w*quadratmeter\w*|hektar"
            r"|lit[er]+s?|bytes?)\b|\d by \d",
        ),
    )
)
"""What is asked for, and how the right amount looks."""
_COUNTED = re.compile(r"\b(?:how (many|much)|wie ?viele?) (\w+)")
_COUNT_WORDS = 4
_REASON_HEADING = re.compile(
    r"\bwhy\b|\breason|\bbackground|\bmotivation|\brationale|\bwarum\b|\bgrund|\bcontext\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|near|to|im|am|bei|nach|aus|an der|auf der)\s+(?:the\s+|der\s+|dem\s+|den\s+)?"
    r"(?!Regel)[A-ZÄÖÜ]\w+"
)
_LARGE = r"([A-ZÄÖÜ][a-zà-ÿ]{2,}|[A-Z]\. [A-Z]\S*)\b"
_NAME = re.compile(r"(?<!\d )\b([A-ZÄÖÜ][a-zà-ÿ]+)\s+(?:[A-Z]\.\s+)?[A-ZÄÖÜ][a-zà-ÿ]+\b")
_CAPITAL = re.compile(
    rf"[a-z,;:|)·]\s+{_LARGE}(?! (?:the|an?|to|with|of|for|from|der|die|das)\b)"
    rf"|^{_LARGE}(?=[:,]| ·|'s| (?:and|can|may|will|\w+(?:s|ed))\b)"
)
_GERMAN_CAPITAL = re.compile(
    rf"\b(?:(?:von|bei|durch)(?: de[rmn])?|\w+t(?: (?:der|die|das))?) {_LARGE}"
    rf"|(?:^|[,;] )(?:(?:Der|Die|Das) )?{_LARGE}"
    r"(?=[:,]| (?!(?:i[mn]|a[mn]|auf|aus|bei|bis|für|mit|nach|von|vor|zu[mr]?)\b)[a-zäöü])"
)
"""One word that may be a name; German writes every noun large."""


_ONE_OF = re.compile(r"(?:\w+ )?(?:which|welche[mnrs]?) \w+(?<!s) ")
_GIVEN = re.compile(r"\d|[*_`\"“]|^\w+: ")


def rate_shape(passage: str, question: Question) -> float:
    """From 0 to 1: how much a text looks like what such a question asks for."""
    text, kind = fold(passage), question.kind
    shapes = _COMPILED.get(kind)
    if shapes is None:
        return 0.5
    if kind is Kind.NUMBER:
        text = _COMPILED[Kind.WHEN][0].sub("", text)  # a date is no amount
        if amount := _find_amount(question.folded):
            return 1.0 if amount.search(text) else 0.3 if shapes[0].search(text) else 0.0
        if counted := _COUNTED.search(question.folded):
            return _rate_count(text, stem(counted[2]), is_part=counted[1] != "much")
    if shapes[0].search(text) or (kind is Kind.WHERE and _PLACE.search(passage)):
        return 1.0
    if kind is Kind.WHO:
        return _rate_person(passage, question)
    return 0.5 if shapes[1:] and shapes[1].search(text) else 0.0


@lru_cache(maxsize=500)
def _find_amount(folded: str) -> re.Pattern[str] | None:
    """Return how an amount looks that a folded question asks for."""
    return next((amount for asked, amount in _QUANTITIES if asked.search(folded)), None)


def _rate_count(text: str, counted: str, *, is_part: bool) -> float:
    """Rate a number by whether it stands with what is counted: `38 members`, `members: 38`."""
    shape = _COMPILED[Kind.NUMBER][0]
    if is_generic(counted) or counted in STOP or not shape.search(text):
        return 1.0 if shape.search(text) else 0.0
    words = WORD_PATTERN.finditer(text)
    found = [word for word in words if compare_words(counted, stem(word[0]))]
    for word in found:
        before = text[: word.start()].split()[-_COUNT_WORDS:]
        if shape.search(" ".join(before)) or re.match(r"[^·,.]*: [^·]*\d", text[word.end() :]):
            return 1.0
    return 0.3 if found or is_part else 1.0


def names_one(question: Question, *texts: str) -> bool:
    """Return whether one of a sort is named, by a name or a number, where a question asks which."""
    if not _ONE_OF.match(question.folded):
        return True
    return any(_GIVEN.search(text) or _rate_person(text, question) for text in texts)


def gives_reasons(heading: str) -> bool:
    return bool(_REASON_HEADING.search(fold(heading)))


def _rate_person(text: str, question: Question) -> float:
    """Rate a name that the question does not have: two words that are written large, or one."""

    def is_new(name: str) -> bool:
        word, said = fold(name), question.weights.keys() - question.leaned_on
        return not (word in STOP or stem(word) in said or _TIME.fullmatch(word))

    if any(map(is_new, _NAME.findall(text))):
        return 1.0
    single = _GERMAN_CAPITAL if is_german(fold(text)) else _CAPITAL
    rest = _NAME.sub("", text)  # of a person that is asked about
    return 0.7 if any(is_new(found[1] or found[2]) for found in single.finditer(rest)) else 0.0
