"""The answer to a question: the passages that give it, and whether they are sure to."""

from collections.abc import Sequence
from dataclasses import replace

from agents.core.stemming import stems
from agents.llm.embedded.analysis import analyse
from agents.llm.embedded.certainty import CERTAIN_FACT, is_sure
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.finders import (
    SECTION_LENGTH,
    find_headed,
    find_mentions,
    find_reasons,
    find_section,
    introduce_note,
    list_notes,
    list_prose,
    list_recent,
    summarise_folder,
    summarise_note,
)
from agents.llm.embedded.list_finders import find_lists, find_subsections, find_way
from agents.llm.embedded.note_names import rate_note, rate_title
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import (
    PassageScorer,
    ScoredPassage,
    choose,
    continues,
)

_CERTAIN_ENTRY, _CERTAIN_TO_ADD, _NEAR = 0.6, 0.85, 0.25
"""The share of a question that an entry of a thread covers to be part of a list or of any other
answer, and any passage to be worth showing."""
_NEARLY, _SAYS_ALL = 0.8, 0.85
"""The share of the best score that makes a passage as good; better, if it lacks nothing."""
_CLOSE = 3
"""How many passages are shown."""

_FINDERS = {
    Kind.MENTION: (find_mentions,),
    Kind.SUMMARY: (summarise_note, summarise_folder),
    Kind.ABOUT: (find_section, introduce_note),
    Kind.LIST: (summarise_folder, find_subsections, find_lists, find_section),
    Kind.HOW: (find_way,),
    Kind.WHO: (introduce_note,),
    Kind.WHY: (find_reasons,),
    Kind.WHAT: (find_subsections, find_section),
    Kind.RECENT: (list_recent,),
}
"""What is tried in turn for each kind of question."""


def find_answer(question: Question, evidence: Evidence) -> Answer:
    """Return what answers a question, else what comes closest to it."""
    if question not in evidence.answers:
        found = _find_answer(question, evidence)
        if found.is_certain and not _stands_out(question, found, evidence):
            found = replace(found, is_certain=False, passages=found.passages[:_CLOSE])
        evidence.answers[question] = found
    return evidence.answers[question]


def _stands_out(question: Question, answer: Answer, evidence: Evidence) -> bool:
    """Return whether an answer is from a note that stands out in the search, or that the question
    names or the answer before has cited, or says all of it."""
    if question.kind is Kind.SUMMARY or not answer.passages:
        return True
    first = answer.passages[0]
    is_known = first.path in question.paths or first.kind == "entry" or first.source != "vault"
    if is_known or not evidence.is_even(first.path):
        return True
    scorer = PassageScorer(question, evidence.passages)
    rated = map(scorer.rate, answer.passages[:_CLOSE])
    return any(rate_note(question, r.passage) == 1.0 or r.own >= _SAYS_ALL for r in rated)


def _find_answer(question: Question, evidence: Evidence) -> Answer:
    if question.kind is Kind.CODE and evidence.code:
        return _find_code(question, evidence)
    if question.kind is Kind.NOTES and evidence.listing:
        return Answer(list_notes(evidence), is_certain=True)
    passages = evidence.passages
    if not passages:
        return Answer()
    if question.kind is Kind.COMPARE and len(question.sides) == 2:
        return _compare(question, evidence)
    scorer = PassageScorer(question, passages)
    for find in (find_headed, *_FINDERS.get(question.kind, ())):
        if found := find(scorer, evidence):
            enough = _CERTAIN_ENTRY if question.kind is Kind.LIST else _CERTAIN_TO_ADD
            shown = {passage.key for passage in found}
            entries = [e for e in evidence.openings if scorer.rate(e).coverage >= enough]
            return Answer([*found, *(e for e in entries if e.key not in shown)], is_certain=True)
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
    """Return the best passages; as the answer where they have enough of the question."""
    question, rated = scorer.question, scorer.sort(passages)
    near = (r for r in rated if r.score >= _NEARLY * rated[0].score)
    whole = [r for r in near if scorer.is_whole(r.passage)]
    best = min(whole, key=lambda r: _rank(scorer, r.passage), default=rated[0])
    if not (whole and is_sure(scorer, best, rated)):
        return Answer(_list_closest(rated))
    share = 0.7 if question.kind is Kind.YES_NO else _NEARLY
    near = (r for r in rated if share * best.score <= r.score <= best.score)
    chosen = choose([best, *near], _CLOSE)
    is_short = question.is_fact and best.coverage >= _NEARLY
    if not is_short or best.passage.text.endswith(":"):
        told = [p for p in passages if continues(p, best.passage)]
        told += _list_next_steps(best.passage, passages) if question.kind is Kind.HOW else []
        is_part = not question.is_fact or best.passage.kind == "sentence"
        around = _list_paragraph(best.passage, passages) if is_part else [best.passage]
        chosen = [*around, *(p for p in (*told[:SECTION_LENGTH], *chosen) if p not in around)]
    return Answer(chosen, is_certain=True, lacks_word=any(_lacks(scorer, best.passage)))


