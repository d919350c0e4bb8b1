"""What answers as a list: entries of lists and tables, sections below a heading, steps."""

import re
from collections.abc import Sequence

from agents.llm.embedded.evidence import Evidence, collect_stems
from agents.llm.embedded.finders import MAX_ENTRIES, find_section, list_prose
from agents.llm.embedded.note_names import rate_title
from agents.llm.embedded.passages import Passage, stem_all
from agents.llm.embedded.scoring import PassageScorer

Block = Sequence[Passage]

_MAX_LISTS = 5
_ENOUGH, _ENOUGH_STEPS, _HEADED, _WHOLLY = 0.5, 0.3, 0.6, 0.75
"""The share of a question that a list says with what stands around it, steps, one whose heading has
a word of it, and the heading above sections."""
_IN_NOTE = 0.5
"""What a word is worth that stands elsewhere in the note of a list."""
_OTHER = re.compile(r"other|alternative|further|weitere|andere", re.IGNORECASE)
_ASKS_HOW, _ASKS_STEPS = re.compile(r"\b(?:how|wie)\b"), re.compile(r"\bstep|schritt")
_ASKS_WAY = re.compile(r"\b(?:how|wie|steps?)\b(?! did)|schritt")


# -- lists, tables, sections -----------------------------------------------------------------------


