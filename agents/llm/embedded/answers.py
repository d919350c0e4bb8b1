"""The answer to a question: the passages that give it, and whether they are sure to."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import groupby

from agents.core.stemming import fold, stem, stems
from agents.llm.embedded.answer_types import gives_reasons
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Kind, Question, analyse
from agents.llm.embedded.scoring import (
    PassageScorer,
    ScoredPassage,
    choose,
    drop_repeated,
    find_continuation,
    rate_note,
    rate_title,
)

CERTAIN, CERTAIN_FACT, CERTAIN_ENTRY, NEAR = 0.75, 0.65, 0.6, 0.25
"""The share of a question that a passage covers: to be its answer, to be worth showing."""
_MAX_LISTED, _MAX_ENTRIES, _MAX_LISTS, _MAX_MENTIONS = 60, 20, 5, 12
_MAX_SECTIONS, _SECTION_LENGTH, _CLOSE = 9, 5, 3
_MIN_SECTION_RATE = 0.5


def find_answer(question: Question, evidence: Evidence) -> Answer:
    """Return what answers a question, else what comes closest to it."""
    if question not in evidence.answers:
        evidence.answers[question] = _find_answer(question, evidence)
    return evidence.answers[question]


def _find_answer(question: Question, evidence: Evidence) -> Answer:
    if question.kind is Kind.CODE and evidence.code:
        return _find_code(question, evidence)
    passages = evidence.passages
    if not passages:
        return Answer()
    if question.kind is Kind.COMPARE and len(question.sides) == 2:
        return _compare(question, evidence)
    scorer = PassageScorer(question, passages)
    for find in (_find_headed, *_FINDERS.get(question.kind, ())):
        if found := find(scorer, evidence):
            enough = CERTAIN_ENTRY if question.kind is Kind.LIST else 0.85
            entries = [e for e in evidence.entries if scorer.rate(e).coverage >= enough]
            return Answer([*found, *(e for e in entries if e not in found)], is_certain=True)
    if question.kind is Kind.CODE:  # notes may speak of it, but they are not where it is
        return Answer(_list_closest(scorer.sort(passages)))
    return _find_passages(scorer, passages)


def _find_code(question: Question, evidence: Evidence) -> Answer:
    """Return where something is defined, else the places in the code that have its words."""
    looked_up = evidence.request.get_steps("find_definition")
    symbols = tuple(str(step.arguments.get("symbol")) for step in looked_up)
    if exact := [p for p in evidence.code if p.heading.endswith(symbols)]:
        return Answer(exact[:_CLOSE], is_certain=True)
    rated = PassageScorer(question, evidence.code).sort(evidence.code)
    fits = [r.passage for r in rated if r.coverage >= CERTAIN_FACT]
    return Answer(fits[:_CLOSE], is_certain=True) if fits else Answer(_list_closest(rated))


def _find_passages(scorer: PassageScorer, passages: Sequence[Passage]) -> Answer:
    question = scorer.question
    rated = scorer.sort(passages)
    best = rated[0]
    enough = CERTAIN_FACT if question.is_fact else CERTAIN
    fits = best.shape >= 0.5 if question.is_fact else best.own > 0
    if best.coverage >= enough and fits and scorer.is_whole(best.passage):
        chosen = choose(question, rated, _CLOSE)
        if not question.is_fact:
            chosen[1:1] = [p for p in find_continuation(chosen[0], passages) if p not in chosen]
        return Answer(chosen, is_certain=True)
    return Answer(_list_closest(rated))


def _list_closest(rated: Sequence[ScoredPassage]) -> list[Passage]:
    near = (r.passage for r in rated if r.own > 0 and r.coverage >= NEAR)
    return drop_repeated(near, _CLOSE)


# -- whole notes ----------------------------------------------------------------------------------


def _find_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the note that a question names by its title or its path."""
    best, found = 0.0, list[Passage]()
    for path, note in evidence.notes.items():
        if path in scorer.question.text:
            return note
        rate = rate_note(scorer.question, note[0])
        asked = scorer.cover((note[0].named, 1.0))
        if rate >= 0.6 and asked >= 0.6 and rate + asked > best:
            best, found = rate + asked, note
    return found


