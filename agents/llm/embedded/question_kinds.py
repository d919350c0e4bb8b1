"""Which kind of answer a question wants, seen from how it is put."""

import re
from collections.abc import Sequence
from enum import Enum
from functools import lru_cache

from agents.core.stemming import fold

Kind = Enum(
    "Kind",
    "TALK CALCULATE TIME NOTES RECENT CODE MENTION SUMMARY COMPARE LIST WHY WHO WHEN NUMBER WHERE"
    " HOW ABOUT YES_NO WHAT",
)
"""What sort of answer a question wants."""

_QUANTITY = (
    r"(?:temp(?:eratur\w*)?|frequency|speed|torque|pressure|angle|diameter|wind|dose|volume)\b"
)

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
                   r"|contain|talk|refer|discuss|describ)\w* \w|\bwo steht\b"
                   r"|\bwo (wird|ist)\b.*\b(erwahn|steh|beschrieb|notier|uber|etwas)"
                   r"|welche notizen.*(erwahn|uber|zu)\b|mentions of"),
    (Kind.NOTES, r"\b(list|show|which|what|all|how many)( \w+){0,2} (notes|files|documents)\b"
                 r"|welche notizen|alle notizen|liste.*notizen"),
    (Kind.SUMMARY, r"what (did (we|they|i|.* (talk|speak))|happened|came|(was|were)( \w+)? (said"
                   r"|discussed|decided|agreed|talked))\b.*\b(meeting|call|conversation)\b"
                   r"|summar[iy]|\bsum(med)? (\w+ )?up\b|\brecap|\boverview of\b|tl;?dr|\bgist\b"
                   r"|\b(key|main) (points|ideas|facts)|\btakeaways\b|zusammen(fass|gefasst)"
                   r"|fasse?\b.*zusammen|uberblick|kernpunkte|was wurde\b.*\bbesproch"),
    (Kind.COMPARE, r"\bcompare|\bdiffer(s|ed|ences?|ent)?\b|\bdistinguish|\bcontrast|\bversus\b"
                   r"|\bvs\b|vergleich|unterschied|unterscheide"
                   r"|^\W*(which|what|who|was|wer|welche\w?|wofur|where)\b[^,]*"
                   r"\b((is|are|was|were|ist|sind|war|waren) ((?!(the|an?|der|die|das|dem|den"
                   r"|eine?[rmn]?)\b)\w+ ){0,3}\w{2,}er|more|mehr|came (out )?first|kam zuerst)\b"
                   r"[^,]*, .* (or|oder) "),
    (Kind.WHY, r"\bwhy\b|\breasons?\b|how come|\bwhat (caused|led to|(was|is) the cause)\b"
               r"|\bpros and cons\b|\barguments? (for|against)\b|\bwas (sprach|spricht)\b|warum"
               r"|weshalb|wieso|\bgrund"),
    (Kind.HOW, r"what happens|what (do|should) (i|we|you) do|was (ist )?(passiert|tun|geschah)"
               r"|what is done|\b(steps|procedure|instructions|schritte)\b"),
    (Kind.NUMBER, r"\b(tele)?phone number\b|\b(telefon|handy|ruf|konto)nummer\b"),
    (Kind.WHEN, r"^\W*(\w+ )?(what|which|welche[mnrs]?) (dates?|days?|weekdays?|month|year|time"
                r"|datum|tage?n?|monat|jahr|uhrzeit)\b|um wie ?viel uhr"),
    (Kind.WHERE, r"^\W*(\w+ )?(which|what|welche[mnrs]?) (place|town|city|country|room|village"
                 r"|street|ort|stadt|land|raum|dorf|strasse)\b"),
    (Kind.LIST, r"^(please )?(list|enumerate|name (all|the|every))\b"
                r"|what are (all|some|the|our|my|\w+'s?)\b"
                r"|what (is|was)\b.* on (the|my|our)( [\w-]+)? list\b"
                r"|^(which|what) (?!do |does |did )(\w+ ){0,3}?(\w+s|people)"
                r" (are|was|were|do|does|did|have|has|had"
                r"|is|should|must|can|will|help|need|go|still|we)\b|^(which|what) .* are there\b"
                r"|^(which|what) (other )?\w+s (to|of|for|in|on|from|with) .*"
                r" (are|were|do|does|did|have|has)\b"
                r"|^(welche|nenne|liste|zahle)\b"
                r"|what (else )?(parts|tasks|questions|risks|steps|rules|things)\b"
                r"|what (should|must|do|does|can|to) (.* )?(bring|take|pack|include|contain)\b"
                r"|^what\b.* (bring|pack)\b"
                r"|\b(ungeklart|unklar|noch offen)\b|\bstill (open|unclear|unknown|undecided)\b"
                r"|^what is (open|unclear|unknown|undecided)\b"
                r"|\bwho (are|is (all )?(on|in|part of))\b|\bwer (sind|ist alles|gehort)\b"),
    (Kind.WHO, r"\b(who|whom|whose|wer|wem|wen|wessen)\b|which person|\bname of\b"
               r"|^\W*what .* called\W*$|\bwie heiss"),
    (Kind.WHEN, r"^\W*(\w+ ){0,2}(when|wann)\b"
                r"|(what|which|welche[rmn]?) (days?|months?|years?|(\w+ )?version)\b"
                r"|\bdeadline\b|\bdatum\b|\bfrist\b|by what time"),
    (Kind.NUMBER, r"\bhow (many|much|long|often|far|high|large|big|heavy|old|deep|fast|tall|wide"
                  r"|expensive|soon|quickly|frequently)\b"
                  r"|\bhow (?!do|does|did|can|to|one|you|we|i|he|she|they|it)\w+ "
                  r"(is|are|was|were|must|should|does|do|did|can|has|have)\b"
                  r"|\bwie ?(viel|viele|lange|oft|hoch|gross|teuer|weit|schwer|alt|tief|schnell)\b"
                  r"|^\W*wie \w+ (ist|sind|war|waren)\b|\bwie lautet.* \w+nummer\b"
                  r"|what (does|do|did) .* (cost|weigh|earn|pay)\b(?! for\W*$)"
                  r"|\bwas (koste|wieg|bezahl|verdien)[ent]+\b|\bwas ha(t|ben)\b.* gekostet\b"
                  r"|(what|which|welche[mnrs]?) ((is|was|are) the .*)?(price|cost|budget|size|range"
                  r"|accuracy|weight|height|length|number|share|percentage|discount|voltage"
                  r"|capacity|rate)\b"
                  rf"|\b(what|which|welche[rn]?) {_QUANTITY}|^\W*(\w+ )?{_QUANTITY} (of|for)\b"),
    (Kind.WHERE, r"\b(where|wo|wohin|woher)\b"),
    (Kind.HOW, r"\bhow\b|^\W*wie\b|\bwas (muss|soll)\b"),
    (Kind.ABOUT, r"\babout\W*$|^\W*what\b.* for\W*$|^\W*(what|was) (is|are|ist|sind) "
                 r"|^\W*(tell me|erzahl\w*)\b|\bworum\b|\bwovon\b|explain|describe|beschreib"
                 r"|erklar"),
    (Kind.YES_NO, r"^\W*(is|are|was|were|do|does|did|can|could|may|must|should|will|would|has|have"
                  r"|am|ist|sind|war|hat|haben|kann|darf|durfen|konnen|muss|mussen|gibt es|wird"
                  r"|werden|soll|sollen)\b"),
)  # fmt: skip
_COMPILED = tuple((kind, re.compile(pattern)) for kind, pattern in _PATTERNS)
_SUM = re.compile(r"[\d(][\d\s.+*/()-]+")
_SUM_INSIDE = re.compile(r"[\d)]\s*[+*/]\s*[+*\d(-]|[\d)] - ?[\d(]")
_SUM_ASKED = re.compile(
    r"\b(what is|whats|calculate|compute|how much is|was ist|wie ?viel ist|rechne)\b"
)
KIND_CHARS = 400
"""What is asked is seen from the beginning; a long text must not take long to look at."""
_PHRASES = (
    (re.compile(r"\bturn(?:ed|s|ing)? down\b", re.IGNORECASE), "reject"),
    (re.compile(r"\b(has|have|did) the (?:team|group|board|club)\b", re.IGNORECASE), r"\1 we"),
    (re.compile(r"\b(?:hook|wire|plug)(?:ed|s|ging|ing)? (?:up|in)\b", re.IGNORECASE), "connect"),
    (re.compile(r"\bnicht geklärt\b", re.IGNORECASE), "ungeklärt"),
    (re.compile(r"\bco-?sign", re.IGNORECASE), "countersign"),
    (re.compile(r"^what (?:exactly )?counts as\b", re.IGNORECASE), "what is"),
    (re.compile(r"\bto-dos?\b", re.IGNORECASE), "todos"),
    (re.compile(r" as well\b(?! as)", re.IGNORECASE), ""),
    (re.compile(r"\b(is|are) part of\b", re.IGNORECASE), r"\1 in"),
    (
        re.compile(r"\b(whom? (?:do|can) i) (?:ring|phone)(?= (?:if|when)\b)", re.IGNORECASE),
        r"\1 call",
    ),
)
"""What people say, as a word that notes use too."""
_PREAMBLE = re.compile(
    r"^\W*(?:(?:in short|briefly|in a nutshell|kurz)\W+"
    r"|(?:i|i'm|we|ich|wir)\b[^?]{1,40}\b(?:new|joined|neu)\b[^?]{0,30}[,:] (?:so |and )?)"
    r"(?=wh|how|can|could|w[aeio])",
    re.IGNORECASE,
)
_POLITE = re.compile(
    r"^\W*(?:(?:please|bitte|hey|hi|hello|hallo|ok)\W+)?"
    r"(?:(?:can|could|would|will) you (?:please )?(?:tell me\W+(?=wh|how)"
    r"|(?=give|show|list|sum|explain|describe|compare|name|find|tell))"
    r"|(?:do you know|i(?:'d| would) like to know|i want to know|tell me|let me know|remind me)\W+"
    r"(?=wh|how)|(?:kannst|konntest|könntest) du (?:mir )?(?:bitte )?(?:sagen\W+)?"
    r"|weißt du\W+|sag mir\W+)",
    re.IGNORECASE,
)
_MANNER = re.compile(
    r"(?<=\w)\W+(?:(?:in short|briefly|in brief|in a nutshell|in a few words|in one sentence|for me"
    r"|please|again|exactly|(?:would|could|will|can) you|bitte|kurz(?: gesagt)?|in kürze"
    r"|für mich)\b\W*)+$",
    re.IGNORECASE,
)
"""How somebody asks, before and after what is asked."""
_CONTAINER_TEXT = """
piece article essay document call phone conversation file folder section chapter clipping
telefonat artikel aufsatz dokument datei ordner abschnitt kapitel sum recap short brief quick last
latest kurze kurzen kurzer letzte letzten
"""
_CONTAINERS = frozenset(_CONTAINER_TEXT.split())
_FOLDER = re.compile(r"\b(?:in|under|below|from|unter|im|of)\b|\b(?:folder|ordner)\b")
_SORT = re.compile(
    r"^\W*(?:\w+ )?(?:which|what|welche[mnrs]?) (\w+)|\b(?:how much|wie ?viel) (money|geld)\b"
    r"|\b((?:tele)?phone) (number)\b|\b(\w+nummer)\b|\b(deadline|datum|frist)\b"
    rf"|^\W*(?:\w+ )?({_QUANTITY}) (?:of|for)\b"
)
_GERMAN_ASKS = re.compile(
    r"\b(?:was|we[rmn]|wessen|welche\w?|wie(?:viel\w*|so)?|wann|warum|weshalb"
    r"|wo(?:hin|her|mit|fur|zu|ran|rum|von)?)\b"
)
_INSIDE = (Kind.WHO, Kind.WHEN, Kind.WHERE, Kind.NUMBER)
"""What a question word asks for, unless another verb opens the question."""
_WITH_SORT = (Kind.WHEN, Kind.WHERE, Kind.NUMBER)
"""Of these kinds a word may say what sort of thing is asked for: few answers repeat it."""
_WHOLES = (Kind.SUMMARY, Kind.ABOUT, Kind.COMPARE)


