"""What answers a kind of question as a whole: a note, a section, a list, steps, mentions."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath

from agents.core.stemming import stems
from agents.llm.embedded.answer_types import gives_reasons
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import PassageScorer, rate_note, rate_title

_MAX_ENTRIES, _MAX_LISTS, _MAX_MENTIONS, _MAX_SECTIONS = 20, 5, 12, 9
_LITTLE = 2
"""So few sentences say little of a note with many properties."""
SECTION_LENGTH = 5


# -- whole notes ----------------------------------------------------------------------------------


def _find_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the note that a question names by its title or its path; with no words, the first."""
    best, found = 0.0, list[Passage]()
    for path, note in evidence.notes.items():
        if path in scorer.question.text or not scorer.weights:
            return note
        rate = rate_note(scorer.question, note[0])
        asked = scorer.cover((note[0].named, 1.0))
        if rate >= 0.6 and asked >= 0.6 and rate + asked > best:
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
    kept = [list(part)[: 2 if number == 0 else 1] for number, (_, part) in enumerate(parts)]
    told = [p for part in kept[:_MAX_SECTIONS] for p in part]
    known = properties[:_MAX_SECTIONS] if len(properties) > 4 or not told else []
    return [*known, *told] if len(told) <= _LITTLE else [*told, *known]


def _find_paragraph(passage: Passage) -> tuple[int, int]:
    """Return what tells paragraphs and items apart: sentences of one may stand in several lines."""
    return passage.block, 0 if passage.kind == "sentence" else passage.line


def _introduce_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    note = _find_note(scorer, evidence)
    if note and not all(scorer.match(word, note[0].named) for word in scorer.weights):
        return []
    return list_prose(note)[:3] or note[:_MAX_SECTIONS]


