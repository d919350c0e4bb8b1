"""What to do next: which tools to call, or none to answer. Decided from the conversation alone."""

import re
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from agents.llm.embedded.answers import find_answer
from agents.llm.embedded.evidence import Evidence
from agents.llm.embedded.question import Kind, Question
from agents.llm.embedded.request import NoteMatch, ParsedRequest
from agents.llm.embedded.scoring import rate_title
from agents.llm.embedded.vocabulary import list_content_words, list_synonyms

Call = tuple[str, dict[str, Any]]

READS, MAX_READS = 3, 5
"""Notes that are read in one turn; of a folder that is asked for."""
_HITS = 8
_QUERY_WORDS, _QUERY_CHARS, _SYNONYMS = 12, 400, 4
_NOTE_PATH = re.compile(r"[\w./-]+\.(?:md|txt|rst)\b")
_SYMBOL = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+\b|\b\w+_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b")
"""Words that look like names in code: with dots or underscores, or capitals inside."""
_LONG, _LINES_BEFORE, _LINES_AFTER = 200, 100, 200
"""A hit beyond so many lines is in a long note; of it, so many lines around the hit are read."""
_FOLDER = re.compile(
    r"(?i)\b(?:in|under|below|from|unter) (?:the |dem ordner )?([\w/-]+?)/?(?: folder| ordner)?\W*$"
)
_ENTRANCES = ("index", "readme", "overview", "home", "start", "about", "ubersicht", "übersicht")
"""Names of notes that say what the others are about."""
_WHOLE = (Kind.ABOUT, Kind.SUMMARY, Kind.COMPARE)
"""What is asked of a note as a whole, from its beginning."""
_UNSOUGHT = (Kind.TALK, Kind.CALCULATE, Kind.TIME, Kind.NOTES, Kind.RECENT)


def plan_calls(questions: Sequence[Question], evidence: Evidence) -> list[Call]:
    """Return the calls of the next turn, none made before; empty when it is time to answer."""
    request = evidence.request
    first = [call for question in questions for call in _plan_first(question, request)]
    calls = _keep_new(first, request)
    return (calls or _keep_new(_plan_more(questions, evidence), request))[: request.cap]


def _keep_new(calls: Sequence[Call], request: ParsedRequest) -> list[Call]:
    """Return calls that can be made and were not, each once."""
    found: list[Call] = []
    for call in calls:
        if call not in found and call[0] in request.offered and not request.has_made(*call):
            found.append(call)
    return found


def _plan_first(question: Question, request: ParsedRequest) -> list[Call]:
    """Return what a question needs before anything else."""
    match question.kind:
        case Kind.TALK:
            return []
        case Kind.CALCULATE if "calculate" in request.offered:
            return [("calculate", {"expression": question.expression})]
        case Kind.TIME if "current_time" in request.offered:
            return [("current_time", {})]
        case Kind.NOTES if "vault_list" in request.offered:
            folder = _FOLDER.search(question.text)
            return [("vault_list", {"folder": folder[1]} if folder else {})]
        case Kind.RECENT if request.newest:
            return [_read(path) for path in request.newest[:READS]]
        case Kind.COMPARE if len(question.sides) == 2:
            sides = [list_content_words(side) for side in question.sides]
            return [_search([_phrase(s), _phrase([*sides[0][:1], *s])]) for s in sides]
    if not question.words and not question.context and "vault_list" in request.offered:
        return [("vault_list", {})]
    phrasings = list_phrasings(question)
    search = _search(phrasings)
    if question.kind is Kind.CODE:
        symbols = _SYMBOL.findall(question.text)[:2]
        known: list[Call] = [("find_definition", {"symbol": symbol}) for symbol in symbols]
        return [*known, ("search_code", {"queries": phrasings}), search]
    named = [_read(path) for path in _NOTE_PATH.findall(question.text)[:READS]]
    threads: list[Call] = [("thread_seek", {"queries": phrasings})] if request.has_threads else []
    return [*named, search, *threads]


def list_phrasings(question: Question) -> list[str]:
    """Return what to look for: the words, and the same in other words."""
    several = [[*question.words, *question.context]]
    others = list_synonyms(question.words)[:: -1 if question.german else 1]  # English comes first
    if others:
        several.append([*question.words[:6], *others[:_SYNONYMS]])
    return list(dict.fromkeys(filter(None, map(_phrase, several)))) or ["overview"]


def _phrase(words: Sequence[str]) -> str:
    return " ".join(words[:_QUERY_WORDS])[:_QUERY_CHARS]


def _search(phrasings: Sequence[str]) -> Call:
    queries = list(dict.fromkeys(filter(None, phrasings))) or ["overview"]
    return "vault_search", {"queries": queries, "limit": _HITS}


def _read(path: str, line: int = 0) -> Call:
    """Read a note; of a long one, what stands around a line."""
    if line <= _LONG:
        return "vault_read", {"path": path}
    return "vault_read", {"path": path, "lines": f"{line - _LINES_BEFORE}-{line + _LINES_AFTER}"}


def _plan_more(questions: Sequence[Question], evidence: Evidence) -> list[Call]:
    """After the first searches: read, and if that does not do, read once more."""
    request = evidence.request
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
    named = filter(None, (evidence.find_folder(question)[0] for question in asked))
    folders: list[Call] = [("vault_list", {"folder": folder}) for folder in named]
    if any(not request.has_made(*call) for call in folders):
        return folders
    rounds = len({step.turn for step in request.get_steps("vault_read")})
    is_done = request.warned or not evidence.notes or _is_answered(asked, evidence)
    if rounds >= 2 or (rounds and is_done):
        return []
    return _plan_reads(asked, evidence)


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
    folder, _ = evidence.find_folder(question)
    return [path for path, _ in evidence.listing if folder and path.startswith(f"{folder}/")]


def _sort_hits(question: Question, unread: Sequence[NoteMatch]) -> list[NoteMatch]:
    """Sort hits by what the search says of them and by what their titles say."""
    top = max((hit.score for hit in unread), default=0.0) or 1.0

    def rate(hit: NoteMatch) -> float:
        return hit.score / top + rate_title(question, hit.title)

    return sorted(unread, key=lambda hit: (-rate(hit), hit.path))


def _is_answered(questions: Sequence[Question], evidence: Evidence) -> bool:
    return all(find_answer(question, evidence).is_certain for question in questions)
