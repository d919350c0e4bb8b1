"""Words in English and German: those that carry nothing, and which forms of a word are one."""

import math
import re
from collections.abc import Iterable
from functools import lru_cache

from agents.core.stemming import ENGLISH_STOP_WORDS, GERMAN_STOP_WORDS, WORD_PATTERN, fold, stem

_ASKING = """
actually all also anything being doing done else ever even exactly find get gets give given go goes
going got having he her here him his however itself just kind know let like list look many may
might mine more most much must need needs now off ok one ones other out over only say says she show
some somebody someone something still such thing things too up use used using very way whats while
without yes yet summarise summarize summary overview compare explain describe defined definition
implemented implementation declared mention mentioned note notes mean means meant call called want
happen happens happened long often far high old big large instead rather currently today usually
really anybody anyone nobody everybody everyone anywhere lately latest recent recently until during
within since via onto according wants wanted once nearly ways besides
"""
_GERMAN_ASKING = """
allem allen aller alles also beim bitte da dann darf dein denn dessen diesem diesen dieser dieses
doch du durfen eines er etwas euch euer gab ganz gegen gehen geht geworden hab habe hatte hier hoch
ihm ihn ihr ihre ja jede jeder jetzt kein keine keinen konnen lange mehr mein mich muss mussen nein
nun nur ob oft ohne sagt schon sein seine soll sollen unsere viel viele vom war waren wegen welchem
welchen wem wen werden weshalb wieviel wir woher wohin worum wozu wurde wurden bekommt braucht seit
definiert implementiert danke hallo moin tun tut passiert zeige zwischen fasse zusammen erwahnt
steht notiz notizen handelt mal eigentlich gerade richtig genau derzeit etwa ums ans aufs furs ins
damals laut wofur wogegen ende einmal jemand lasst lassen
eigene eigenen eigener eigenes gibts
"""
_ENGLISH_STOP = ENGLISH_STOP_WORDS | frozenset(_ASKING.split())
_GERMAN_STOP = GERMAN_STOP_WORDS | frozenset(_GERMAN_ASKING.split())
STOP = _ENGLISH_STOP | _GERMAN_STOP
"""Words that carry nothing, in a question even more of them than in a search."""

_SOFT_TEXT = """
pick work com cam set dauert kommt mach exist project projekt new current locat lie liegt type sort
put ask due talk discuss record anfang ende sprach spricht ahead time zeit step schritt plac statt
find findet whoev wait peopl person leut day date nam lady man woman guy frau mann nochmal try tried
allow erlaubt help helps looks computer laptop option options technology technologies method methods
about above across after again against along already although always among apart around away back
before behind below beside between beyond both down each either enough every few near never
per several soon though through together toward towards under upon whether
take took taken make made go went gone give gave given get got keep kept hold held run ran last
"""
_CHARGE = "own owner owns responsible"
_SAME = (
    "cost costs price prices pay pays paid euro euros zahlen bezahlt kosten kostet preis preise"
    " teuer teurer",
    f"{_CHARGE} lead leader runs verantwortlich zustandig leitet leitung kummert",
    "kummert pflegt gepflegt versorgt betreut",
    "replace replaces cover covers fill fills stand stands substitute vertritt vertretung",
    "replace replaced exchange exchanged swap swapped",
    "decide decided decision decisions chose choose chosen entschieden entscheidung beschluss"
    " beschlossen beschlusse",
    "write wrote written author autor schrieb geschrieben verfasser",
    "start starts begin began begins launch set beginn anfang gegrundet founded",
    "end ends finish finished ende",
    "last lasts lasting dauert reicht",
    "reject rejected decline declined alternative alternatives abgelehnt verworfen alternativen",
    "bring take carry pack mitbringen mitnehmen",
    "take took taken", "give gave given", "send sent", "make made", "go went gone", "build built",
    "find found", "say said", "tell told", "hold held", "lose lost", "leave left", "get got",
    "keep kept store stored stores save saved speichert gespeichert aufbewahrt",
    "large size big groesse grosse gross", "include includes contain contains enthalt",
    "introduce introduced eingefuhrt",
    "meet met", "buy bought", "run ran", "speak spoke spoken",
)  # fmt: skip
"""Words of any subject that questions and notes put in different forms."""
IN_CHARGE = frozenset(map(stem, _CHARGE.split()))
LIGHT = frozenset(map(stem, _SOFT_TEXT.split()))
_SOFT = LIGHT | frozenset(map(stem, " ".join(_SAME).split()))
"""Stems that many questions have and few answers repeat, those first that tell nothing."""

