"""What to do next: which tools to call, or none to answer. Decided from the conversation alone."""

import re
from collections.abc import Sequence

from agents.core.stemming import fold, stem
from agents.llm.embedded.answers import find_answer
from agents.llm.embedded.evidence import Answer, Evidence
from agents.llm.embedded.note_names import is_entrance, is_history, list_pointed, rate_title
from agents.llm.embedded.passages import Passage
from agents.llm.embedded.question import Question
from agents.llm.embedded.question_kinds import Kind
from agents.llm.embedded.request import Call
from agents.llm.embedded.vocabulary import list_content_words, list_synonyms, translate

_READS, _FOLDER_READS, _MAX_READS, _THREADS, _CALLS = 3, 5, 6, 1, 5
"""Notes that are read at once, of a folder that is asked for, in all; threads; calls of a turn."""
_HITS = 8
_QUERY_WORDS, _QUERY_CHARS, _SYNONYMS, _POINTED = 12, 400, 4, 2
_NOTE_PATH = re.compile(r"[\w./-]+\.(?:md|txt|rst)\b")
_SYMBOL = re.compile(r"\b[A-Za-z_]\w*(?:\.\w+)+\b|\b\w+_\w+\b|\b[A-Z]?[a-z]+[A-Z]\w*\b")
"""Words that look like names in code: with dots or underscores, or capitals inside."""
_LONG, _LINES_BEFORE, _LINES_AFTER = 200, 100, 200
"""A hit beyond so many lines is in a long note; of it, so many lines around the hit are read."""
_FOLDER = re.compile(
    r"(?i)\b(?:in|under|below|from|unter) (?:the |dem ordner )?([\w/-]+?)/?(?: folder| ordner)?\W*$"
)
_WHOLE = (Kind.ABOUT, Kind.SUMMARY, Kind.COMPARE)
"""What is asked of a note as a whole, from its beginning."""


def plan_calls(questions: Sequence[Question], evidence: Evidence) -> list[Call]:
    """Return the calls of the next turn, none made before; empty when it is time to answer."""
    request = evidence.request
    for plan in (_plan_searches, _plan_again, _plan_listings, _plan_pointed, _plan_reads):
        calls: list[Call] = []
        for call in (call for question in questions for call in plan(question, evidence)):
            if (
                call not in calls
                and call[0] in request.offered
                and request.get_result(*call) is None
            ):
                calls.append(call)
        if calls:
            return calls[:_CALLS]
    return []


def _plan_searches(question: Question, evidence: Evidence) -> list[Call]:
    """Return what a question needs before anything else."""
    request = evidence.request
    if question.call and question.call[0] in request.offered:
        return [question.call]
    match question.kind:
        case Kind.TALK:
            return []
        case Kind.NOTES if "vault_list" in request.offered:
            folder = _FOLDER.search(question.text)
            return [("vault_list", {"folder": folder[1]} if folder else {})]
        case Kind.RECENT if request.newest:
            return [_read(path) for path in request.newest[:_READS]]
        case Kind.COMPARE if len(question.sides) == 2:
            sides = [list_content_words(side) for side in question.sides]
            return [_search("vault_search", [s, [*sides[0][:1], *s]]) for s in sides]
    if question.is_general and "vault_list" in request.offered:
        return [("vault_list", {})]
    phrasings = _list_phrasings(question)
    search = _search("vault_search", phrasings)
    if question.kind is Kind.CODE:
        symbols = _SYMBOL.findall(question.text)[:2]
        known: list[Call] = [("find_definition", {"symbol": symbol}) for symbol in symbols]
        return [*known, _search("search_code", phrasings), search]
    named = [_read(path) for path in _NOTE_PATH.findall(question.text)[:_READS]]
    return [*named, search, *[_search("thread_seek", phrasings)] * request.has_threads]


def _plan_again(question: Question, evidence: Evidence) -> list[Call]:
    return evidence.request.put_off


