"""What answers a kind of question as a whole: a note, a section, a list, steps, mentions."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import itemgetter
from pathlib import PurePosixPath

from agents.core.stemming import fold, stems
from agents.llm.embedded.answer_types import gives_reasons
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.note_names import rate_note, rate_title
from agents.llm.embedded.passages import Passage, stem_all
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import PassageScorer
from agents.llm.embedded.vocabulary import LIGHT

_MAX_ENTRIES, _MAX_LISTS, _MAX_MENTIONS, _MAX_SECTIONS = 20, 5, 12, 9
_ENOUGH, _ENOUGH_STEPS, _SAYS_WHY, _ELSEWHERE, _ITSELF = 0.5, 0.3, 0.35, 0.4, 0.2
_FEW_SECTIONS, _LITTLE = 6, 2
"""So few sentences say little of a note with many properties."""
SECTION_LENGTH, _HEADED, _IN_NOTE = 5, 0.6, 0.5
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


def _introduce_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    note = _find_note(scorer, evidence)
    asks_whole = scorer.question.kind is Kind.ABOUT
    needed = [word for word in scorer.weights if not (asks_whole and word in LIGHT)]
    if note and not all(scorer.match(word, note[0].named) for word in needed):
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
    best = sections[rates.index(top)] if top > least else []
    return best[: _MAX_ENTRIES if any(p.kind == "item" for p in best) else SECTION_LENGTH]


def _find_section(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
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
        is_whole = whole >= 0.7 and scorer.covers(_know(section))
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


def _find_reasons(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return a section of reasons in the note asked about, unless one sentence says it all."""
    best = scorer.sort(evidence.passages)[0]
    said = best.coverage if best.shape == 1.0 and best.own >= _SAYS_WHY else 0.0
    said += _ITSELF if said and best.own >= _ENOUGH else 0.0

    def rate(section: list[Passage]) -> float:
        if not gives_reasons(section[0].heading):
            return 0.0
        known = _know(section)
        names = scorer.question.names & scorer.weights.keys()
        is_own = not scorer.question.paths  # a name may be of what was said before
        if is_own and not all(scorer.match(name, known) for name in names):
            return 0.0
        note = _know(evidence.notes[section[0].key])
        told = scorer.cover((known, 1.0), (note, _ELSEWHERE))
        return told + 0.5 * (section[0].path in scorer.question.paths)

    return _find_best_section(evidence, rate, max(0.5, said))


