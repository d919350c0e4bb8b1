"""Whether a passage is sure to answer: it has enough of a question, looks like what is asked for
and, where it lacks a word, stands out from all others."""

import re
from collections.abc import Sequence

from agents.core.stemming import stem
from agents.llm.embedded.answer_types import names_one, tells_outcome
from agents.llm.embedded.note_names import rate_title
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.scoring import PassageScorer, ScoredPassage

CERTAIN_FACT, _CERTAIN, _CERTAIN_LACKING = 0.55, 0.75, 0.78
_CERTAIN_ANYHOW, _CERTAIN_WHY = 0.45, 0.3
"""The share of a question that a passage covers to be its answer: a fact, anything else, where it
lacks a word that tells what is asked, where little is enough, and a reason."""
_ALONE_MARGIN, _FAR_MARGIN, _WIDE_MARGIN = 0.15, 0.2, 0.3
"""How far others must stay behind a passage that lacks a word: one that has the deed, any other,
and one that lacks more or looks less like an answer."""
_MARGIN_WORTH, _LEAST_OWN, _LEAST_OWN_ALONE = 0.3, 0.2, 0.12
"""What it adds to that share when no other passage comes near; the share of its own words."""
_VERBS = (
    r"(?:do|does|did|is|are|was|were|has|have|had|can|could|should|must|may|will|would|goes|went|to"
    r"|if|we|they)\b"
)
_SORT = re.compile(
    r"(?:\w+ ){0,2}(?:which|welche[mnrs]?)\b"
    rf"|(?:\w+ )?what(?:'s)? (?!{_VERBS})(?:\w+ ){{1,3}}{_VERBS}"
)
"""How somebody asks for one of a sort: a passage without its name does not tell."""
_ONE_OF_A_SORT = re.compile(r"which (\w+)")
_EXISTS = re.compile(r"(?:do (?:i|we) have|(?:is|are) there|gibt es|haben wir|hab ich)\b")
_OFFICE = re.compile(r"(?:who|wer)(?: is| are| was| were|'s| ist| sind| war)\b")
"""How somebody asks for who holds an office: a passage without its name does not tell."""


def is_sure(scorer: PassageScorer, best: ScoredPassage, rated: Sequence[ScoredPassage]) -> bool:
    """Return whether a passage has enough of a question, and more of it than others have."""
    question, lacks_telling = scorer.question, scorer.lacks_telling(best.passage)
    others = (r for r in rated if r.passage.text != best.passage.text)
    second = next((r.score for r in others if scorer.may_tell(r.passage)), 0.0)
    margin = max(0.0, 1 - second / best.score) if best.score else 0.0
    if scorer.is_told(best.passage) or _stands_alone(scorer, best, margin):
        return True
    if _is_only_amount(scorer, best, rated):
        return True
    is_property = best.passage.kind == "property"
    if question.kind is Kind.WHO and is_property and not scorer.is_called(best.passage):
        return False
    if _lacks_sort(scorer, best):
        return False
    if question.is_fact and (lacks_telling or scorer.lacks_deed(best.passage)):
        return False
    is_lenient = (question.is_fact or question.german) and scorer.telling
    enough = CERTAIN_FACT if is_lenient else _CERTAIN
    enough = _CERTAIN_LACKING if lacks_telling else enough
    is_told = margin >= _FAR_MARGIN and scorer.has_all_own(best.passage)
    if is_told or _is_lax(question, best, margin):
        enough = _CERTAIN_WHY if question.kind is Kind.WHY else _CERTAIN_ANYHOW
    has_enough = best.coverage + _MARGIN_WORTH * margin >= enough
    return has_enough and _fits(question, best, margin)


def _lacks_sort(scorer: PassageScorer, best: ScoredPassage) -> bool:
    """Return whether a passage does not speak of the sort of which one is asked for."""
    asked = _ONE_OF_A_SORT.match(scorer.question.folded)
    return asked is not None and stem(asked[1]) in scorer.list_lacking(best.passage)


