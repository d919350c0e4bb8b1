"""Whether a passage has the shape of an answer: a date for when, a name for who, and so on."""

import re
from functools import lru_cache

from agents.core.stemming import WORD_PATTERN, fold, stem, stems
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.vocabulary import SIGN_NAMES, STOP, compare_words, is_generic, is_german

Shapes = tuple[tuple[re.Pattern[str], re.Pattern[str]], ...]

_MONTH = (
    r"(?:jan(?:uary|uar)?|feb(?:ruary|ruar)?|mar(?:ch)?|marz|apr(?:il)?|may|mai|june?|juni|july?|juli"
    r"|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|okt(?:ober)?|nov(?:ember)?|dec(?:ember)?"
    r"|dez(?:ember)?)\b"
)
_NUMBER = (
    r"(?:\d|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|half|twice|once|none"
    r"|zwei|drei|vier|funf|sechs|sieben|acht|neun|zehn|elf|zwolf|halb)\b)"
)
_AMOUNT = rf"{_NUMBER}[\d.,]{{0,15}}\W{{0,3}}"  # bounded: notes may hold thousands of digits
_LENGTH = rf"{_AMOUNT}(?:[cmk]?m|\w{{0,12}}met(?:re|er)s?n?|inch(?:es)?|feet|ft|miles?)\b"
_MONEY = r"\beuros?\b|\beur\b|€|\$|£|\bdollars?\b|\bcents?\b|\busd\b|\bgbp\b"
_DEGREES = r"°|\bdegrees?\b|\bgrad\b|\d ?[cf]\b"
_DURATION = (
    rf"(?:{_NUMBER}|\b(?:an?|one|each|eine[rmn]?|several|few)\b)\W+(?:\w+\W+)?"
    r"(?:seconds|minutes?|hours?|days?|nights?|weeks?|months?|years?|sekunden?|minuten?|stunden?"
    r"|tagen?|tage?|wochen?|monate?n?|jahre?n?|\w*(?:tagen|days)|knots?|knoten)\b"
    r"|\b(?:one|1|half a) (?:second|sekunde)\b|\b[km]?m/[hs]\b|\bmph\b"
)
_DAYS = (
    r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:mon|diens|donners|frei|sams|sonn)tag"
    r"|mittwoch)s?"
)
_DAY = re.compile(_DAYS)
_TIME = re.compile(rf"(?!jan$){_MONTH}|{_DAYS}")
_DATE = (
    rf"\b\d{{1,2}}(?:st|nd|rd|th)?\.?\s+{_MONTH}|\b{_MONTH}\s+\d{{1,4}}|\b\d{{4}}-\d\d(?:-\d\d)?\b"
    rf"|\b\d{{1,2}}\.\d{{1,2}}\.\d{{2,4}}\b|\b(?:in|by|until|since|im|ab|bis|seit)\s+{_MONTH}"
    rf"|\b(?:1[5-9]|20)\d\d\b|\b{_DAYS}\b"
)
_SHAPES = {
    Kind.WHEN: (
        rf"{_DATE}|\b\d{{1,2}}(?::\d\d| uhr| o'clock)\b",
        rf"\b{_MONTH}|\b(?:spring|summer|autumn|winter"
        r"|(?<!an )(?<!a )(?<!per )(?:week|year|month|day|hour)s?|every|fruhjahr|sommer|herbst"
        r"|(?<!im )(?<!pro )(?:wochen?|jahre?n?|monate?n?)|tage?n?|stunden?|any time|jederzeit"
        r"|(?:morning|evening|night|morgen|abend|nacht)s?)\b|\bversion \d",
    ),
    Kind.WHERE: (
        r"^(?:loc|place|ort|addr|adress|city|stadt|country|where)\w*:|\b(?:next to|neben)\b",
        r"\b(?:in|at|on|near|beside|under|above|below|behind|from|to|into|im|am|an|auf|bei|nach|aus"
        r"|hinter|links|rechts)\s+(?:the\s+|der\s+|dem\s+|den\s+|das\s+)?\w",
    ),
    Kind.WHY: (
        r"\bbecause\b|\bso that\b|\bdue to\b|\btherefore\b|\breason|\bin order to\b|\bruled out\b"
        r"|\bsince\b|\bto avoid\b|\bcause|\bweil\b|\bdenn\b|, damit\b|\bwegen\b|\bdeshalb\b",
    ),
    Kind.WHO: (r"(?:^|· )(?:who|wer)\b[^·]*:",),
    Kind.NUMBER: (_NUMBER,),
}
"""What such an answer has, folded: what is sure to be it, and what may be."""
_COMPILED = {kind: [re.compile(each) for each in shapes] for kind, shapes in _SHAPES.items()}
_QUANTITIES = tuple(
    (re.compile(asked), re.compile(amount))
    for asked, amount in (
        (r"how much (more|less)|um wie ?viel", rf"\btimes\b|\btwice\b|%|{_MONEY}|\b\w+mal\b"),
        (
            r"how (often|frequently)|wie oft",
            r"\bevery\b|\beach (?:day|week|month|year|time|hour|night|quarter|visit)"
            r"|\b(?:once|twice|times) (?:an?|per|every|each)\b|\bper\b|\bpro\b"
            r"|\ba (?:day|week|month|year)\b|(?:dai|week|month|year|fortnight)ly\b|\bjede\w*"
            r"|\balle \w+ \w+|\bmonatlich|\bjahrlich|\btaglich|\b\w+mal\b",
        ),
        (
            r"^how much (?:is|are) (?:an?|the|one)\b|\bcost|\bprice|expensive|\bpaid\b|\bpay|\bearn"
            r"|\bsalary|kost|preis|teuer|gunstig|bezahl|\bzahl(?:en|t)\b|how much money|\bgeld\b"
            r"|miete|verdien|gehalt\b",
            _MONEY,
        ),
        (
            r"phone.*number|number.*phone|(?:telefon|handy|ruf|konto)nummer",
            r"\d[\d /()-]{4,}\d",
        ),
        (r"\bdiameter|durchmesser", r"\bdiameter|durchmesser|[øØ]"),
        (r"\bfrequency|\bfrequenz", r"\d ?[kmg]?hz\b"),
        (r"\bvoltage|\bspannung|\bvolts?\b", r"\d ?v(?:olts?)?\b"),
        (r"\btorque|\bdrehmoment", r"newton|\d ?nm\b"),
        (r"how much current|wie ?viel strom", r"\d ?m?a\b|amper|watt"),
        (r"\bwind\b", r"beaufort|knots?\b|knoten|km/h|m/s|mph"),
        (r"how (hot|cold|warm)|wie (heiss|kalt|warm)|temperatur", _DEGREES),
        (
            r"how heavy|\bweigh|wie schwer|\bwieg",
            rf"{_AMOUNT}(?:[km]?g|t|lbs?|oz|tons?|tonnen?|\w{{0,6}}gramm?(?:e?s|en?)?|pounds?)\b",
        ),
        (r"how long (is|are|was)|wie lang\b", rf"{_LENGTH}|{_DURATION}"),
        (r"how (long|soon|fast|quickly|old)|wie (lange|schnell|alt)", _DURATION),
        (r"how high|wie hoch", rf"{_LENGTH}|{_MONEY}|{_DEGREES}|%"),
        (
            r"how (deep|tall|wide|thick|far)|wie (tief|breit|dick|weit)\b",
            rf"(?<! by )(?<! x )(?<![\d.,]){_LENGTH}",
        ),
        (
            r"how (big|large)|wie gross|\bsize\b",
            rf"{_LENGTH}|{_AMOUNT}(?:[cmk]?m[²³2]|[kmg]b|acres?|quadratmetern?|hektar"
            r"|lit[er]{2}s?|bytes?)\b|\d by \d",
        ),
    )
)
"""What is asked for, and how the right amount looks."""
_PAST = re.compile(_DATE)
_CLOCK = re.compile(r"\d(?::\d\d| ?uhr| o'clock)\b")
_TIMES = tuple(
    (re.compile(asked), re.compile(time))
    for asked, time in (
        (
            r"\b(what|which) time\b|uhrzeit|wie ?viel uhr",
            r"\d ?(?::\d\d|uhr|o'clock|[ap]\.?m)\b|\b(noon|midnight)\b",
        ),
        (r"^\W*(when|wann) (did|was|were|wurde|war|hat)\b", _PAST),
        (r"\b(what|which|welche) (\w+ )?version\b", r"\bversion\b.{0,40}\d|\b\d+\.\d"),
        (r"\b(what|which|welche[mns]) (year|jahr)\b", r"\b(?:1[5-9]|20)\d\d\b"),
    )
)
"""Which part of a date is asked for, and how it looks."""
_LASTS = re.compile(_DURATION)
_COUNTED = re.compile(r"\b(?:how|wie) ?(many|much|viele?) (\w+)")
_NAME_WORDS, _IS = 4, {"is", "was", "called", "named", "ist", "war", "heißt"}
"""So far from a thing its name may stand, with such a word between them."""
_COUNT_WORDS, _COUNT_CHARS = 4, 80
_REASON_HEADING = re.compile(
    r"\bwhy\b|\breason|\bbackground|\bmotivation|\brationale|\bwarum\b|\bgrund|\bcontext\b"
)
_PLACE = re.compile(
    r"\b(?:in|at|on|near|to|im|am|bei|nach|aus|an der|auf der)\s+(?:the\s+|der\s+|dem\s+|den\s+)?"
    r"(?!Regel)[A-ZÄÖÜ]\w+"
)
_LARGE = r"([A-ZÄÖÜ][a-zà-ÿ]{2,}|[A-Z]\. [A-Z]\S*)\b"
_NAME = re.compile(r"(?<!\d )\b([A-ZÄÖÜ][a-zà-ÿ]+)\s+(?:[A-Z]\.\s+)?([A-ZÄÖÜ][a-zà-ÿ]+)\b")
_CAPITAL = re.compile(
    rf"[a-z,;:|)·]\s+{_LARGE}(?! (?:the|an?|to|with|of|for|from|der|die|das)\b)"
    rf"|^{_LARGE}(?=[:,]| ·|'s| (?:and|can|may|will|\w+(?:s|ed))\b)"
)
_GERMAN_CAPITAL = re.compile(
    rf"\b(?:(?:von|bei|durch)(?: de[rmn])?"
    rf"|(?!(?:mit|seit|statt|nicht|laut)\b)\w+t(?: (?:der|die|das))?) {_LARGE}"
    rf"|(?:^|[,;] )(?:(?:Der|Die|Das) )?{_LARGE}"
    r"(?=[:,]| (?!(?:i[mn]|a[mn]|auf|aus|bei|bis|für|mit|nach|von|vor|zu[mr]?)\b)[a-zäöü])"
)
"""One word that may be a name; German writes every noun large."""
_OUTCOME = re.compile(
    r"\b(?:if|unless|once|below|above|after|without|wenn|falls|sobald|unter|nach|ohne)\b"
    r"|\b(?:no|not|never|nicht|keine?n?) |\b(?:destroy|damag|breaks?\b|ruin|zerstor|beschadig)"
)
_ONE_OF = re.compile(r"(?:\w+ )?(?:which|welche[mnrs]?) (?!kind|type|sort|art)(\w+)(?<!s) ")
_GIVEN = re.compile(r"\d|[*_`\"“]|^\w+: ")