def _summarise_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    return outline(_find_note(scorer, evidence))


def outline(note: Sequence[Passage]) -> list[Passage]:
    """Return the first sentence of each section of a note; of one without any, its properties."""
    properties = [p for p in note if p.kind == "property"]
    sections = [list(below) for _, below in groupby(_list_prose(note), lambda p: p.headings)]
    kept = [section[: 2 if number == 0 else 1] for number, section in enumerate(sections)]
    told = [p for section in kept[:_MAX_SECTIONS] for p in section]
    return [*(properties[:_MAX_SECTIONS] if len(properties) > 4 or not told else ()), *told]


def _introduce_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how a note begins that a question asks about."""
    read = next(iter(evidence.notes.values()), [])
    note = _find_note(scorer, evidence) if scorer.weights else read
    return _list_prose(note)[:3] or note[:8]


def _list_prose(note: Iterable[Passage]) -> list[Passage]:
    wanted = ("sentence", "item", "row")
    return [p for p in note if p.kind in wanted and not p.text.endswith(":")]


def _summarise_folder(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a line about each note of the folder that a question names, if it says the rest."""
    folder, word = evidence.find_folder(scorer.question)
    inside = {p: note for p, note in evidence.notes.items() if p.startswith(f"{folder}/")}
    if not folder or not inside:
        return []
    asked = stem(fold(word))
    rest = {w for w, weight in scorer.question.weights.items() if weight == 1.0} - {asked}
    lines = []
    for note in inside.values():
        known = note[0].named.union(*(p.stems for p in note))
        if all(scorer.match(word, known) for word in rest):
            gist = _find_gist(note, asked)
            lines.append(replace(gist, kind="entry", text=f"{gist.title}: {gist.text}"))
    unread = [e for e in evidence.listing if e[0].startswith(f"{folder}/") and e[0] not in inside]
    if not rest:
        lines += [Passage(path, 1, title, "entry", title) for path, title in unread]
    return lines[:_MAX_LISTED]


def _find_gist(note: Sequence[Passage], asked: str) -> Passage:
    """Return the sentence that says what a note is about: below a heading so named, or first."""
    prose = _list_prose(note) or list(note)
    named = (p for p in prose if asked in stems(p.heading))
    return next(named, prose[0])