@lru_cache(maxsize=100)  # each turn of a run asks again
def find_kind(folded: str, german: bool) -> Kind:
    folded = folded[:KIND_CHARS]
    expression = find_sum(folded)
    if expression and (_SUM_ASKED.search(folded) or 2 * len(expression) > len(folded)):
        return Kind.CALCULATE
    found = next((kind for kind, pattern in _COMPILED if pattern.search(folded)), Kind.WHAT)
    if german and folded.startswith("was "):
        return Kind.WHAT if found is Kind.YES_NO else found
    if german and found is Kind.WHAT and folded.endswith("?") and not _GERMAN_ASKS.search(folded):
        return Kind.YES_NO
    opens = found in _INSIDE and _COMPILED[-1][1].search(folded)  # `Does it track who visits it?`
    return Kind.YES_NO if opens else found


def find_sum(text: str) -> str:
    """Return the first piece of arithmetic in a text; dates and telephone numbers are none."""
    for found in _SUM.finditer(text):
        expression = found[0].rstrip(" .+*/(-")
        if _SUM_INSIDE.search(expression):
            return expression
    return ""


@lru_cache(maxsize=100)
def strip_manner(text: str) -> str:
    """Return a question without how somebody asks it: `Can you …`, `…, in short?`."""
    text = _MANNER.sub("", _POLITE.sub("", _PREAMBLE.sub("", text))) or text
    for phrase, verb in _PHRASES:
        text = phrase.sub(verb, text)
    return text


def drop_containers(kind: Kind, words: Sequence[str]) -> list[str]:
    """Return the words without those for what has a name as well: `the piece In good hands`."""
    named = [word for word in words if fold(word) not in _CONTAINERS]
    return named if named and kind in _WHOLES else list(words)


def names_folder(folded: str) -> bool:
    return bool(_FOLDER.search(folded))


def list_sorts(kind: Kind, folded: str) -> frozenset[str]:
    """Return the words that only say which sort of answer is wanted: `in which city`."""
    found = _SORT.finditer(folded) if kind in _WITH_SORT else ()
    return frozenset(word for one in found for word in one.groups() if word)