def rate_shape(passage: str, question: Question) -> float:
    """From 0 to 1: how much a text looks like what such a question asks for."""
    text, kind = fold(passage), question.kind
    shapes = _COMPILED.get(kind)
    if shapes is None:
        return 0.5
    if kind is Kind.NUMBER:
        text = _COMPILED[Kind.WHEN][0].sub("", text)  # a date is no amount
        if amount := _find_shape(_QUANTITIES, question.folded):
            return 1.0 if amount.search(text) else 0.3 if shapes[0].search(text) else 0.0
        if counted := _COUNTED.search(question.folded):
            is_mass = counted[1] in ("much", "viel") and counted[2] not in ("time", "zeit")
            text = _LASTS.sub("", text) if is_mass else text  # nor is how long something takes
            return _rate_count(text, stem(counted[2]), is_part=counted[1] not in ("much", "viel"))
    if kind is Kind.WHEN and (time := _find_shape(_TIMES, question.folded)):
        is_clock = time is _PAST and _CLOCK.search(text)  # of a day that is not told
        return 1.0 if time.search(text) else 0.6 if is_clock else 0.3
    if shapes[0].search(text) or (kind is Kind.WHERE and _PLACE.search(passage)):
        return 1.0
    if kind is Kind.WHO:
        named = question.named_thing
        return _rate_name(passage, named) if named else _rate_person(passage, question)
    return 0.5 if shapes[1:] and shapes[1].search(text) else 0.0


