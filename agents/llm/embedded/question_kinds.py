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
    (Kind.SUMMARY, r"what (did|was|were|happened|came)\b.*\b(meeting|call|conversation)\b"
                   r"|summar[iy]|\bsum(med)? up\b|\brecap|\boverview of\b|tl;?dr|\bgist\b"
                   r"|\b(key|main) (points|ideas|facts)|\btakeaways\b|zusammen(fass|gefasst)"
                   r"|fasse?\b.*zusammen|uberblick|kernpunkte|was wurde\b.*\bbesproch"),
    (Kind.COMPARE, r"\bcompare|\bdiffer|\bdistinguish|\bcontrast|\bversus\b|\bvs\b|vergleich"
                   r"|unterschied|unterscheide"
                   r"|^\W*(which|what|who|was|wer|welche\w?)\b[^,]*"
                   r"\b((is|are|was|were|ist|sind|war|waren) ((?!(the|an?|der|die|das|dem|den"
                   r"|eine?[rmn]?)\b)\w+ ){0,3}\w{2,}er|more|mehr)\b"
                   r"[^,]*, .* (or|oder) "),
    (Kind.WHY, r"\bwhy\b|\breasons?\b|how come|warum|weshalb|wieso|\bgrund"),
    (Kind.HOW, r"what happens|what (do|should) (i|we|you) do|was (passiert|tun)|what is done"
               r"|\b(steps|procedure|instructions|schritte)\b"),
    (Kind.LIST, r"^(please )?(list|enumerate|name (all|the|every))\b"
                r"|what are (all|some|the|our|my)\b"
                r"|what (is|was)\b.* on (the|my|our) [\w-]+ list\b"
                r"|^(which|what) (\w+ ){0,3}?\w+s (are|were|do|does|did|have|has|is|should|must"
                r"|can|need|go|still|we)\b|^(which|what) .* are there\b"
                r"|^which \w+s (to|of|for|in|on|from|with) .* (are|were|do|does|did|have|has)\b"
                r"|^(welche|nenne|liste|zahle)\b"
                r"|what (else )?(parts|tasks|questions|risks|steps|rules|things)\b"
                r"|what (should|must|do|does|can) .*\b(bring|take|pack|include|contain)\b"
                r"|\bwho (are|is (all )?(on|in|part of))\b|\bwer (sind|ist alles|gehort)\b"),
    (Kind.WHO, r"\b(who|whom|whose|wer|wem|wen|wessen)\b|which person|what is the name of"
               r"|\bwie heiss"),
    (Kind.WHEN, r"^\W*(\w+ ){0,2}(when|wann)\b"
                r"|(what|which|welche[rmn]?) (dates?|days?|months?|years?|version)\b"
                r"|\bdeadline\b|\bdatum\b|\bfrist\b|by what time"),
    (Kind.NUMBER, r"\bhow (many|much|long|often|far|high|large|big|heavy|old|deep|fast|tall|wide"
                  r"|expensive|soon|quickly|frequently)\b|\bhow (?!do|does|did|can|to)\w+ "
                  r"(is|are|was|were|must|should|does|do|did|can|has|have)\b"
                  r"|\bwie ?(viel|viele|lange|oft|hoch|gross|teuer|weit|schwer|alt|tief|schnell)\b"
                  r"|^\W*wie \w+ (ist|sind|war|waren)\b|\bwie lautet.* \w+nummer\b"
                  r"|what (does|do|did) .* (cost|weigh|earn|pay)\b(?! for\W*$)"
                  r"|\bwas (koste|wieg|bezahl|verdien)[ent]+\b"
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
_SUM = re.compile(r"[\d(][\d\s.+*/()-]+")
_SUM_INSIDE = re.compile(r"[\d)]\s*[+*/]\s*[+*\d(-]|[\d)] - ?[\d(]")
_SUM_ASKED = re.compile(
    r"\b(what is|whats|calculate|compute|how much is|was ist|wie ?viel ist|rechne)\b"
)
KIND_CHARS = 400
"""What is asked is seen from the beginning; a long text must not take long to look at."""
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
    r"|please|again|exactly|bitte|kurz(?: gesagt)?|in kürze|für mich)\b\W*)+$",
    re.IGNORECASE,
)
"""How somebody asks, before and after what is asked."""
_CONTAINER_TEXT = """
piece article essay document file folder section chapter clipping artikel aufsatz dokument datei
ordner abschnitt kapitel sum recap short brief quick kurze kurzen kurzer
"""
_CONTAINERS = frozenset(_CONTAINER_TEXT.split())
_WHOLES = (Kind.SUMMARY, Kind.ABOUT, Kind.COMPARE)


@lru_cache(maxsize=100)  # each turn of a run asks again
def find_kind(folded: str, german: bool) -> Kind:
    folded = folded[:KIND_CHARS]
    expression = find_sum(folded)
    if expression and (_SUM_ASKED.search(folded) or 2 * len(expression) > len(folded)):
        return Kind.CALCULATE
    found = next((kind for kind, pattern in _COMPILED if pattern.search(folded)), Kind.WHAT)
    is_what = german and found is Kind.YES_NO and folded.startswith("was ")
    return Kind.WHAT if is_what else found


def find_sum(text: str) -> str:
    """Return the first piece of arithmetic in a text; dates and telephone numbers are none."""
    for found in _SUM.finditer(text):
        expression = found[0].rstrip(" .+*/(-")
        if _SUM_INSIDE.search(expression):
            return expression
    return ""


def strip_manner(text: str) -> str:
    """Return a question without how somebody asks it: `Can you …`, `…, in short?`."""
    return _MANNER.sub("", _POLITE.sub("", text)) or text


def drop_containers(kind: Kind, words: Sequence[str]) -> list[str]:
    """Return the words without those for what has a name as well: `the piece In good hands`."""
    named = [word for word in words if fold(word) not in _CONTAINERS]
    return named if named and kind in _WHOLES else list(words)