def _is_lax(question: Question, best: ScoredPassage, margin: float) -> bool:
    """Return whether little of a question is enough: a paragraph decides, or tells what follows."""
    if question.kind is Kind.YES_NO:
        return not _EXISTS.match(question.folded)
    if question.kind is Kind.WHY:
        return best.own >= _CERTAIN_WHY and best.passage.kind in ("sentence", "item")
    is_alone = margin >= _ALONE_MARGIN and best.passage.kind in ("sentence", "item")
    if question.kind is Kind.WHAT and is_alone and not _SORT.match(question.folded):
        return True
    return tells_outcome(best.passage.text, question) and best.own >= _LEAST_OWN


def _stands_alone(scorer: PassageScorer, best: ScoredPassage, margin: float) -> bool:
    """Return whether a passage that lacks a word is the only one that looks like the answer."""
    question, passage = scorer.question, best.passage
    if not question.is_fact or _OFFICE.match(question.folded) or passage.kind == "property":
        return False
    known = passage.stems | passage.around | passage.named
    known |= passage.before.stems if passage.before and passage.refers else frozenset()
    has_names = all(scorer.match(name, known) for name in question.names & scorer.weights.keys())
    is_done = question.kind is Kind.WHO and not scorer.lacks_deed(passage)
    is_far = margin >= (_ALONE_MARGIN if is_done else _FAR_MARGIN)
    if question.kind is Kind.WHO and question.verbs and scorer.lacks_deed(passage):
        return False
    looks_so = best.shape >= (0.5 if margin >= _WIDE_MARGIN else 0.7)
    has_enough = best.coverage >= _CERTAIN_ANYHOW and best.own >= _LEAST_OWN_ALONE
    is_near = has_names and has_enough and scorer.has_own(passage)
    return is_far and looks_so and is_near and _lacks_little(scorer, best, margin)


def _is_only_amount(
    scorer: PassageScorer, best: ScoredPassage, rated: Sequence[ScoredPassage]
) -> bool:
    """Return whether no other passage says such an amount of what one is asked of, in a note that
    has the rest of the question."""
    if not scorer.question.subject or not scorer.has_subject(best.passage, own=True):
        return False
    fits = (r for r in rated if r.shape >= 0.7 and scorer.has_subject(r.passage, own=True))
    is_only = best.shape == 1.0 and {r.passage.text for r in fits} == {best.passage.text}
    beside = (r.passage.stems for r in rated if r.passage.key == best.passage.key)
    return is_only and scorer.covers(best.passage.named.union(*beside))


def _lacks_little(scorer: PassageScorer, best: ScoredPassage, margin: float) -> bool:
    """Return whether a passage lacks one word, or two where it has as many and none comes near, but
    not what an amount is asked of."""
    lacking = [word for word in scorer.list_lacking(best.passage) if word in scorer.telling]
    subject = scorer.question.subject
    if subject and not scorer.has_subject(best.passage):
        return False
    has_most = bool(subject) or len(lacking) <= len(scorer.telling) - len(lacking)
    return len(lacking) <= 1 or (len(lacking) == 2 and has_most and margin >= _WIDE_MARGIN)


def _fits(question: Question, best: ScoredPassage, margin: float) -> bool:
    """Return whether a passage says it itself, or below a heading that does, and looks like it."""
    if not question.is_fact:
        is_reason = question.kind is Kind.WHY and best.own >= _CERTAIN_WHY
        is_named = names_one(question, best.passage.text, best.passage.heading)
        return best.own > 0 and (best.shape > 0 or is_reason) and is_named
    name = best.passage.heading or best.passage.title
    says = best.own >= _LEAST_OWN or rate_title(question, name) > 0.5
    return says and (best.shape >= 0.7 or (best.shape >= 0.5 and margin >= 0.1))