@lru_cache(maxsize=500)
def _find_shape(shapes: Shapes, folded: str) -> re.Pattern[str] | None:
    """Return how an answer looks that a folded question asks for."""
    return next((shape for asked, shape in shapes if asked.search(folded)), None)


def _rate_count(text: str, counted: str, *, is_part: bool) -> float:
    """Rate a number by whether it stands with what is counted: `38 members`, `members: 38`."""
    shape = _COMPILED[Kind.NUMBER][0]
    if is_generic(counted) or counted in STOP or counted in SIGN_NAMES or not shape.search(text):
        return 1.0 if shape.search(text) else 0.0
    words = WORD_PATTERN.finditer(text)
    found = [word for word in words if compare_words(counted, stem(word[0]))]
    for word in found:
        near = text[max(0, word.start() - _COUNT_CHARS) : word.start()]
        after = text[word.end() : word.end() + _COUNT_CHARS]
        before = " ".join(near.split()[-_COUNT_WORDS:])
        if shape.search(before) or re.match(r"[^·,.]*: [^·]*\d", after):
            return 1.0
    return 0.3 if found or is_part else 1.0


def names_one(question: Question, *texts: str) -> bool:
    """Return whether one of a sort that a text speaks of is named, by a name or a number, where a
    question asks which."""
    asked = _ONE_OF.match(question.folded)
    if not asked or stem(asked[1]) not in stems(" ".join(texts)):
        return True
    return any(_GIVEN.search(text) or _rate_person(text, question) for text in texts)


