"""Words in English and German: those that carry nothing, those that agree."""

from collections.abc import Iterable

from agents.core.stemming import WORD_PATTERN, fold, stem

_STOP_TEXT = """
a about actually all also am an and any anything are as at be been being but by can could did do
does doing done else ever exactly find for from get gets give given go goes going got had has have
having he her here him his how however i if in into is it its itself just kind know let like list
look many may me might mine more most much must my need needs no not now of off ok on one ones or
other our out over own please say says shall she should show so some somebody someone something
such tell than that the their them then there these they thing things this those to too up us use
used using very was way we were what whats when where which while who whom whose why will with
without would yes yet you your summarise summarize summary overview compare explain describe
mention mentioned written note notes mean means call called want happen happens happened long
often far high old big large instead rather currently today usually really aber alle allem allen
aller alles als also am an auch auf aus bei beim bin bis bitte da dann das dass dein dem den denn
der des dessen die dies diese diesem diesen dieser dieses doch du ein eine einem einen einer eines
er es etwas euch euer fur gab ganz gegen gehen geht gibt hab habe haben hat hatte hier ich ihm ihn
ihr ihre im in ist ja jede jeder jetzt kann kein keine konnen lange man mehr mein mich mir mit
muss nach nein nicht noch nun nur ob oder oft ohne sagt schon sein seine sich sie sind so soll
sollen uber um und uns unser unsere viel viele vom von vor wann war waren warum was wegen welche
welchem welchen welcher welches wem wen wenn wer werden weshalb wie wieso wieviel will wir wird wo
woher wohin wurde wurden zeige zu zum zur zwischen fasse zusammen erwahnt steht notiz notizen
"""
STOP = frozenset(_STOP_TEXT.split())

_AGREE = (
    "own owner owns responsible lead leads verantwortlich zustandig leitet leiter",
    "cost costs price prices euro euros eur expensive kosten kostet preis preise teuer",
    "supplier supplies vendor delivers lieferant liefert hersteller manufacturer makes",
    "deliver delivered delivery geliefert lieferung liefern",
    "decide decided decision chose choose chosen entschieden entscheidung beschlossen",
    "deadline due date frist termin datum",
    "meeting meetings besprechung sitzung treffen gesprach telefonat",
    "permit permission licence genehmigung erlaubnis",
    "warranty guarantee garantie",
    "reject rejected ruled against abgelehnt verworfen",
    "risk risks danger risiko risiken",
    "open unresolved undecided offen offene",
    "question questions frage fragen",
    "install installed installation mount mounting put putting einbau montage aufbau",
    "battery batteries akku batterie batterien",
    "harbour harbor harbours harbors port hafen hafens",
    "budget money grant funds geld forderung",
    "backup backups copied copy sicherung",
    "broken fault faults failed failure defect defekt fehler",
    "silent offline stopped sending",
    "test testing tested rehearsal probe rehearse",
    "fix fixed repair repaired repariert reparatur",
    "start starts begin began begins launch launched beginn anfang",
    "end ends finish finished ende",
    "team people member members mitarbeiter leute",
    "contact reach ansprechpartner kontakt",
    "reason why because grund grunde",
    "replacement replace replaces stand stands deputy ersatz vertretung vertritt",
    "spent spend ausgegeben",
    "step steps procedure schritt schritte",
    "gauge gauges pegel messgerat",
    "last lasts runs alone", "bring take carry pack mitnehmen", "sun solar panel sonne",
    "frequency mhz ghz", "power supply electricity mains strom", "volt volts voltage spannung",
    "away holiday vacation absent urlaub", "learn learned wrong mistake", "weather wind storm",
    "stop stops",  "speak speaks", "pay pays paid arrived received bezahlt zahlt",
    "accurate accuracy precise precision genau genauigkeit", "size dimension dimensions grosse",
    "water wasser", "alarm alarms alarme warning warnung", "phone telephone telefon",
    "wage wages salary lohne gehalt", "sensor sensors sensoren",
    "store stored stores keep kept",
    "take took taken takes", "give gave given", "send sent sends", "make made", "go went gone",
    "build built", "write wrote written", "find found", "say said", "tell told", "hold held",
    "lose lost", "leave left", "fall fell fallen", "get got", "meet met", "buy bought", "run ran",
)  # fmt: skip


_SOFT_TEXT = """
decid choos chos chosen pick mak made tak work com cam happen set dauert kommt mach wurd exist hav
don project projekt new current locat situat lie lies liegt need needs harden type kind sort
"""
SOFT = frozenset(_SOFT_TEXT.split())
"""Stems that many questions have and few answers repeat."""


def telling(text: str) -> list[str]:
    """Return the words of a text that carry it, as they are written, once each."""
    found: dict[str, str] = {}
    for match in WORD_PATTERN.finditer(text):
        word, folded = match[0], fold(match[0])
        joined = "-" in (
            text[match.start() - 1 : match.start()],
            text[match.end() : match.end() + 1],
        )
        if (joined or folded not in STOP) and (len(folded) > 1 or folded.isdigit()):
            found.setdefault(stem(folded), word)
    return list(found.values())


def _groups() -> dict[str, frozenset[str]]:
    groups: dict[str, frozenset[str]] = {}
    for line in _AGREE:
        group = frozenset(stem(word) for word in line.split())
        for word in group:
            groups[word] = groups.get(word, frozenset()) | group
    return groups


_GROUPS = _groups()


def agreeing(word: str) -> frozenset[str]:
    """Return stems that say about the same as a stem, without itself."""
    return _GROUPS.get(word, frozenset()) - {word}


def in_other_words(words: Iterable[str]) -> list[str]:
    """Written words that may stand for these ones in a note."""
    found: dict[str, None] = {}
    for word in words:
        own = stem(fold(word))
        for line in _AGREE:
            if own in {stem(other) for other in line.split()}:
                found.update(dict.fromkeys(w for w in line.split() if stem(w) != own))
    return list(found)