_PROPERTIES = (
    "cast actor actors actress star stars plays acted acts", "url website link homepage site",
    "maker manufacturer company developer producer publisher hersteller", "system console platform",
    "published appeared released", "artist musician band singer recorded performed",
    "author writer wrote", "servings serve serves",
    "loc location place located", "org organisation organization company employer",
)  # fmt: skip
"""Names of properties, with what questions call them."""
_ALIKE = (
    "task tasks job jobs todo todos aufgabe aufgaben", "problem problems wrong trouble fault",
    "open offen offene ungeklart unresolved unanswered unclear undecided unknown unsettled",
    "quiet silent stumm", "low below",
    "sign countersign cosign signature unterschrift",
    "rehearsal practice practise drill exercise ubung probe", "fall fell fallen",
    "gemeinsam gemeinschaft", "install setup", "before first",
    "buy bought purchase purchases spend spent",
    "holiday holidays vacation away urlaub", "missing absent fehlte",
    "judge assess evaluate beurteilen", "durable durability last lasts lasting",
    "reply answer react respond antwort reagiert", "tool tools equipment",
    "sorry apologize apologise apology", "thousand tausend 1,000 1.000 1000",
)  # fmt: skip
"""Words for one thing, that tell what is asked."""
_TRANSLATED = """
money = geld finanzen; invoice bill = rechnung; contract = vertrag; lease = pacht pachtvertrag;
rent = miete; insurance = versicherung; price = preis; discount = rabatt; fee = beitrag; donation =
spende; tax = steuer; order = bestellung; offer = angebot; supplier = lieferant; customer = kunde;
deliver delivery delivered delivering = lieferung geliefert; shipping = versand; warranty guarantee
= garantie; damage = schaden; broken defective = defekt; repair = reparatur repariert; spare
replacement = ersatz; part = teil; tool = werkzeug; cable = kabel; head = kopf; key = schlüssel;
lock = schloss; meeting = versammlung sitzung treffen; conversation call = gespräch telefonat
anruf; minutes = protokoll; report = bericht; question = frage; answer = antwort; reason = grund
gründe; rule = regel; task = aufgabe; member = mitglied; board = vorstand; chair chairman =
vorsitz; treasurer = kasse kassenwart; neighbour = nachbar; phone = telefon; city town = stadt;
street = strasse; house = haus; garden = garten; harbour = hafen; travel trip journey = reise; year
= jahr; month = monat; week = woche; spring = frühling; summer = sommer; autumn = herbst; lightning
= blitz blitzschlag; storm = sturm; snow = schnee; rain = regen; first = erste; second = zweite;
third = dritte; fourth = vierte
"""
"""Everyday words that questions and notes may have in the other language."""
REFERS = re.compile(
    r"^(?:It|Its|This|They|Their|These|Those|That|He|She|His|Her|Such|Both|Therefore|However"
    r"|Es|Sie|Er|Dies\w*|Deshalb|Otherwise|Then|Also)\b"
    r"|\b(?:above|below|after|before|beyond|over) that\b"
)
REFERS_BACK = re.compile(r"\b(?:it|them|they|he|she|her|him|es|sie|er|ihn|ihm)\b", re.IGNORECASE)
"""Words that stand for what was said before, at the beginning of a sentence and anywhere."""
_SIGN = re.compile(r"[°%€$]|\b\d{4}-(?:0[1-9]|1[0-2])\b")
_SIGNS = {
    "°": "degrees grad temperature cold warm kalt", "%": "percent prozent", "€": "euro euros",
    "$": "dollar dollars",
    "-01": "january januar", "-02": "february februar", "-03": "march marz", "-04": "april",
    "-05": "may mai", "-06": "june juni", "-07": "july juli", "-08": "august", "-09": "september",
    "-10": "october oktober", "-11": "november", "-12": "december dezember",
}  # fmt: skip
SIGN_NAMES = frozenset(stem(name) for sign in "°%€$" for name in _SIGNS[sign].split())
_MIN_SHARED, _SHARED_SHARE, _DERIVED_SHARE = 5, 0.6, 0.8
_CONTRACTION = re.compile(r"(?:n['\u2019]t|['\u2019](?:s|re|ve|ll|d|m))$")
_PREFIXES = ("ge", "an", "auf", "aus", "ein", "ab", "zu", "um", "vor", "mit", "nach", "her", "hin")
_MIN_BASE, _LONG_BASE, _MIN_HEAD, _MIN_REST = 4, 8, 5, 4
_DERIVED = frozenset(("atur", "ment", "ation", "or", "ung", "lich", "ness", "ship", "schaft"))
_SUFFIXES = (
    "ation", "ition", "ment", "ness", "ship", "ology", "able", "ical", "ung", "keit", "heit",
    "chaft", "lich", "isch",
)  # fmt: skip
_ENDINGS = frozenset(("en", "e", "er", "es", "em", "n", "s", "t", "te", "ten", "et"))


def is_german(text: str) -> bool:
    """Return whether a folded text has more German than English function words."""
    words = WORD_PATTERN.findall(text)
    german = sum(word in _GERMAN_STOP for word in words)
    return german > sum(word in _ENGLISH_STOP for word in words)