def _list_recent(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the newest notes begin: they were read in that order."""
    return [passage for note in evidence.notes.values() for passage in outline(note)[:3]]


# -- sections, lists ------------------------------------------------------------------------------


def _list_sections(evidence: Evidence) -> Iterator[list[Passage]]:
    for note in evidence.notes.values():
        for _, section in groupby(_list_prose(note), lambda p: p.headings):
            yield list(section)


def _find_section(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading, with the name of its note, says what is asked."""
    best, found = _MIN_SECTION_RATE, list[Passage]()
    for section in _list_sections(evidence):
        first = section[0]
        whole = scorer.cover((first.around | first.named, 1.0))
        rate = whole * rate_title(scorer.question, first.heading)
        known = first.around.union(first.named, *(p.stems for p in section))
        if rate > best and whole >= 0.7 and scorer.covers(known):
            best, found = rate, section
    return found[:_SECTION_LENGTH]


def _find_headed(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading asks the very question."""
    for section in _list_sections(evidence):
        heading = section[0].heading
        is_same = heading.endswith("?") and scorer.covers(frozenset(stems(heading)))
        if is_same and rate_title(scorer.question, heading) >= 0.6:
            return section[:_SECTION_LENGTH]
    return []


def _find_reasons(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a section of reasons in the note asked about, unless one sentence says it all."""
    best = scorer.sort(evidence.passages)[0]
    if best.own >= 0.8 and best.shape == 1.0:
        return []
    rated: list[tuple[float, list[Passage]]] = []
    for section in _list_sections(evidence):
        if gives_reasons(section[0].heading):
            first = section[0]
            known = first.named.union(first.around, *(p.stems for p in section))
            rate = scorer.cover((known, 1.0)) + 0.5 * (first.path in scorer.question.paths)
            rated.append((rate, section))
    rate, found = max(rated, key=lambda each: each[0], default=(0.0, []))
    return found[:_SECTION_LENGTH] if rate >= 0.6 else []


def _find_lists(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the lists and tables that answer, or the entries of them that fit."""
    blocks = [(b, _rate_block(scorer, b)) for b in _list_blocks(evidence)]
    top = max((rate for _, rate in blocks), default=0.0)
    if not top:
        return []
    level = [block for block, rate in blocks if rate == top]
    kept = [entry for block in level[:_MAX_LISTS] for entry in _list_entries(scorer, block)]
    return kept[:_MAX_ENTRIES]


def _find_steps(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the numbered steps that answer: all lists of them in one note."""
    blocks = [b for b in _list_blocks(evidence) if len(b) > 1 and b[0].is_step]
    rated = [(_rate_block(scorer, block, inside=0.6), block) for block in blocks]
    top = max((rate for rate, _ in rated), default=0.0)
    if top < 0.6:
        return []
    path = next(block[0].path for rate, block in rated if rate == top)
    level = [b for rate, b in rated if rate >= 0.9 * top and b[0].path == path]
    return [step for block in level for step in block]


def _list_blocks(evidence: Evidence) -> list[list[Passage]]:
    found: dict[tuple[str, int], list[Passage]] = {}
    for passage in evidence.passages:
        if passage.read and passage.kind in ("item", "row") and passage.source == "vault":
            found.setdefault((passage.path, passage.block), []).append(passage)
    return list(found.values())


def _rate_block(scorer: PassageScorer, block: Sequence[Passage], inside: float = 0.8) -> float:
    first, within = block[0], frozenset[str]().union(*(p.stems for p in block))
    if not scorer.covers(first.around, first.named, within):
        return 0.0
    return scorer.cover((first.around, 1.0), (first.named, 0.9), (within, inside))


def _list_entries(scorer: PassageScorer, block: Sequence[Passage]) -> list[Passage]:
    """Return entries that have what the surroundings do not say; all if no word is such."""
    around = block[0].around | block[0].named
    narrowing = [word for word in scorer.weights if not scorer.match(word, around)]
    fits = [sum(scorer.match(word, p.stems) > 0 for word in narrowing) for p in block]
    most = max(fits)
    return [entry for entry, fit in zip(block, fits, strict=True) if fit == most]


# -- others ---------------------------------------------------------------------------------------


def _find_mentions(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    rated = scorer.sort(evidence.passages)
    top = max(one.own for one in rated)
    kept = [r.passage for r in rated if r.own >= max(0.5, 0.8 * top)][:_MAX_MENTIONS]
    return sorted(kept, key=lambda passage: passage.place)


def _compare(question: Question, evidence: Evidence) -> Answer:
    """Return what there is about both: sure where it stands in a note or a section on each."""
    sides = []
    for side in question.sides:
        scorer = PassageScorer(analyse(side), evidence.passages)
        told = _find_passages(scorer, evidence.passages)
        if found := _summarise_note(scorer, evidence):
            own = [p for p in told.passages if p.path == found[0].path and p not in found]
            told = Answer(sorted([*found, *own], key=lambda p: p.line), is_certain=True)
        elif not any(scorer.covers(_name_subject(p)) for p in told.passages):
            told = Answer(told.passages)
        sides.append((side, told))
    return Answer(is_certain=all(a.is_certain for _, a in sides), sides=sides)


def _name_subject(passage: Passage) -> frozenset[str]:
    """Return the stems of what a passage is about: its titles, of a table the row."""
    row = passage.text if passage.kind == "row" else ""
    return frozenset(stems(" ".join((passage.title, *passage.headings, row))))


_FINDERS = {
    Kind.MENTION: (_find_mentions,),
    Kind.SUMMARY: (_summarise_note, _summarise_folder, _find_section),
    Kind.ABOUT: (_find_section, _introduce_note),
    Kind.LIST: (_summarise_folder, _find_lists, _find_section),
    Kind.HOW: (_find_steps, _find_section),
    Kind.WHY: (_find_reasons,),
    Kind.WHAT: (_find_section,),
    Kind.RECENT: (_list_recent,),
}
