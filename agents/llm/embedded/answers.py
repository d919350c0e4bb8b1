"""The answer to a question: the passages that give it, and whether they are sure to."""

from collections.abc import Sequence

from agents.core.stemming import stems
from agents.llm.embedded.answer_types import names_one
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.finders import (
    FINDERS,
    SECTION_LENGTH,
    find_headed,
    list_notes,
    list_prose,
    summarise_note,
)
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Question, analyse
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import (
    PassageScorer,
    ScoredPassage,
    choose,
    continues,
    rate_title,
)

CERTAIN, CERTAIN_FACT, CERTAIN_ENTRY, CERTAIN_LACKING, NEAR = 0.75, 0.55, 0.6, 0.78, 0.25
"""The share of a question that a passage covers: to be its answer, also where it lacks a word that
tells what is asked, and to be worth showing."""
_MARGIN_WORTH, _LEAST_OWN = 0.3, 0.2
"""What it adds to that share when no other passage comes near; the share of its own words."""
_NEARLY = 0.8
"""The share of the best score that makes a passage as good; better, if it lacks nothing."""
_CLOSE, _WORTH_BEFORE = 3, 0.15
"""How many passages are shown; the share that makes the sentence before one worth it as well."""


def find_answer(question: Question, evidence: Evidence) -> Answer:
    """Return what answers a question, else what comes closest to it."""
    if question not in evidence.answers:
        evidence.answers[question] = _find_answer(question, evidence)
    return evidence.answers[question]


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
    for find in (find_headed, *FINDERS.get(question.kind, ())):
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
    """Return the best passages; as the answer where they have enough of the question."""
    question, rated = scorer.question, scorer.sort(passages)
    near = (r for r in rated if r.score >= _NEARLY * rated[0].score)
    whole = [r for r in near if scorer.is_whole(r.passage)]
    best = min(whole, key=lambda r: scorer.lacks_telling(r.passage), default=rated[0])
    if not (whole and _is_sure(scorer, best, rated)):
        return Answer(_list_closest(rated))
    share = 0.7 if question.kind is Kind.YES_NO else _NEARLY
    near = (r for r in rated if share * best.score <= r.score <= best.score)
    chosen = choose([best, *near], _CLOSE)
    if not question.is_fact or best.passage.text.endswith(":"):
        is_bare = question.kind is Kind.WHY and best.shape < 1.0  # the reason stands after it
        told = [p for p in passages if continues(p, best.passage, anyway=is_bare)]
        told += _list_next_steps(best.passage, passages) if question.kind is Kind.HOW else []
        told = [p for p in told if p not in chosen]
        chosen[1:1] = told[:SECTION_LENGTH]
    before = best.passage.before
    if before and before not in chosen and not question.is_fact:
        both = scorer.cover((before.stems, 1.0), (best.passage.stems, 1.0))
        chosen[:0] = [before] if both >= best.own + _WORTH_BEFORE else []
    return Answer(chosen, is_certain=True)


def _is_sure(scorer: PassageScorer, best: ScoredPassage, rated: Sequence[ScoredPassage]) -> bool:
    """Return whether a passage has enough of a question, and more of it than others have."""
    question, lacks_telling = scorer.question, scorer.lacks_telling(best.passage)
    if question.is_fact and (lacks_telling or scorer.lacks_deed(best.passage)):
        return False
    others = [r.score for r in rated if r.passage.text != best.passage.text]
    margin = max(0.0, 1 - max(others, default=0.0) / best.score) if best.score else 0.0
    is_lenient = (question.is_fact or question.german) and scorer.telling
    enough = CERTAIN_FACT if is_lenient else CERTAIN
    enough = CERTAIN_LACKING if lacks_telling else enough
    has_enough = best.coverage + _MARGIN_WORTH * margin >= enough
    return has_enough and _fits(question, best, margin)


def _list_next_steps(step: Passage, passages: Sequence[Passage]) -> list[Passage]:
    same = [p for p in passages if p.path == step.path and p.block == step.block and p.is_step]
    return same[same.index(step) + 1 :][:_CLOSE] if step in same else []


def _fits(question: Question, best: ScoredPassage, margin: float) -> bool:
    """Return whether a passage says it itself, or below a heading that does, and looks like it."""
    if not question.is_fact:
        is_reason = question.kind is Kind.WHY and best.coverage >= CERTAIN
        is_named = names_one(question, best.passage.text, best.passage.heading)
        return best.own > 0 and (best.shape > 0 or is_reason) and is_named
    name = best.passage.heading or best.passage.title
    says = best.own >= _LEAST_OWN or rate_title(question, name) > 0.5
    return says and (best.shape >= 0.7 or (best.shape >= 0.5 and margin >= 0.1))


def _list_closest(rated: Sequence[ScoredPassage]) -> list[Passage]:
    return choose([r for r in rated if r.own > 0 and r.coverage >= NEAR], _CLOSE)


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