def _list_paragraph(passage: Passage, passages: Sequence[Passage]) -> list[Passage]:
    """Return the paragraph of a sentence or the list of an item, of a long one what stands beside
    it."""
    if passage.kind not in ("sentence", "item") or passage.is_step:
        return [passage]
    same = [p for p in passages if (p.path, p.block) == (passage.path, passage.block)]
    at = same.index(passage)
    beside = same[max(0, at - 2) : at + 3] if passage.kind == "sentence" else [passage]
    return same if len(same) <= SECTION_LENGTH else beside


def _lacks(scorer: PassageScorer, passage: Passage) -> tuple[bool, bool]:
    """Return whether a passage lacks a word that tells what is asked, and the deed."""
    return scorer.lacks_telling(passage), scorer.lacks_deed(passage)


def _rank(scorer: PassageScorer, passage: Passage) -> tuple[bool, ...]:
    is_told, strays = scorer.is_told(passage), scorer.strays(passage)
    return not is_told, strays, *_lacks(scorer, passage)


def _list_next_steps(step: Passage, passages: Sequence[Passage]) -> list[Passage]:
    same = [p for p in passages if p.path == step.path and p.block == step.block and p.is_step]
    return same[same.index(step) + 1 :][:_CLOSE] if step in same else []


def _list_closest(rated: Sequence[ScoredPassage]) -> list[Passage]:
    return choose([r for r in rated if r.own > 0 and r.coverage >= _NEAR], _CLOSE)


def _compare(question: Question, evidence: Evidence) -> Answer:
    """Return what there is about both: sure where it stands in a note or a section on each."""
    sides = []
    for side in question.sides:
        scorer = PassageScorer(analyse(side), evidence.passages)
        told = _find_passages(scorer, evidence.passages)
        if found := summarise_note(scorer, evidence):
            own = [p for p in told.passages if p.path == found[0].path and p not in found]
            told = Answer(sorted([*found, *own], key=lambda p: p.line), is_certain=True)
        elif found := _list_headed(scorer.question, evidence.passages):
            told = Answer(found, is_certain=True)
        elif not any(_is_about(scorer.question, p) for p in told.passages):
            told = Answer(told.passages)
        sides.append((side, told))
    return Answer(is_certain=all(a.is_certain for _, a in sides), sides=sides)


def _list_headed(question: Question, passages: Sequence[Passage]) -> list[Passage]:
    """Return the rows of tables that are on what a question names, else how its section begins."""
    asked = frozenset(question.weights)
    rows = [p for p in passages if asked & {*stems(_get_row(p))}]
    below = [p for p in list_prose(passages) if asked and asked <= {*stems(p.heading)}]
    named = [p for p in rows if rate_title(question, _get_row(p)) == 1.0][:2]
    return named or [p for p in below if rate_title(question, p.heading) == 1.0][:_CLOSE]


def _get_row(passage: Passage) -> str:
    """Return what the row of a table is about: its first cell."""
    return passage.text.partition(" · ")[0] if passage.kind == "row" else ""


def _is_about(question: Question, passage: Passage) -> bool:
    """Return whether a section, or the row of a table, is on what a question names."""
    names = (passage.title, passage.heading, _get_row(passage))
    return any(rate_title(question, name) >= 0.5 for name in names)