def _list_phrasings(question: Question) -> list[list[str]]:
    """Return what to look for: the words, the same in other words, and in the other language."""
    others = list_synonyms(question.words)[:: -1 if question.german else 1]  # English comes first
    several = [[*question.words[:6], *others[:_SYNONYMS]]] if others else []
    return [[*question.words, *question.context], *several, translate(question.words)]


def _search(tool: str, phrasings: Sequence[Sequence[str]]) -> Call:
    queries = [" ".join(dict.fromkeys(words[:_QUERY_WORDS]))[:_QUERY_CHARS] for words in phrasings]
    some = list(dict.fromkeys(filter(None, queries))) or ["overview"]
    return tool, {"queries": some} | ({"limit": _HITS} if tool == "vault_search" else {})


def _read(path: str, line: int = 0) -> Call:
    """Read a note; of a long one, what stands around a line."""
    if line <= _LONG:
        return "vault_read", {"path": path}
    return "vault_read", {"path": path, "lines": f"{line - _LINES_BEFORE}-{line + _LINES_AFTER}"}


def _plan_listings(question: Question, evidence: Evidence) -> list[Call]:
    if question.kind is Kind.NOTES and not evidence.listing:
        return [("vault_list", {})]
    folder = evidence.find_folder(question)
    return [("vault_list", {"folder": folder})] if folder else []


def _plan_pointed(question: Question, evidence: Evidence) -> list[Call]:
    """Return a search in the words of a line that points from what is asked to a note."""
    if question.stands_alone or evidence.request.warned:
        return []
    read = (passage for note in evidence.notes.values() for passage in note)
    found: list[Call] = []
    for words, names in list_pointed(question, read):
        rest = [word for word in question.words if stem(fold(word)) not in words]
        found.append(_search("vault_search", [[*names, *rest]]))
    return found[:_POINTED]


def _plan_reads(question: Question, evidence: Evidence) -> list[Call]:
    """Return the notes most worth reading; once more, if the first ones do not answer."""
    request, reads = evidence.request, evidence.request.get_steps("vault_read")
    threads = request.get_steps("thread_read")
    has_enough = len(reads) >= _MAX_READS or request.warned or not evidence.notes
    if question.stands_alone:
        return []
    if (reads or threads) and (has_enough or _is_settled(find_answer(question, evidence))):
        return []
    tried = {str(step.arguments.get("path")) for step in reads}
    hits = [hit for hit in evidence.hits if hit.path not in tried]
    paths = _list_folder_notes(question, evidence)[:_FOLDER_READS]
    paths += [hit.path for hit in _sort_hits(question, hits)[:_READS]]
    lines = {} if question.kind in _WHOLE else {hit.path: hit.line for hit in hits}
    names = dict.fromkeys(entry.path for entry in evidence.entries)
    found: list[Call] = [("thread_read", {"thread": name}) for name in names if not threads]
    found = found[:_THREADS]
    return [*found, *(_read(path, lines.get(path, 0)) for path in paths if path not in tried)]


def _is_settled(answer: Answer) -> bool:
    return answer.is_certain and not answer.lacks_word


def _list_folder_notes(question: Question, evidence: Evidence) -> list[str]:
    """Return the notes of the folder that is asked for, or those that lead into a project."""
    paths = [path for path, _ in evidence.listing]
    if question.is_general:
        first = sorted(filter(is_entrance, paths), key=str.casefold)
        return (first or evidence.request.newest or paths)[:_READS]
    folder = evidence.find_folder(question)
    return [path for path in paths if folder and path.startswith(f"{folder}/")]


def _sort_hits(question: Question, hits: Sequence[Passage]) -> list[Passage]:
    """Sort hits by what the search says of them and by what their titles say."""
    top = max((hit.score for hit in hits), default=0.0) or 1.0

    def rate(hit: Passage) -> float:
        return hit.score / top + rate_title(question, hit.title) - is_history(question, hit)

    return sorted(hits, key=lambda hit: (-rate(hit), hit.path))
