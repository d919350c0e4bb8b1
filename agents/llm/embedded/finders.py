"""What answers a kind of question as a whole: a note, a folder, a section, mentions."""

import re
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath

from agents.core.stemming import fold, stems
from agents.llm.embedded.answer_types import gives_reasons
from agents.llm.embedded.evidence import Evidence, collect_stems
from agents.llm.embedded.note_names import rate_note, rate_title
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import PassageScorer
from agents.llm.embedded.vocabulary import LIGHT

MAX_ENTRIES, _MAX_MENTIONS, _MAX_SECTIONS = 20, 12, 9
_ENOUGH, _SAYS_WHY, _ELSEWHERE, _ITSELF = 0.5, 0.35, 0.4, 0.2
_FEW_SECTIONS, _LITTLE = 6, 2
"""So few sentences say little of a note with many properties."""
SECTION_LENGTH = 5
_TERMS = (Kind.ABOUT, Kind.HOW, Kind.WHAT)
_CONDITION, _CONDITION_WORTH = re.compile(r"\b(?:if|when|wenn|falls)\b"), 0.75


# -- whole notes ----------------------------------------------------------------------------------


def _find_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the note that a question names by its title or its path; with no words, the first."""
    best, found, folder = 0.0, list[Passage](), evidence.find_folder(scorer.question)
    for path, note in evidence.notes.items():
        if scorer.question.asks_thread and note[0].source != "thread":
            continue
        if path in scorer.question.text or not scorer.weights:
            return note
        rate = rate_note(scorer.question, note[0])
        asked = scorer.cover((note[0].named, 1.0))
        is_named = rate >= 0.6 and asked >= 0.6
        is_named = is_named or (rate >= 0.5 and asked == 1.0 and not folder)
        if is_named and rate + asked > best:
            best, found = rate + asked, note
    return found


def summarise_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the first sentence of each section of a note, of each paragraph where it has no
    sections; and the properties of one that has many or nothing else, first if it says little."""
    note = _find_note(scorer, evidence)
    properties = [p for p in note if p.kind == "property"]
    prose = list_prose(note)
    has_sections = len({p.headings for p in prose}) > 1
    parts = groupby(prose, lambda p: p.headings if has_sections else _find_paragraph(p))
    whole = [list(part) for _, part in parts]
    more = has_sections and len(whole) <= _FEW_SECTIONS
    kept = [part[: 2 if number == 0 or more else 1] for number, part in enumerate(whole)]
    told = [p for part in kept[:_MAX_SECTIONS] for p in part]
    known = properties[:_MAX_SECTIONS] if len(properties) > 4 or not told else []
    return [*known, *told] if len(told) <= _LITTLE else [*told, *known]


def _find_paragraph(passage: Passage) -> tuple[int, int]:
    """Return what tells paragraphs and items apart: sentences of one may stand in several lines."""
    return passage.block, 0 if passage.kind == "sentence" else passage.line


def introduce_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    note = _find_note(scorer, evidence)
    asks_whole = scorer.question.kind is Kind.ABOUT
    needed = [word for word in scorer.weights if not (asks_whole and word in LIGHT)]
    if note and not all(scorer.match(word, note[0].named) for word in needed):
        return []
    return list_prose(note)[:3] or note[:_MAX_SECTIONS]


