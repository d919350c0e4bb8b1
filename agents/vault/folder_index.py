"""An index of a folder: a note that links to each note in it, subfolder by subfolder. Pure."""

import re
from collections.abc import Iterable, Mapping
from itertools import groupby

from agents.core.frontmatter import read_frontmatter, set_property
from agents.search.sections import split_lines
from agents.vault.paths import get_folder, make_key
from agents.vault.service import NoteEntry

INDEX_NAME = "Index.md"
MARK = "generated"
MARK_VALUE = "index"
"""The property that says that nobody wrote this by hand."""
_NO_WIKILINK = re.compile(r"[#^|\[\]]")
_NO_LABEL = re.compile(r"[|\[\]\\\s]+")


def build_index(
    prefix: str, title: str, notes: Iterable[NoteEntry], summaries: Mapping[str, str]
) -> str:
    """Return the text of an index. Summaries are found by path, in whatever case."""
    by_key = {make_key(path): " ".join(text.split()) for path, text in summaries.items()}
    name = " ".join(title.split()) or "Index"
    lines = [f"# {name}", ""]
    for folder, group in groupby(_sort(notes, prefix), key=lambda note: get_folder(note.path)):
        if below := folder.removeprefix(prefix.rstrip("/")).strip("/"):
            lines += [f"## {below}", ""]
        for note in group:
            about = by_key.get(make_key(note.path), "")
            lines.append(f"- {_build_link(note)}{f': {about}' if about else ''}")
        lines.append("")
    return set_property(set_property("\n".join(lines), "title", name), MARK, MARK_VALUE)


def _sort(notes: Iterable[NoteEntry], prefix: str) -> list[NoteEntry]:
    """Sort the notes of the folder itself before those of its subfolders."""
    return sorted(notes, key=lambda note: (make_key(get_folder(note.path)), make_key(note.path)))


def _build_link(note: NoteEntry) -> str:
    label = _NO_LABEL.sub(" ", note.title).strip() or note.path
    if _NO_WIKILINK.search(note.path):
        return f"[{label}](<{note.path}>)"
    return f"[[{note.path.removesuffix('.md')}|{label}]]"


def is_index(text: str) -> bool:
    """Return whether a note was made by `build_index`."""
    return read_frontmatter(split_lines(text)).get_value(MARK) == MARK_VALUE