def _list_recent(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the newest notes begin: they were read in that order."""
    return [p for note in evidence.notes.values() for p in (list_prose(note) or note)[:3]]


def list_prose(note: Iterable[Passage]) -> list[Passage]:
    wanted = ("sentence", "item", "row")
    return [p for p in note if p.kind in wanted and not p.text.endswith(":")]


def _summarise_folder(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
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
        if all(scorer.match(word, _know(note)) for word in rest):
            prose = list_prose(note) or note
            gist = next((p for p in prose if asked & {*stems(p.heading)}), prose[0])
            lines.append(replace(gist, kind="entry", text=f"{gist.title}: {gist.text}"))
    unread = [e for e in list_notes(evidence, f"{folder}/") if e.path not in inside]
    return [*lines, *(unread if not rest else ())]


def list_notes(evidence: Evidence, folder: str = "") -> list[Passage]:
    listed = (entry for entry in evidence.listing if entry[0].startswith(folder))
    return [Passage(path, 1, title, "entry", title) for path, title in listed]


def _know(passages: Sequence[Passage]) -> frozenset[str]:
    """Return the stems of passages, and of what stands around the first."""
    return passages[0].named.union(passages[0].around, *(p.stems for p in passages))


# -- sections, lists ------------------------------------------------------------------------------


def _find_best_section(
    evidence: Evidence, rate: Callable[[list[Passage]], float], least: float
) -> list[Passage]:
    notes = evidence.notes.values()
    grouped = (groupby(list_prose(note), lambda p: p.headings) for note in notes)
    sections = [list(below) for note in grouped for _, below in note]
    rates = list(map(rate, sections))
    top = max(rates, default=0.0)
    return sections[rates.index(top)][:SECTION_LENGTH] if top > least else []


def _find_section(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading, with the name of its note, says what is asked."""

    def rate(section: list[Passage]) -> float:
        whole = scorer.cover((section[0].around | section[0].named, 1.0))
        is_whole = whole >= 0.7 and scorer.covers(_know(section))
        return whole * rate_title(scorer.question, section[0].heading) if is_whole else 0.0

    return _find_best_section(evidence, rate, 0.5)


def find_headed(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading asks the very question."""

    def rate(section: list[Passage]) -> float:
        heading = section[0].heading
        is_same = heading.endswith("?") and scorer.covers(frozenset(stems(heading)))
        return rate_title(scorer.question, heading) if is_same else 0.0

    return _find_best_section(evidence, rate, 0.6)


def _find_reasons(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a section of reasons in the note asked about, unless one sentence says it all."""
    best = scorer.sort(evidence.passages)[0]
    if best.own >= 0.5 and best.coverage >= 0.9 and best.shape == 1.0:
        return []

    def rate(section: list[Passage]) -> float:
        told = scorer.cover((_know(section), 1.0)) + 0.5 * (
            section[0].path in scorer.question.paths
        )
        return told if gives_reasons(section[0].heading) else 0.0

    return _find_best_section(evidence, rate, 0.6)


def _find_lists(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the lists and tables that answer, or the entries of them that fit."""
    blocks = _find_best_blocks(scorer, evidence.blocks, 0.8)
    return [entry for block in blocks for entry in _list_entries(scorer, block)][:_MAX_ENTRIES]


def _find_way(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the steps for who asks how, and the section that says it for who asks what to do."""
    finders = [_find_section, _find_steps]
    asks_how = re.search(r"\b(?:how|wie)\b", scorer.question.folded)
    found = (find(scorer, evidence) for find in (finders[::-1] if asks_how else finders))
    return next(filter(None, found), [])


def _find_steps(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the numbered steps that answer: all lists of them in one note."""
    if "what happens" in scorer.question.folded:
        return []
    steps = [block for block in evidence.blocks if len(block) > 1 and block[0].is_step]
    blocks = _find_best_blocks(scorer, steps, 0.6)
    told = [scorer.count_words(step) for block in blocks for step in block]
    if told and max(told) > 1 and sum(map(bool, told)) < len(told) / 2:  # one step is asked for
        return []
    return [step for block in blocks if block[0].path == blocks[0][0].path for step in block]


def _find_best_blocks(
    scorer: PassageScorer, blocks: Sequence[list[Passage]], inside: float
) -> list[list[Passage]]:
    """Return the blocks that say what is asked, or nearly as much of it as the best one does."""

    def rate(block: list[Passage]) -> float:
        first, known = block[0], _know(block)
        places = (first.around, 1.0), (first.named, 0.9), (known, inside)
        return scorer.cover(*places) if scorer.covers(known) else 0.0

    rated = [(rate(block), block) for block in blocks]
    least = max(0.6, 0.9 * max((rate for rate, _ in rated), default=0.0))
    return [block for rate, block in rated if rate >= least][:_MAX_LISTS]


def _list_entries(scorer: PassageScorer, block: Sequence[Passage]) -> list[Passage]:
    """Return entries that have what the surroundings do not say; all if no word is such."""
    around = block[0].around | block[0].named
    narrowing = [word for word in scorer.weights if not scorer.match(word, around)]
    fits = [sum(scorer.match(word, p.stems) > 0 for word in narrowing) for p in block]
    return [entry for entry, fit in zip(block, fits, strict=True) if fit == max(fits)]


# -- mentions --------------------------------------------------------------------------------------


def _find_mentions(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    rated = scorer.sort(evidence.passages)
    top = max(one.own for one in rated)
    kept = [r.passage for r in rated if r.own >= max(0.5, 0.8 * top)][:_MAX_MENTIONS]
    return sorted(kept, key=lambda passage: passage.place)


FINDERS = {
    Kind.MENTION: (_find_mentions,),
    Kind.SUMMARY: (summarise_note, _summarise_folder),
    Kind.ABOUT: (_find_section, _introduce_note),
    Kind.LIST: (_summarise_folder, _find_lists, _find_section),
    Kind.HOW: (_find_way,),
    Kind.WHO: (_introduce_note,),
    Kind.WHY: (_find_reasons,),
    Kind.WHAT: (_find_section,),
    Kind.RECENT: (_list_recent,),
}
"""What is tried in turn for each kind of question."""