def list_recent(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the newest notes begin: they were read in that order."""
    return [p for note in evidence.notes.values() for p in (list_prose(note) or note)[:3]]


def list_prose(note: Iterable[Passage]) -> list[Passage]:
    wanted = ("sentence", "item", "row")
    return [p for p in note if p.kind in wanted and not p.text.endswith(":")]


def summarise_folder(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a line about each note of the folder that a question names, if it says the rest."""
    folder = evidence.find_folder(scorer.question)
    inside = {p: note for p, note in evidence.notes.items() if p.startswith(f"{folder}/")}
    if not folder or not inside:
        return []
    asked = frozenset(stems(PurePosixPath(folder).name))
    telling = (w for w, weight in scorer.question.weights.items() if weight == 1.0)
    rest = [word for word in telling if not scorer.match(word, asked)]
    lines = []
    for note in inside.values():
        if all(scorer.match(word, collect_stems(note)) for word in rest):
            prose = list_prose(note) or note
            gist = next((p for p in prose if asked & {*stems(p.heading)}), prose[0])
            lines.append(replace(gist, kind="entry", text=f"{gist.title}: {gist.text}"))
    unread = [e for e in list_notes(evidence, f"{folder}/") if e.path not in inside]
    return [*lines, *(unread if not rest else ())]


def list_notes(evidence: Evidence, folder: str = "") -> list[Passage]:
    listed = (entry for entry in evidence.listing if entry[0].startswith(folder))
    return [Passage(path, 1, title, "entry", title) for path, title in listed]


# -- sections -------------------------------------------------------------------------------------


def _find_best_section(
    evidence: Evidence, rate: Callable[[list[Passage]], float], least: float
) -> list[Passage]:
    notes = evidence.notes.values()
    grouped = (groupby(list_prose(note), lambda p: p.headings) for note in notes)
    sections = [list(below) for note in grouped for _, below in note]
    rates = list(map(rate, sections))
    top = max(rates, default=0.0)
    best = sections[rates.index(top)] if top > least else []
    return best[: MAX_ENTRIES if any(p.kind == "item" for p in best) else SECTION_LENGTH]


def find_section(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading, with the name of its note, says what is asked."""
    if scorer.question.asks_thread:
        return []

    def rate(section: list[Passage]) -> float:
        heading = fold(section[0].heading)
        if all(p.is_pointer for p in section):
            return 0.0
        is_term = scorer.question.kind in _TERMS and heading in scorer.question.folded
        if is_term and " " in heading and scorer.covers(section[0].around | section[0].named):
            return 1.0
        whole = scorer.cover((section[0].around | section[0].named, 1.0))
        is_whole = whole >= 0.7 and scorer.covers(collect_stems(section))
        title = rate_title(scorer.question, section[0].heading)
        if _CONDITION.match(heading) and _CONDITION.search(scorer.question.folded):
            title = max(title, _CONDITION_WORTH)
        return whole * title if is_whole else 0.0

    return _find_best_section(evidence, rate, 0.5)


def find_headed(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading asks the very question."""

    def rate(section: list[Passage]) -> float:
        heading = section[0].heading
        is_same = heading.endswith("?") and scorer.covers(frozenset(stems(heading)))
        return rate_title(scorer.question, heading) if is_same else 0.0

    return _find_best_section(evidence, rate, 0.6)


def find_reasons(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a section of reasons in the note asked about, unless one sentence says it all."""
    best = scorer.sort(evidence.passages)[0]
    said = best.coverage if best.shape == 1.0 and best.own >= _SAYS_WHY else 0.0
    said += _ITSELF if said and best.own >= _ENOUGH else 0.0

    def rate(section: list[Passage]) -> float:
        if not gives_reasons(section[0].heading):
            return 0.0
        known = collect_stems(section)
        names = scorer.question.names & scorer.weights.keys()
        is_own = not scorer.question.paths  # a name may be of what was said before
        if is_own and not all(scorer.match(name, known) for name in names):
            return 0.0
        note = evidence.known[section[0].key]
        told = scorer.cover((known, 1.0), (note, _ELSEWHERE))
        return told + 0.5 * (section[0].path in scorer.question.paths)

    return _find_best_section(evidence, rate, max(0.5, said))


# -- mentions --------------------------------------------------------------------------------------


def find_mentions(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    rated = scorer.sort(evidence.passages)
    top = max(one.own for one in rated)
    kept = [r.passage for r in rated if r.own >= max(0.5, 0.8 * top)][:_MAX_MENTIONS]
    return sorted(kept, key=lambda passage: passage.place)
