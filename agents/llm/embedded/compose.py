"""The answer: passages with citations, under fixed phrases, as long as there is room."""

import re
from collections.abc import Iterable, Sequence

from agents.llm.embedded.evidence import Material
from agents.llm.embedded.formatting import as_text, shown
from agents.llm.embedded.lists import best_lists
from agents.llm.embedded.passages import Unit
from agents.llm.embedded.phrases import phrases
from agents.llm.embedded.question import Kind, Question, analyse
from agents.llm.embedded.request import CITATION
from agents.llm.embedded.scoring import FOUND, NEAR, Scale, Weighed, chosen, same_fact
from agents.llm.embedded.sections import asked_for, reasons, summary

_MOST = {Kind.WHAT: 4, Kind.WHY: 3, Kind.YES_NO: 3, Kind.HOW: 4}
_LISTED, _MENTIONS = 60, 12
_FACT_FOUND = 0.7
"""As FOUND, when a word of the question is nowhere in the notes: then the fact may be, too."""
_REFERS = re.compile(r"\b(?:it|he|she|they|them|this|these|that|es|sie|er|ihn|ihm)\b", re.I)


def compose(
    questions: Sequence[Question], material: Material, room: int, *, can_search: bool
) -> str:
    """Return the whole answer in at most `room` characters, where that is possible."""
    said = phrases(any(question.german for question in questions))
    blocks: list[str] = []
    for question in questions:
        found = _answer(question, material, said, can_search)
        missing = found[0].startswith((said["nothing"], said["failed"], said["not_yet"]))
        if len(questions) > 1 and missing:
            blocks.append(said["about"].format(question.text[:80]))
        blocks.extend(_unsaid(found, blocks))
    end = said["declared"] if _quotes(blocks) else said["plain"]
    text = "".join(blocks)
    if any(f"[{unit.path}:{unit.line}]" in text for unit in material.units if not unit.read):
        end = f"{said['unread']} {end}"
    return _fitted(blocks, end, room)


def _unsaid(found: Sequence[str], blocks: Sequence[str]) -> list[str]:
    """Return blocks without the bullets that an earlier part of the answer has."""
    said = {line for block in blocks for line in block.split("\n") if line.startswith("- ")}
    left = ("\n".join(ln for ln in block.split("\n") if ln not in said) for block in found)
    return [block for block in left if block.strip() and block not in blocks]


def _quotes(blocks: Iterable[str]) -> bool:
    return any(CITATION.search(block) for block in blocks)


def _fitted(blocks: list[str], end: str, room: int) -> str:
    """As many blocks as fit before the last line; of the first, at least its head."""
    left = room - len(end) - 2
    kept: list[str] = []
    for block in blocks:
        while len(block) + 2 > left and "\n" in block and len(block.split("\n")) > 2:
            block = block.rpartition("\n")[0]
        if len(block) + 2 > left:
            break
        kept.append(block)
        left -= len(block) + 2
    return "\n\n".join([*(kept or blocks[:1]), end] if kept or not blocks else blocks[:1])


def _answer(
    question: Question, material: Material, said: dict[str, str], can_search: bool
) -> list[str]:
    match question.kind:
        case Kind.TALK:
            return [said["talk"]]
        case Kind.CALCULATE if result := material.result(
            "calculate", expression=question.expression
        ):
            return [f"{said['about'].format(question.expression)} {result}"]
        case Kind.TIME if result := material.result("current_time"):
            return [f"{said['result']} {result}"]
        case Kind.NOTES if material.talk.results("vault_list"):
            return _listing(material, said)
    if material.units:
        return _from_notes(question, material, said)
    if material.failure:
        return [f"{said['failed']} {as_text(' '.join(material.failure.split())[:300])}"]
    if material.queries:
        return _nothing(material, said)
    return [said["not_yet" if can_search else "no_tool"]]


def _nothing(material: Material, said: dict[str, str]) -> list[str]:
    looked = "; ".join(f"“{query}”" for query in dict.fromkeys(material.queries))
    return [f"{said['nothing']} {said['looked'].format(looked)}"]


def _listing(material: Material, said: dict[str, str]) -> list[str]:
    if not material.listing:
        return [said["empty"]]
    lines = [f"- {as_text(title)} [{path}]" for path, title in material.listing[:_LISTED]]
    more = [said["more"]] if len(material.listing) > _LISTED else []
    return ["\n".join([said["notes"], "", *lines]), *more]


def _from_notes(question: Question, material: Material, said: dict[str, str]) -> list[str]:
    scale = Scale(question, material.units)
    weighed = scale.best(material.units)
    match question.kind:
        case Kind.MENTION if mentions := _mentions(weighed):
            return [said["mentions"], *shown([("", mentions)])]
        case Kind.COMPARE if len(question.sides) == 2:
            return _compared(question, material, said)
        case Kind.SUMMARY if groups := summary(question, material, weighed):
            return shown(groups)
        case Kind.LIST | Kind.HOW if groups := best_lists(question, scale, material.units):
            return shown(groups, numbered=True)
    best = weighed[0]
    if section := asked_for(question, scale, material) or reasons(question, scale, material, best):
        return shown([section])
    if best.coverage < NEAR:
        return _nothing(material, said)
    enough = _FACT_FOUND if question.is_fact and scale.unseen else FOUND
    if best.coverage < enough or (question.is_fact and best.cue == 0):
        return [said["nearest"], *shown([("", [w.unit for w in _near(weighed)])])]
    return shown([("", _picked(question, weighed))])


def _near(weighed: Sequence[Weighed]) -> list[Weighed]:
    kept: list[Weighed] = []
    for one in weighed:
        if one.own > 0 and not any(same_fact(one.unit, k.unit) for k in kept):
            kept.append(one)
    return kept[:2] or list(weighed[:1])


def _picked(question: Question, weighed: Sequence[Weighed]) -> list[Unit]:
    kept = [w.unit for w in chosen(question, weighed, _MOST.get(question.kind, 3))]
    best = weighed[0]
    if best.unit.kind == "row":  # rows that fit as well as the best belong to the answer
        level = [w.unit for w in weighed if w.score >= 0.97 * best.score and w.unit.kind == "row"]
        kept += [unit for unit in level[:8] if unit not in kept]
    if not question.is_fact and len(kept) <= 2:
        after = [unit for unit in (w.unit for w in weighed) if _continues(kept[0], unit)]
        kept[1:1] = sorted((u for u in after if u not in kept), key=lambda u: u.line)[:2]
    return kept


def _continues(first: Unit, unit: Unit) -> bool:
    """Return whether a sentence is one of the two after the first, in its paragraph."""
    before = unit.before
    near = before is not None and (before == first or before.before == first)
    return near and bool(_REFERS.search(unit.text))


def _mentions(weighed: Sequence[Weighed]) -> list[Unit]:
    top = max((w.own for w in weighed), default=0.0)
    kept = [w.unit for w in weighed if w.own >= max(FOUND, 0.8 * top)][:_MENTIONS]
    return sorted(kept, key=lambda unit: unit.place)


def _compared(question: Question, material: Material, said: dict[str, str]) -> list[str]:
    blocks: list[str] = []
    for side in question.sides:
        one = analyse(side)
        weighed = Scale(one, material.units).best(material.units)
        kept = [w.unit for w in chosen(one, weighed, 3) if w.own > 0 and w.coverage >= FOUND]
        label = said["about"].format(side[:80])
        blocks += [label, *shown([("", kept)])] if kept else [f"{label} {said['nothing']}"]
    return blocks
