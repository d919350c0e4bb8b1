"""What a librarian's report cites: every document that it read, and none that it never saw."""

import re
from collections.abc import Collection, Iterable

from agents.core.answer_sources import THREAD_PREFIX, Citations, get_citation_name
from agents.core.chunks import SourceRef

_CITATION = re.compile(r" ?(?<!\[)\[([^\[\]\n]{1,512})\](?!\()")
_SEPARATOR = re.compile(r"[,;]\s*")
_LINES = re.compile(r"[:#]\d{1,7}(?:-\d{1,7})?$")
_EXTENSION = re.compile(r"\.[A-Za-z]\w*$")


def drop_unknown_citations(report: str, names: Collection[str], seen: Collection[str]) -> str:
    """Return a report that cites only `names`, and what stands in one of the texts in `seen`."""
    dropped = 0

    def check(match: "re.Match[str]") -> str:
        nonlocal dropped
        places = _SEPARATOR.split(match[1])
        known = [place for place in places if _is_known(place, names, seen)]
        if len(known) == len(places) or _is_seen(_strip_lines(match[1]), names, seen):
            return match[0]
        dropped += len(places) - len(known)
        return f" [{', '.join(known)}]" if known else ""

    text = _CITATION.sub(check, report)
    if dropped == 1:
        text += "\n\n[1 citation was dropped: what it names does not exist.]"
    elif dropped:
        text += f"\n\n[{dropped} citations were dropped: what they name does not exist.]"
    return text


def _is_known(place: str, names: Collection[str], seen: Collection[str]) -> bool:
    """Return whether a place was seen, or something in it, or it is none."""
    cited = [name for part in (place, *place.split()) if _is_name(name := _strip_lines(part))]
    return not cited or any(_is_seen(name, names, seen) for name in cited)


def _is_seen(name: str, names: Collection[str], seen: Collection[str]) -> bool:
    return name in names or any(name in text for text in seen)


def _strip_lines(place: str) -> str:
    return _LINES.sub("", place.strip(" `"))


def _is_name(text: str) -> bool:
    return "/" in text or text.startswith(THREAD_PREFIX) or bool(_EXTENSION.search(text))


def cite_what_was_read(report: str, sources: Iterable[SourceRef]) -> str:
    """Return a report that names every document which was read for it, at its end if need be."""
    citations = Citations()
    citations.feed(report)
    read = dict.fromkeys(get_citation_name(s) for s in sources if s.path and s.score is None)
    missing = ", ".join(f"[{name}]" for name in read if name not in citations.lines)
    return f"{report}\n\nAlso read: {missing}" if missing else report
