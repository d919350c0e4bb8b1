"""What to do next: which tools to call, or None to answer. Decided from the conversation alone."""

import re
from collections.abc import Collection, Sequence
from typing import Any

from agents.core.stemming import stems
from agents.llm.embedded.evidence import Material
from agents.llm.embedded.lists import best_lists
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.request import Hit, Talk, snippet_units
from agents.llm.embedded.scoring import Scale
from agents.llm.embedded.vocabulary import in_other_words, telling

Call = tuple[str, dict[str, Any]]

READS = 3
"""Notes that are read in one turn."""
_HITS, _ALL_HITS = 8, 15
_QUERY_WORDS = 12
_SURE = 0.6
_OTHER_TOOLS = {Kind.CALCULATE: "calculate", Kind.TIME: "current_time"}
_MD = re.compile(r"[\w./-]+\.md\b")
_FOLDER = re.compile(
    r"\b(?:in|under|below|from|unter)\s+(?:the\s+|dem\s+ordner\s+)?([\w/-]+?)/?(?:\s+(?:folder|ordner))?\W*$",
    re.IGNORECASE,
)


def next_calls(
    talk: Talk, questions: Sequence[Question], offered: Collection[str], material: Material
) -> list[Call]:
    """Return the calls of the next turn, none made before; empty when it is time to answer."""
    first = [call for question in questions for call in _first(question, offered)]
    calls = _new(first, talk, offered) or _new(_then(talk, questions, material), talk, offered)
    return calls[: talk.cap]


def _new(calls: Sequence[Call], talk: Talk, offered: Collection[str]) -> list[Call]:
    """Return calls that can be made and were not, each once."""
    found: list[Call] = []
    for call in calls:
        if call not in found and call[0] in offered and not talk.made(*call):
            found.append(call)
    return found


def _first(question: Question, offered: Collection[str]) -> list[Call]:
    """Return what a question needs before anything else."""
    match question.kind:
        case Kind.TALK:
            return []
        case Kind.CALCULATE if "calculate" in offered:
            return [("calculate", {"expression": question.expression})]
        case Kind.TIME if "current_time" in offered:
            return [("current_time", {})]
        case Kind.NOTES if "vault_list" in offered:
            folder = _FOLDER.search(question.text)
            return [("vault_list", {"folder": folder[1]} if folder else {})]
        case Kind.COMPARE if len(question.sides) == 2:
            return [_search(telling(side) or [side]) for side in question.sides]
    named = [("vault_read", {"path": path}) for path in _MD.findall(question.text)[:READS]]
    return [*named, _search(_query(question), question.kind)]


def _query(question: Question) -> list[str]:
    return [*question.words, *question.context] or ["overview"]


def _search(words: Sequence[str], kind: Kind = Kind.WHAT) -> Call:
    limit = _ALL_HITS if kind in (Kind.MENTION, Kind.LIST) else _HITS
    return "vault_search", {"queries": [" ".join(words[:_QUERY_WORDS])[:400]], "limit": limit}


def _then(talk: Talk, questions: Sequence[Question], material: Material) -> list[Call]:
    """After the first searches: read, and if that does not do, search and read once more."""
    done = {kind for kind, tool in _OTHER_TOOLS.items() if talk.results(tool)} | {Kind.TALK}
    asked = [question for question in questions if question.kind not in done]
    if asked and all(q.kind is Kind.NOTES for q in asked) and not material.listing:
        return [("vault_list", {})]
    if not asked or not talk.results("vault_search"):
        return []
    pending = [
        (s.name, s.arguments)
        for s in talk.steps
        if s.over_cap and not talk.made(s.name, s.arguments)
    ]
    if pending:
        return pending
    searched = {step.turn for step in talk.results("vault_search")}
    rounds = sum(any(turn > since for turn in _turns(talk, "vault_read")) for since in searched)
    unread = _reading(asked, material)
    if unread and not rounds:
        return unread
    if talk.warned or _sure(asked, material):
        return []
    if len(searched) <= 1:
        return [*_searches_again(asked), *(unread[:READS] if material.notes else [])]
    return [] if max(_turns(talk, "vault_read"), default=0) > max(searched) else unread


def _turns(talk: Talk, name: str) -> list[int]:
    return [step.turn for step in talk.results(name)]


def _reading(questions: Sequence[Question], material: Material) -> list[Call]:
    """Return the notes most worth reading, for each question in turn."""
    paths: dict[str, None] = {}
    tried = {str(step.arguments.get("path")) for step in material.talk.results("vault_read")}
    unread = [hit for hit in material.hits if hit.path not in tried]
    for question in questions:
        share = READS if len(questions) == 1 else 2
        paths.update(dict.fromkeys(hit.path for hit in _promising(question, unread)[:share]))
    return [("vault_read", {"path": path}) for path in list(paths)[: READS + 1]]


def _promising(question: Question, unread: Sequence[Hit]) -> list[Hit]:
    """Sort hits by what the search says of the note and its best line of the question."""
    shown = {hit.path: snippet_units(hit) for hit in unread}
    scale = Scale(question, [unit for units in shown.values() for unit in units])
    total = sum(question.weights.values()) or 1.0
    by_name = question.kind is Kind.SUMMARY
    top = max((hit.score for hit in unread), default=0.0) or 1.0

    def worth(hit: Hit) -> float:
        line = max((scale.weigh(unit).score for unit in shown[hit.path]), default=0.0)
        before = 0.3 if hit.path in question.paths else 0.0
        name = frozenset(stems(f"{hit.title} {hit.path.removesuffix('.md')}"))
        named = sum(weight for word, weight in question.weights.items() if word in name) / total
        return hit.score / top + line + before + named * (1.5 if by_name else 0.3)

    best = sorted(unread, key=lambda hit: (-worth(hit), hit.path))
    return [hit for hit in best if worth(hit) >= 0.4 * worth(best[0])]


def _sure(questions: Sequence[Question], material: Material) -> bool:
    """Return whether every question has a passage that looks like its answer."""
    for question in questions:
        if question.kind in (Kind.NOTES, Kind.MENTION, Kind.COMPARE, Kind.SUMMARY):
            continue
        scale = Scale(question, material.units)
        if question.kind in (Kind.LIST, Kind.HOW) and best_lists(question, scale, material.units):
            continue
        best = scale.best(material.units)[:1]
        if not best or best[0].coverage < _SURE or (question.is_fact and best[0].cue < 0.5):
            return False
    return bool(material.hits)


def _searches_again(questions: Sequence[Question]) -> list[Call]:
    """Return the same in other words."""
    found = []
    for question in questions:
        others = in_other_words(question.words)
        if others:
            found.append(_search([*question.words[:4], *others], question.kind))
        elif question.context or len(question.words) > 1:
            longest = sorted(question.words, key=len, reverse=True)[:2]
            found.append(_search(longest, question.kind))
    return found