def find_lists(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the lists and tables that answer, or the entries of them that fit."""
    lists = [block for block in evidence.blocks if not all(p.is_pointer for p in block)]
    rates = [_rate_list(scorer, block, evidence) for block in lists]
    best = _choose_best(lists, rates, _ENOUGH)
    return [entry for block in best for entry in _list_entries(scorer, block)][:MAX_ENTRIES]


def _rate_list(scorer: PassageScorer, block: Block, evidence: Evidence) -> float:
    """Rate a list by what it says of a question, itself and around it; below a heading that has a
    word of it, the rest may stand in its note."""
    known, rate, headed = (
        collect_stems(block),
        _rate_around(scorer, block),
        _rate_heading(scorer, block),
    )
    if scorer.covers(known, lacking=rate >= _HEADED and headed > 0):
        return rate
    note = evidence.known[block[0].key] if headed else frozenset[str]()
    is_told = headed and scorer.covers(known | note)
    return scorer.cover((known, 1.0), (note, _IN_NOTE)) if is_told else 0.0


def _rate_around(scorer: PassageScorer, block: Block) -> float:
    return scorer.cover((block[0].around, 1.0), (block[0].named, 0.9), (collect_stems(block), 0.8))


def _rate_heading(scorer: PassageScorer, block: Block) -> float:
    return scorer.cover((stem_all(block[0].heading), 1.0))


def _choose_best(blocks: Sequence[Block], rates: Sequence[float], enough: float) -> list[Block]:
    """Return the blocks that say enough, and nearly as much as the best one does."""
    least = max(enough, 0.9 * max(rates, default=0.0))
    return [b for b, rate in zip(blocks, rates, strict=True) if rate >= least][:_MAX_LISTS]


def _list_entries(scorer: PassageScorer, block: Block) -> list[Passage]:
    """Return entries that have what the surroundings do not say; all if no word is such."""
    around = block[0].around | block[0].named
    narrowing = [word for word in scorer.weights if not scorer.match(word, around)]
    fits = [sum(scorer.match(word, p.stems) > 0 for word in narrowing) for p in block]
    return [entry for entry, fit in zip(block, fits, strict=True) if fit == max(fits)]


def find_subsections(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return how the sections below a heading begin that names what is listed."""
    found: dict[tuple[str, ...], list[Passage]] = {}
    for passage in (p for note in evidence.notes.values() for p in list_prose(note)):
        below = found.setdefault((passage.path, *passage.headings[:-1]), [])
        is_new = not below or below[-1].headings != passage.headings
        if len(passage.headings) > 1 and is_new:
            below.append(passage)
    several = [below for below in found.values() if len(below) > 1]
    rates = [_rate_parent(scorer, below, evidence) for below in several]
    best = several[rates.index(max(rates))] if max(rates, default=0.0) >= _HEADED else []
    return best[:MAX_ENTRIES]


def _rate_parent(scorer: PassageScorer, below: Block, evidence: Evidence) -> float:
    """Rate the heading above sections; not if one of them is asked for."""
    parent, named = below[0].headings[-2], below[0].named
    asked = [_rate_heading(scorer, [passage]) > 0 for passage in below]
    if any(asked) and not all(asked):
        return 0.0
    title, asks_others = rate_title(scorer.question, parent), scorer.question.asks_others
    said = scorer.cover((stem_all(parent), 1.0), (named, 1.0))
    is_other = asks_others and (title >= _ENOUGH or _OTHER.match(parent))
    if not (is_other or (title == 1.0 and said >= _WHOLLY)):
        return 0.0
    known = collect_stems(below).union(*(passage.around for passage in below))
    return scorer.cover((known, 1.0), (evidence.known[below[0].key], _IN_NOTE))


# -- steps -----------------------------------------------------------------------------------------


def find_way(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the steps for who asks how, and the section that says it for who asks what to do; of
    both the one whose heading has more of the question."""
    section, steps = find_section(scorer, evidence), _find_steps(scorer, evidence)
    if scorer.question.asks_outcome and steps and not _rate_heading(scorer, steps):
        steps = []
    if not _ASKS_HOW.search(scorer.question.folded):
        return section or steps
    is_list = any(p.kind == "item" and not p.is_step for p in section)
    if is_list:  # of what it takes, not how it is done
        return steps or _find_steps_beside(scorer, evidence, section[0]) or section
    is_named = bool(section and steps) and (
        _rate_heading(scorer, section) > _rate_heading(scorer, steps)
    )
    return section if is_named else steps or section


def _find_steps(scorer: PassageScorer, evidence: Evidence) -> list[Passage]:
    """Return the numbered steps that answer: all lists of them in one note."""
    steps = [block for block in evidence.blocks if len(block) > 1 and block[0].is_step]
    rate = _rate_steps if _ASKS_WAY.search(scorer.question.folded) else _rate_list
    enough = _ENOUGH_STEPS if rate is _rate_steps else _ENOUGH
    blocks = _choose_best(steps, [rate(scorer, block, evidence) for block in steps], enough)
    told = [scorer.count_telling(step) for block in blocks for step in block]
    is_headed = any(_rate_heading(scorer, block) for block in blocks)
    asks_one = not is_headed and not _ASKS_STEPS.search(scorer.question.folded)
    if asks_one and told and max(told) > 1 and sum(map(bool, told)) < len(told) / 2:
        return []
    same = {(block[0].path, block[0].headings) for block in blocks[:1]}
    return [step for block in steps if (block[0].path, block[0].headings) in same for step in block]


def _rate_steps(scorer: PassageScorer, block: Block, evidence: Evidence) -> float:
    """Rate steps: it is enough that their note says what is asked, but for one word."""
    first, known = block[0], collect_stems(block)
    rate = _rate_around(scorer, block)
    is_headed = any(scorer.match(word, first.around) for word in scorer.weights)
    is_headed = is_headed or any(scorer.match(word, first.named) for word in scorer.telling)
    if not is_headed:
        return rate if rate >= _ENOUGH and scorer.covers(known) else 0.0
    return rate if scorer.covers(known | evidence.known[first.key], lacking=1) else 0.0


def _find_steps_beside(scorer: PassageScorer, evidence: Evidence, first: Passage) -> list[Passage]:
    """Return the steps in the same note that have most of what is asked."""
    blocks = [b for b in evidence.blocks if b[0].key == first.key and b[0].is_step and len(b) > 1]
    return max(blocks, key=lambda b: sum(map(scorer.count_telling, b)) / len(b), default=[])
