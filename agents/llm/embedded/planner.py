"""What to do next: which tools to call, or none to answer. Decided from the conversation alone."""

import re
from collections.abc import Collection, Sequence
from pathlib import PurePosixPath
from typing import Any

from agents.llm.embedded.answers import find_answer
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.request import NoteMatch, ParsedRequest, parse_snippet
from agents.llm.embedded.scoring import PassageScorer, rate_title
from agents.llm.embedded.vocabulary import list_content_words, list_synonyms

Call = tuple[str, dict[str, Any]]

READS, MAX_READS = 3, 5
"""Notes that are read in one turn; of a folder that is asked for."""
_HITS, _MANY_HITS = 8, 15
_QUERY_WORDS, _QUERY_CHARS = 12, 400
_NOTE_PATH = re.compile(r"[\w./-]+\.(?:md|txt|rst)\b")
_SYMBOL = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+\b|\b\w+_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b")
"""Words that look like names in code: with dots or underscores, or capitals inside."""
_LONG, _LINES_BEFORE, _LINES_AFTER = 120, 60, 140
"""A hit beyond so many lines is in a long note; of it, so many lines around the hit are read."""
_FOLDER = re.compile(
    r"\b(?:in|under|below|from|unter)\s+(?:the\s+|dem\s+ordner\s+)?([\w/-]+?)/?(?:\s+(?:folder|ordner))?\W*$",
    re.IGNORECASE,
)
_ENTRANCES = ("index", "readme", "overview", "home", "start", "about", "ubersicht", "übersicht")
"""Names of notes that say what the others are about."""
_WHOLE = (Kind.ABOUT, Kind.SUMMARY, Kind.COMPARE)
"""What is asked of a note as a whole, from its beginning."""
_UNSOUGHT = (Kind.TALK, Kind.CALCULATE, Kind.TIME, Kind.NOTES, Kind.RECENT)


def plan_calls(
    request: ParsedRequest,
    questions: Sequence[Question],
    offered: Collection[str],
    evidence: Evidence,
) -> list[Call]:
    """Return the calls of the next turn, none made before; empty when it is time to answer."""
    first = [call for question in questions for call in _plan_first(question, request, offered)]
    calls = _keep_new(first, request, offered)
    if not calls:
        calls = _keep_new(_plan_more(request, questions, evidence), request, offered)
    return calls[: request.cap]


def _keep_new(
    calls: Sequence[Call], request: ParsedRequest, offered: Collection[str]
) -> list[Call]:
    """Return calls that can be made and were not, each once."""
    found: list[Call] = []
    for call in calls:
        if call not in found and call[0] in offered and not request.has_made(*call):
            found.append(call)
    return found


def _plan_first(question: Question, request: ParsedRequest, offered: Collection[str]) -> list[Call]:
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
        case Kind.RECENT if request.newest:
            return [_read(path) for path in request.newest[:READS]]
        case Kind.COMPARE if len(question.sides) == 2:
            shared = list_content_words(question.sides[0])[:1]
            return [
                _search([list_content_words(side), [*shared, *list_content_words(side)]])
                for side in question.sides
            ]
    if question.kind is Kind.CODE:
        return _look_into_code(question)
    if not question.words and not question.context and "vault_list" in offered:
        return [("vault_list", {})]
    named = [_read(path) for path in _NOTE_PATH.findall(question.text)[:READS]]
    phrasings = list_phrasings(question)
    return [*named, _search(phrasings, question.kind), ("thread_seek", {"queries": phrasings})]


def _look_into_code(question: Question) -> list[Call]:
    symbols = _SYMBOL.findall(question.text)[:2]
    phrasings = list_phrasings(question)
    return [
        *(("find_definition", {"symbol": symbol}) for symbol in symbols),
        ("search_code", {"queries": phrasings}),
        _search(phrasings),
    ]


def list_phrasings(question: Question) -> list[str]:
    """Return what to look for: the words, the same in other words, and the longest of them."""
    words = [*question.words, *question.context]
    others = list_synonyms(question.words)
    longest = sorted(question.words, key=len, reverse=True)[:2]
    several = [words, [*question.words[:6], *others]] if others else [words]
    if len(question.words) > 3:
        several.append(longest)
    return list(dict.fromkeys(filter(None, map(_phrase, several)))) or ["overview"]


def _phrase(words: Sequence[str]) -> str:
    return " ".join(words[:_QUERY_WORDS])[:_QUERY_CHARS]