def list_content_words(text: str) -> list[str]:
    """Return the words of a text that carry it, as they are written, once each."""
    found: dict[str, str] = {}
    for match in WORD_PATTERN.finditer(text):
        folded = _CONTRACTION.sub("", fold(match[0]))
        joined = "-" in (text[match.start() - 1 : match.start()], text[match.end() :][:1])
        if (joined or folded not in STOP) and (len(folded) > 1 or folded.isdigit()):
            found.setdefault(stem(folded), match[0])
    return list(found.values())


def name_signs(text: str) -> str:
    """Return a text with the names behind it of its signs, and of the months that are numbers."""
    found = _SIGN.findall(text)
    return " ".join([text, *(_SIGNS[sign[-3:]] for sign in found)]) if found else text


_GROUPS: dict[str, dict[str, str]] = {}
"""For each stem the stems of its lines, with a word that has it."""
_TRANSLATIONS: dict[str, list[str]] = {}
"""For each stem the words of the other language."""
for _line in (*_SAME, *_PROPERTIES, *_ALIKE, *_TRANSLATED.replace("=", "").split(";")):
    _words = {stem(fold(word)): fold(word) for word in reversed(_line.split())}
    _words = {each: word for each, word in _words.items() if each not in STOP}
    for _own in _words:
        _GROUPS.setdefault(_own, {}).update(reversed(_words.items()))
for _line in _TRANSLATED.split(";"):
    _english, _german = (fold(side).split() for side in _line.split("="))
    _TRANSLATIONS |= {stem(word): _german for word in _english}
    _TRANSLATIONS |= {stem(word): _english for word in _german}


def is_generic(word: str) -> bool:
    """Return whether a stem is of no subject: answers often say it in another way."""
    return word in _SOFT


def list_synonyms(words: Iterable[str]) -> list[str]:
    """Return written words that may stand for these ones in a note."""
    own = [stem(fold(word)) for word in words]
    found = {form: word for each in own for form, word in _GROUPS.get(each, {}).items()}
    return [word for form, word in found.items() if form not in own]


def translate(words: Iterable[str]) -> list[str]:
    """Return these words in the other language, as far as they are known."""
    return [word for own in words for word in _TRANSLATIONS.get(stem(fold(own)), ())]


@lru_cache(maxsize=20_000)
def compare_words(asked: str, other: str) -> float:
    """Say how much a stem of a note stands for one of a question, from 0 to 1."""
    if asked == other:
        return 1.0
    if len(other) < 3:
        return 0.0
    group = _GROUPS.get(asked, {})
    if other in group:
        return 0.8
    if any(len(each) >= _LONG_BASE and other.startswith(each) for each in group):
        return 0.6
    translated = map(stem, _TRANSLATIONS.get(asked, ()))
    if any(len(each) >= _MIN_BASE and other.endswith(each) for each in translated):  # `radarkopf`
        return 0.6
    short, long = sorted((asked, other), key=len)
    if short in _strip_marks(long):
        return 0.9
    if short not in long:
        head = max(_MIN_SHARED, math.ceil(_DERIVED_SHARE * len(short)))  # `silence`, `silent`
        return 0.6 if len(short) >= head and long.startswith(short[:head]) else 0.0
    rest = len(long) - len(short)
    if len(short) >= 3 and long.startswith(short) and long[-rest:] in _ENDINGS:
        return 0.9
    if len(short) >= _MIN_BASE and long.startswith(short) and long[-rest:] in _DERIVED:
        return 0.8
    if not short.isalpha() or len(short) + (rest > 4) < _MIN_SHARED:
        return 0.0
    is_base = long.endswith(short) and rest > 2  # of a compound: `garten` of `lindengarten`
    if is_base or (long.startswith(short) and len(short) >= _MIN_SHARED):
        return 0.8 if len(short) >= _SHARED_SHARE * len(long) else 0.6
    return 0.0


def share_head(one: str, other: str) -> bool:
    """Return whether two compounds end with the same noun: `orangenschalen`, `zitrusschalen`."""
    head = one[-_MIN_HEAD:]
    is_same = other.endswith(head) and not head.endswith(_SUFFIXES)
    return is_same and min(len(one), len(other)) >= _MIN_HEAD + _MIN_REST


@lru_cache(maxsize=20_000)
def _strip_marks(word: str) -> tuple[str, ...]:
    """Return what a German verb may be without its marks: `gebohrt` is `bohr`, `anleg` is `leg`."""
    bare = [word[len(prefix) :] for prefix in _PREFIXES if word.startswith(prefix)]
    bare += [p + word[len(p) + 2 :] for p in _PREFIXES if word.startswith(f"{p}ge")]
    bare += [each[:-1] for each in bare if each.endswith("t")]
    bare += [each[:-1] for each in bare if each[-2:-1] == each[-1:]]  # `gestimmt`, `stim`
    return tuple(each for each in bare if len(each) >= 3)