def tells_outcome(text: str, question: Question) -> bool:
    """Return whether a text says what follows from something, where that is asked."""
    return question.asks_outcome and bool(_OUTCOME.search(fold(text)))


def gives_reasons(heading: str) -> bool:
    return bool(_REASON_HEADING.search(fold(heading)))


def _rate_name(text: str, thing: str) -> float:
    """Rate a name by whether it stands beside the thing that is called so: `the ferry Aurora`."""
    words = WORD_PATTERN.findall(text)
    for at, word in enumerate(words):
        before, after = words[max(0, at - _NAME_WORDS) : at], words[at + 1 : at + 1 + _NAME_WORDS]
        near = (
            before if _IS.intersection(before) else before[-1:],
            after if _IS.intersection(after[:1]) else after[:1],
        )
        is_named = any(_is_name(each) for side in near for each in side)
        if is_named and compare_words(thing, stem(fold(word))):
            return 1.0
    return 0.0


def _is_name(word: str) -> bool:
    return word[0].isupper() and fold(word) not in STOP and not _TIME.fullmatch(fold(word))


def _rate_person(text: str, question: Question) -> float:
    """Rate a name that the question does not have: two words that are written large, or one."""

    def is_new(name: str) -> bool:
        word, said = fold(name), question.weights.keys() - question.leaned_on
        return not (word in STOP or stem(word) in said)

    names = [name for name in _NAME.finditer(text) if fold(name[1]) not in STOP]
    names = [name for name in names if name.start() or is_new(name[2])]  # `Open Obsidian and …`
    if any(is_new(name[1]) and not _DAY.fullmatch(fold(name[1])) for name in names):
        return 1.0
    single = _GERMAN_CAPITAL if is_german(fold(text)) else _CAPITAL
    rest = text
    for name in names:  # of a person that is asked about
        rest = rest.replace(name[0], "")
    found = (one[1] or one[2] for one in single.finditer(rest))
    return 0.7 if any(is_new(n) and not _TIME.fullmatch(fold(n)) for n in found) else 0.0