def _search(phrasings: Sequence[str | list[str]], kind: Kind = Kind.WHAT) -> Call:
    queries = [_phrase(p) if isinstance(p, list) else p for p in phrasings]
    limit = _MANY_HITS if kind in (Kind.MENTION, Kind.LIST) else _HITS
    queries = list(dict.fromkeys(filter(None, queries))) or ["overview"]
    return "vault_search", {"queries": queries, "limit": limit}


def _read(path: str, line: int = 0) -> Call:
    """Read a note; of a long one, what stands around a line."""
    if line <= _LONG:
        return "vault_read", {"path": path}
    return "vault_read", {"path": path, "lines": f"{line - _LINES_BEFORE}-{line + _LINES_AFTER}"}


def _plan_more(
    request: ParsedRequest, questions: Sequence[Question], evidence: Evidence
) -> list[Call]:
    """After the first searches: read, and if that does not do, read once more."""
    pending = [
        (s.name, s.arguments)
        for s in request.steps
        if s.over_cap and not request.has_made(s.name, s.arguments)
    ]
    if pending:
        return pending
    asked = [question for question in questions if question.kind not in _UNSOUGHT]
    if any(q.kind is Kind.NOTES for q in questions) and not evidence.listing:
        return [("vault_list", {})]
    folders = [call for question in asked for call in _list_folder(question, evidence)]
    if any(not request.has_made(*call) for call in folders):
        return folders
    rounds = len({step.turn for step in request.get_steps("vault_read")})
    if rounds >= 2 or (rounds and (request.warned or _is_answered(asked, evidence))):
        return []
    return _plan_reads(asked, evidence)


def _list_folder(question: Question, evidence: Evidence) -> list[Call]:
    if question.kind not in (Kind.LIST, Kind.SUMMARY):
        return []
    folder, _ = evidence.find_folder(question)
    return [("vault_list", {"folder": folder})] if folder else []


def _plan_reads(questions: Sequence[Question], evidence: Evidence) -> list[Call]:
    """Return the notes most worth reading, for each question in turn."""
    paths: dict[str, None] = {}
    tried = {str(step.arguments.get("path")) for step in evidence.request.get_steps("vault_read")}
    unread = [hit for hit in evidence.hits if hit.path not in tried]
    for question in questions:
        paths.update(dict.fromkeys(_list_folder_notes(question, evidence)[:MAX_READS]))
        share = READS if len(questions) == 1 else 2
        share += question.kind is Kind.LIST
        paths.update(dict.fromkeys(hit.path for hit in _sort_hits(question, unread)[:share]))
    is_whole = any(question.kind in _WHOLE for question in questions)
    lines = {} if is_whole else {hit.path: hit.line for hit in evidence.hits}
    return [_read(path, lines.get(path, 0)) for path in paths if path not in tried]


def _list_folder_notes(question: Question, evidence: Evidence) -> list[str]:
    """Return the notes of the folder that is asked for, or those that lead into a project."""
    if not question.words and not question.context:
        paths = [path for path, _ in evidence.listing]
        names = {path: PurePosixPath(path).stem.casefold() for path in paths if "/" not in path}
        first = sorted((p for p in names if names[p] in _ENTRANCES), key=lambda p: names[p])
        return (first or evidence.request.newest or paths)[:READS]
    if question.kind not in (Kind.LIST, Kind.SUMMARY):
        return []
    folder, _ = evidence.find_folder(question)
    return [path for path, _ in evidence.listing if folder and path.startswith(f"{folder}/")]


def _sort_hits(question: Question, unread: Sequence[NoteMatch]) -> list[NoteMatch]:
    """Sort hits by what the search says of the note, its best line, and its title."""
    shown = {hit.path: parse_snippet(hit) for hit in unread}
    scorer = PassageScorer(question, [p for passages in shown.values() for p in passages])
    top = max((hit.score for hit in unread), default=0.0) or 1.0

    def rate(hit: NoteMatch) -> float:
        line = max((scorer.rate(passage).score for passage in shown[hit.path]), default=0.0)
        before = 0.3 if hit.path in question.paths else 0.0
        return hit.score / top + line + before + rate_title(question, hit.title)

    rates = {hit.path: rate(hit) for hit in unread}
    best = sorted(unread, key=lambda hit: (-rates[hit.path], hit.path))
    return [hit for hit in best if rates[hit.path] >= 0.4 * rates[best[0].path]]


def _is_answered(questions: Sequence[Question], evidence: Evidence) -> bool:
    return all(find_answer(question, evidence).is_certain for question in questions)
