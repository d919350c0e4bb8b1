"""Lists and tables as answers: the whole of one, or the entries that fit the question."""

from collections.abc import Sequence
from dataclasses import dataclass

from agents.llm.embedded.passages import Unit
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.scoring import Scale
from agents.llm.embedded.vocabulary import agreeing

_ENOUGH = {Kind.LIST: 0.55, Kind.HOW: 0.55}
_LEVEL = 0.9
_MOST_LISTS, _MOST_ENTRIES = 4, 16


@dataclass(frozen=True, slots=True)
class Block:
    """A list or a table, and which of the question's words its surroundings and entries have."""

    units: tuple[Unit, ...]
    around: frozenset[str]
    inside: frozenset[str]
    worth: float


def best_lists(
    question: Question, scale: Scale, material: Sequence[Unit]
) -> list[tuple[str, list[Unit]]]:
    """Return the lists that answer, each under its heading; none if prose fits better."""
    blocks = sorted(
        (_weighed(question, scale, units) for units in _blocks(question, material)),
        key=lambda block: (-block.worth, block.units[0].place),
    )
    if not blocks or blocks[0].worth < _ENOUGH[question.kind]:
        return []
    prose = max((scale.weigh(u).own for u in material if u.kind == "sentence"), default=0.0)
    if question.kind is Kind.HOW and prose > blocks[0].worth + 0.15:
        return []
    level = [block for block in blocks if block.worth >= _LEVEL * blocks[0].worth]
    if question.kind is Kind.HOW:
        level = level[:1]
    found = [(b.units[0].heading, _entries(question, b)) for b in level[:_MOST_LISTS]]
    return [(heading, units[:_MOST_ENTRIES]) for heading, units in found if units]


def _blocks(question: Question, material: Sequence[Unit]) -> list[tuple[Unit, ...]]:
    found: dict[tuple[str, int], list[Unit]] = {}
    for unit in material:
        if unit.read and unit.kind in ("item", "row"):
            found.setdefault((unit.path, unit.block), []).append(unit)
    if question.kind is Kind.HOW:
        return [tuple(us) for us in found.values() if len(us) > 1 and us[0].mark[:-1].isdigit()]
    return [tuple(units) for units in found.values()]


def _weighed(question: Question, scale: Scale, units: tuple[Unit, ...]) -> Block:
    first = units[0]
    around, inside, total = set(), set(), 0.0
    for word, weight in scale.weights.items():
        words = {word} | agreeing(word)
        if words & first.around:
            around.add(word)
            total += weight
        elif words & first.named:
            around.add(word)
            total += 0.9 * weight
        elif any(words & unit.stems for unit in units):
            total += 0.8 * weight
        if any(words & unit.stems for unit in units):
            inside.add(word)
    return Block(units, frozenset(around), frozenset(inside), total / scale.total)


def _entries(question: Question, block: Block) -> list[Unit]:
    """Return entries that have what the surroundings do not say; all if no word is such."""
    narrowing = block.inside - block.around
    if question.kind is Kind.HOW or not narrowing:
        return list(block.units)
    fits = {u: sum(bool(({w} | agreeing(w)) & u.stems) for w in narrowing) for u in block.units}
    most = max(fits.values())
    return [unit for unit in block.units if fits[unit] == most]
