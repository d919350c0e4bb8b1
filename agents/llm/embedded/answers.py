"""The answer to a question: the passages that give it, and whether they are sure to."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import groupby
from pathlib import PurePosixPath

from agents.core.stemming import stems
from agents.llm.embedded.answer_types import gives_reasons
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Kind, Question, analyse
from agents.llm.embedded.scoring import (
    PassageScorer,
    ScoredPassage,
    choose,
    continues,
    rate_note,
    rate_title,
)

CERTAIN, CERTAIN_FACT, CERTAIN_ENTRY, CERTAIN_LACKING, NEAR = 0.75, 0.55, 0.6, 0.78, 0.25
"""The share of a question that a passage covers: to be its answer, also where it lacks a word that
tells what is asked, and to be worth showing."""
_MARGIN_WORTH, _LEAST_OWN = 0.3, 0.2
"""What it adds to that share when no other passage comes near; the share of its own words."""
_NEARLY, _ALIKE = 0.8, 0.95
"""The share of the best score that makes a passage as good; better, if it lacks nothing."""
_MAX_ENTRIES, _MAX_LISTS, _MAX_MENTIONS = 20, 5, 12
_MAX_SECTIONS, _SECTION_LENGTH, _CLOSE = 9, 5, 3


def find_answer(question: Question, evidence: Evidence) -> Answer:
    """Return what answers a question, else what comes closest to it."""
    if question not in evidence.answers:
        evidence.answers[question] = _find_answer(question, evidence)
    return evidence.answers[question]


def _find_answer(question: Question, evidence: Evidence) -> Answer:
    if question.kind is Kind.CODE and evidence.code:
        return _find_code(question, evidence)
    if question.kind is Kind.NOTES and evidence.listing:
        return Answer(_list_notes(evidence), is_certain=True)
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
    """Return the best passages; as the answer where they have enough of the question, and more of
    it than others have."""
    question, rated = scorer.question, scorer.sort(passages)
    near = (r for r in rated if r.score >= _NEARLY * rated[0].score)
    whole = [r for r in near if scorer.is_whole(r.passage)]
    best = min(whole, key=lambda r: scorer.lacks_telling(r.passage), default=rated[0])
    others = [r.score for r in rated if r.passage.text != best.passage.text]
    margin = max(0.0, 1 - max(others, default=0.0) / best.score) if best.score else 0.0
    alike = sum(score >= _ALIKE * best.score for score in others)
    is_sole = alike < _CLOSE or not scorer.list_lacking(best.passage)
    is_lenient = (question.is_fact or question.german) and scorer.telling
    enough = CERTAIN_FACT if is_lenient else CERTAIN
    enough = CERTAIN_LACKING if scorer.lacks_telling(best.passage) else enough
    has_enough = best.coverage + _MARGIN_WORTH * margin >= enough
    if not (whole and is_sole and has_enough and _fits(question, best, margin)):
        return Answer(_list_closest(rated))
    share = 0.7 if question.kind is Kind.YES_NO else _NEARLY
    near = (r for r in rated if share * best.score <= r.score <= best.score)
    chosen = choose([best, *near], _CLOSE)
    if not question.is_fact or best.passage.text.endswith(":"):
        is_bare = question.kind is Kind.WHY and best.shape < 1.0  # the reason stands after it
        told = [p for p in passages if continues(p, best.passage, anyway=is_bare)]
        told = [p for p in told if p not in chosen]
        chosen[1:1] = told[:_SECTION_LENGTH]
    return Answer(chosen, is_certain=True)


def _fits(question: Question, best: ScoredPassage, margin: float) -> bool:
    """Return whether a passage says it itself, or below a heading that does, and looks like it."""
    if not question.is_fact:
        return best.own > 0
    name = best.passage.heading or best.passage.title
    says = best.own >= _LEAST_OWN or rate_title(question, name) > 0.5
    return says and (best.shape >= 0.7 or (best.shape >= 0.5 and margin >= 0.1))


def _list_closest(rated: Sequence[ScoredPassage]) -> list[Passage]:
    return choose([r for r in rated if r.own > 0 and r.coverage >= NEAR], _CLOSE)


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


def _summarise_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the first sentence of each section of a note; of one without any, its properties."""
    note = _find_note(scorer, evidence)
    properties = [p for p in note if p.kind == "property"]
    sections = [list(below) for _, below in groupby(_list_prose(note), lambda p: p.headings)]
    kept = [section[: 2 if number == 0 else 1] for number, section in enumerate(sections)]
    told = [p for section in kept[:_MAX_SECTIONS] for p in section]
    return [*(properties[:_MAX_SECTIONS] if len(properties) > 4 or not told else ()), *told]


def _introduce_note(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    note = _find_note(scorer, evidence)
    if note and not all(scorer.match(word, note[0].named) for word in scorer.weights):
        return []
    return _list_prose(note)[:3] or note[:_MAX_SECTIONS]


def _list_recent(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the newest notes begin: they were read in that order."""
    return [p for note in evidence.notes.values() for p in (_list_prose(note) or note)[:3]]


def _list_prose(note: Iterable[Passage]) -> list[Passage]:
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
            prose = _list_prose(note) or note
            gist = next((p for p in prose if asked & {*stems(p.heading)}), prose[0])
            lines.append(replace(gist, kind="entry", text=f"{gist.title}: {gist.text}"))
    unread = [e for e in _list_notes(evidence, f"{folder}/") if e.path not in inside]
    return [*lines, *(unread if not rest else ())]


def _list_notes(evidence: Evidence, folder: str = "") -> list[Passage]:
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
    grouped = (groupby(_list_prose(note), lambda p: p.headings) for note in notes)
    sections = [list(below) for note in grouped for _, below in note]
    rates = list(map(rate, sections))
    top = max(rates, default=0.0)
    return sections[rates.index(top)][:_SECTION_LENGTH] if top > least else []


def _find_section(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the section whose heading, with the name of its note, says what is asked."""

    def rate(section: list[Passage]) -> float:
        whole = scorer.cover((section[0].around | section[0].named, 1.0))
        is_whole = whole >= 0.7 and scorer.covers(_know(section))
        return whole * rate_title(scorer.question, section[0].heading) if is_whole else 0.0

    return _find_best_section(evidence, rate, 0.5)


def _find_headed(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
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


def _find_steps(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the numbered steps that answer: all lists of them in one note."""
    if "what happens" in scorer.question.folded:
        return []
    steps = [block for block in evidence.blocks if len(block) > 1 and block[0].is_step]
    blocks = _find_best_blocks(scorer, steps, 0.6)
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
        elif not any(_is_about(scorer.question, p) for p in told.passages):
            told = Answer(told.passages)
        sides.append((side, told))
    return Answer(is_certain=all(a.is_certain for _, a in sides), sides=sides)


def _is_about(question: Question, passage: Passage) -> bool:
    """Return whether a section, or the row of a table, is on what a question names."""
    row = passage.text.partition(" · ")[0] if passage.kind == "row" else ""
    return any(rate_title(question, name) >= 0.5 for name in (passage.title, passage.heading, row))


_FINDERS = {
    Kind.MENTION: (_find_mentions,),
    Kind.SUMMARY: (_summarise_note, _summarise_folder),
    Kind.ABOUT: (_find_section, _introduce_note),
    Kind.LIST: (_summarise_folder, _find_lists, _find_section),
    Kind.HOW: (_find_section, _find_steps),
    Kind.WHO: (_introduce_note,),
    Kind.WHY: (_find_reasons,),
    Kind.WHAT: (_find_section,),
    Kind.RECENT: (_list_recent,),
}