def _find_lists(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the lists and tables that answer, or the entries of them that fit."""
    lists = [block for block in evidence.blocks if not all(p.is_pointer for p in block)]
    blocks = _find_best_blocks(scorer, lists, evidence)
    return [entry for block in blocks for entry in _list_entries(scorer, block)][:_MAX_ENTRIES]


def _find_subsections(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the sections below a heading begin that names what is listed."""
    found: dict[tuple[str, ...], list[Passage]] = {}
    for passage in (p for note in evidence.notes.values() for p in list_prose(note)):
        below = found.setdefault((passage.path, *passage.headings[:-1]), [])
        if len(passage.headings) > 1 and all(p.headings != passage.headings for p in below):
            below.append(passage)
    several = [below for below in found.values() if len(below) > 1]
    notes = [_know(evidence.notes[below[0].key]) for below in several]
    rates = list(map(partial(_rate_parent, scorer), several, notes))
    best, sections = max(zip(rates, several, strict=True), key=itemgetter(0), default=(0.0, []))
    return sections if best >= _HEADED else []


def _rate_parent(scorer: PassageScorer, below: Sequence[Passage], note: frozenset[str]) -> float:
    parent, known = below[0].headings[-2], _know(below).union(*(p.around for p in below))
    asked = [_rate_heading(scorer, [p]) > 0 for p in below]
    if any(asked) and not all(asked):  # one of them is asked for
        return 0.0
    enough = _ENOUGH if scorer.question.asks_others else 1.0
    is_named = rate_title(scorer.question, parent) >= enough
    return scorer.cover((known, 1.0), (note, _IN_NOTE)) if is_named else 0.0


def _find_way(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the steps for who asks how, and the section that says it for who asks what to do."""
    asks_how = re.search(r"\b(?:how|wie)\b", scorer.question.folded)
    section, steps = _find_section(scorer, evidence), _find_steps(scorer, evidence)
    if scorer.question.asks_outcome and steps and not _rate_heading(scorer, steps):
        steps = []
    is_list = any(p.kind == "item" and not p.is_step for p in section)
    if asks_how and is_list and not steps:  # of what it takes, not how it is done
        steps = _find_steps_beside(scorer, evidence, section[0])
    if not (asks_how and section and steps) or is_list:
        return (steps or section) if asks_how else (section or steps)
    is_named = _rate_heading(scorer, section) > _rate_heading(scorer, steps)
    return section if is_named else steps


def _find_steps_beside(scorer: PassageScorer, evidence: Evidence, first: Passage) -> list[Passage]:
    """Return the steps in the same note that have most of what is asked."""
    blocks = [b for b in evidence.blocks if b[0].key == first.key and b[0].is_step and len(b) > 1]
    return max(blocks, key=lambda b: sum(map(scorer.count_telling, b)) / len(b), default=[])


def _rate_heading(scorer: PassageScorer, passages: Sequence[Passage]) -> float:
    return scorer.cover((stem_all(passages[0].heading), 1.0))


def _find_steps(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the numbered steps that answer: all lists of them in one note."""
    steps = [block for block in evidence.blocks if len(block) > 1 and block[0].is_step]
    asks_way = re.search(r"\b(?:how|wie|steps?)\b(?! did)|schritt", scorer.question.folded)
    blocks = _find_best_blocks(scorer, steps, evidence, are_steps=bool(asks_way))
    told = [scorer.count_telling(step) for block in blocks for step in block]
    is_headed = any(scorer.match(w, stem_all(b[0].heading)) for b in blocks for w in scorer.weights)
    asks_one = not is_headed and not re.search(r"\bstep|schritt", scorer.question.folded)
    if asks_one and told and max(told) > 1 and sum(map(bool, told)) < len(told) / 2:
        return []
    same = {(block[0].path, block[0].headings) for block in blocks[:1]}
    return [step for block in steps if (block[0].path, block[0].headings) in same for step in block]


def _find_best_blocks(
    scorer: PassageScorer,
    blocks: Sequence[list[Passage]],
    evidence: Evidence,
    *,
    are_steps: bool = False,
) -> list[list[Passage]]:
    """Return the blocks that say what is asked, or nearly as much of it as the best one does.

    Of steps it is enough that their note says it, but for one word: they tell what to do.
    """
    enough = _ENOUGH_STEPS if are_steps else _ENOUGH

    def rate(block: list[Passage]) -> float:
        first, known = block[0], _know(block)
        rate = scorer.cover((first.around, 1.0), (first.named, 0.9), (known, 0.8))
        note = _know(evidence.notes[first.key])
        if not are_steps:
            headed = _rate_heading(scorer, block)
            if scorer.covers(known, lacking=rate >= _HEADED and headed > 0):
                return rate
            is_told = headed and scorer.covers(known | note)
            return scorer.cover((known, 1.0), (note, _IN_NOTE)) if is_told else 0.0
        is_headed = any(scorer.match(word, first.around) for word in scorer.weights)
        is_headed = is_headed or any(scorer.match(word, first.named) for word in scorer.telling)
        if not is_headed:
            return rate if rate >= _ENOUGH and scorer.covers(known) else 0.0
        return rate if scorer.covers(known | note, lacking=1) else 0.0

    rated = [(rate(block), block) for block in blocks]
    least = max(enough, 0.9 * max((rate for rate, _ in rated), default=0.0))
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
    Kind.LIST: (_summarise_folder, _find_subsections, _find_lists, _find_section),
    Kind.HOW: (_find_way,),
    Kind.WHO: (_introduce_note,),
    Kind.WHY: (_find_reasons,),
    Kind.WHAT: (_find_subsections, _find_section),
    Kind.RECENT: (_list_recent,),
}
"""What is tried in turn for each kind of question."""
