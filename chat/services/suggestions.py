"""Questions that an empty page offers, from the folders and the newest notes of the project."""

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import PurePosixPath
from uuid import UUID

from agents.vault.notes import notes_for

MAX_QUESTIONS = 3
_MAX_NOTES = 200
"""So many of the notes that changed last are looked at."""
_MIN_SIZE = 200
"""What has fewer bytes holds little to ask about."""
_MAX_TITLE_LENGTH = 80
_ENTRANCES = ("index", "readme", "overview", "home", "start", "übersicht", "about")
_QUESTIONS = re.compile(r"questions|fragen", re.IGNORECASE)
_TEMPLATES = re.compile(r"templates?|vorlagen?|attachments|daily|archive", re.IGNORECASE)
_GERMAN = re.compile(r"\b(?:und|der|die|das|ist|nicht|wird|mit|für)\b")
_GERMAN_SHARE = 0.03

ENGLISH = {
    "about": "What is {} about?",
    "list": "Which {} are there?",
    "questions": "What are the open questions?",
    "summary": "Summarise “{}”.",
}
GERMAN = {
    "about": "Worum geht es in „{}“?",
    "list": "Welche {} gibt es?",
    "questions": "Welche Fragen sind offen?",
    "summary": "Fasse „{}“ zusammen.",
}


def suggest_questions(project_id: UUID) -> list[str]:
    """Return questions that the notes of a project answer; none if there are none."""
    rows = notes_for(project_id).filter(size__gte=_MIN_SIZE).order_by("-updated_at", "path")
    notes = [
        (PurePosixPath(path), _choose_name(PurePosixPath(path), title))
        for path, title in rows.values_list("path", "title")[:_MAX_NOTES]
        if not _TEMPLATES.fullmatch(path.partition("/")[0])
    ]
    if not notes:
        return []
    said = GERMAN if _is_german(rows.values_list("text", flat=True)[:3]) else ENGLISH
    entrances = [name for path, name in notes if path.stem.casefold() in _ENTRANCES]
    asks = [path for path, name in notes if _QUESTIONS.search(name)]
    found = [
        *(said["about"].format(name) for name in entrances[:1]),
        *(said["list"].format(name) for name in _list_folders([path for path, _ in notes])[:1]),
        *(said["questions"] for _ in asks[:1]),
        *(said["summary"].format(name) for _, name in notes if name not in entrances),
    ]
    return found[:MAX_QUESTIONS]


def _choose_name(path: PurePosixPath, title: str) -> str:
    """Return what a note is called: its title, or its name if that may be its first heading."""
    is_title = " " in title or path.stem.casefold() in (*_ENTRANCES, title.casefold())
    return (title if is_title else path.stem)[:_MAX_TITLE_LENGTH]


def _list_folders(paths: list[PurePosixPath]) -> list[str]:
    """Return folders whose names say of what they hold several, those with most notes first."""
    counts = Counter(path.parent.name for path in paths if path.parent.name)
    names = sorted(counts, key=lambda name: (-counts[name], name))
    return [_lower(name) for name in names if counts[name] > 1 and name[-1:] in ("s", "e", "n")]


def _lower(name: str) -> str:
    """Return the name of a folder as it stands in a sentence; German nouns keep their capital."""
    return name.lower() if name.endswith("s") else name


def _is_german(texts: Iterable[str]) -> bool:
    words = " ".join(text[:2_000] for text in texts).split()
    return len(_GERMAN.findall(" ".join(words))) > _GERMAN_SHARE * len(words)
