"""Sections as answers: the one that is asked for by its heading, and summaries of a note."""

import re
from collections.abc import Sequence

from agents.core.stemming import stems
from agents.llm.embedded.answer_types import reasons_below
from agents.llm.embedded.evidence import Material
from agents.llm.embedded.formatting import Group
from agents.llm.embedded.passages import Unit
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.scoring import FOUND, Scale, Weighed, same_fact

_SECTIONS, _SECTION_UNITS = 9, 5
_ENOUGH = 0.7
_CONDITION = re.compile(r"(?:when|if|wenn|falls)\b", re.IGNORECASE)


def asked_for(question: Question, scale: Scale, material: Material) -> Group | None:
    """Return the section whose heading says what the question says."""
    if question.is_fact or question.kind is Kind.LIST:
        return None
    for units in material.notes.values():
        for heading, below in _sections(units):
            if _CONDITION.match(heading) and question.kind is not Kind.HOW:
                continue
            words = frozenset(stems(heading))
            has = sum(weight for word, weight in scale.weights.items() if word in words)
            if len(scale.weights) > 1 and has >= 0.8 * scale.total:
                return heading, below[:_SECTION_UNITS]
    return None


def reasons(question: Question, scale: Scale, material: Material, best: Weighed) -> Group | None:
    """Return a section of reasons in the note asked about, unless one sentence says it all."""
    if question.kind is not Kind.WHY or (best.own >= 0.8 and best.cue == 1.0):
        return None
    worths: list[tuple[float, Group]] = []
    for path, units in material.notes.items():
        for heading, below in _sections(units):
            if reasons_below(heading):
                words = units[0].named.union(stems(heading), *(unit.stems for unit in below))
                has = sum(weight for word, weight in scale.weights.items() if word in words)
                worths.append(
                    (has / scale.total + 0.5 * (path in question.paths), (heading, below))
                )
    worth, group = max(worths, key=lambda found: found[0], default=(0.0, ("", [])))
    return (group[0], group[1][:_SECTION_UNITS]) if worth >= _ENOUGH else None


def summary(question: Question, material: Material, weighed: Sequence[Weighed]) -> list[Group]:
    """Return the first sentence of each section of the note that is named, or of those that fit."""
    named = {
        path: sum(weight for word, weight in question.weights.items() if word in units[0].named)
        for path, units in material.notes.items()
    }
    path = max(named, key=lambda path: (named[path], path), default="")
    asked = next((path for path in named if path in question.text), path)
    enough = 0.6 * sum(question.weights.values())
    if asked and (asked in question.text or named[asked] >= enough > 0):
        return [(heading, units[:1]) for heading, units in _sections(material.notes[asked])][
            :_SECTIONS
        ]
    best = [w.unit for w in weighed if w.own >= FOUND]
    first: list[Group] = []
    for unit in best[:_SECTIONS]:
        if not any(same_fact(unit, other) for _, units in first for other in units):
            first.append((unit.heading, [unit]))
    return sorted(first[:6], key=lambda group: group[1][0].place)


def _sections(units: Sequence[Unit]) -> list[tuple[str, list[Unit]]]:
    found: dict[str, list[Unit]] = {}
    for unit in units:
        if unit.kind in ("sentence", "item", "row") and not unit.text.endswith(":"):
            found.setdefault(unit.heading, []).append(unit)
    return list(found.items())
