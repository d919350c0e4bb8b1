"""What search shall find of a note."""

import re
from collections.abc import Iterable

from agents.core.frontmatter import BYTE_ORDER_MARK
from agents.models import Note, SearchDocument
from agents.search.index import SearchableText
from agents.vault import canvas
from agents.vault.parsing import ParsedNote
from agents.vault.paths import make_key

TEMPLATE_FOLDERS = frozenset({"template", "templates", "vorlage", "vorlagen"})
"""What lies there is found after everything else."""
_DRAWING = re.compile(r"^(?:%%\s*\n)?#{1,2} Drawing\s*$", re.MULTILINE)


def build_searchable_text(
    note: Note, parsed: ParsedNote, link_texts: Iterable[str] = ()
) -> SearchableText:
    """Return a note as the index takes it."""
    return SearchableText(
        kind=SearchDocument.Kind.NOTE,
        source_id=note.pk,
        path=note.path,
        title=note.title,
        extra=" ".join([*parsed.tags, *parsed.aliases, *link_texts]),
        text=_get_words(note, parsed),
        is_template=is_template(note.path),
    )


def get_readable_text(note: Note) -> str:
    """Return what people read of a note; its lines are those that search counts."""
    if note.path.lower().endswith(".canvas"):
        return canvas.to_markdown(note.text)
    return note.text.removeprefix(BYTE_ORDER_MARK)


def _get_words(note: Note, parsed: ParsedNote) -> str:
    """Return the words, lines keeping their numbers. A drawing is data: the note ends before it."""
    text = get_readable_text(note)
    if parsed.frontmatter.find("excalidraw-plugin") and (start := _DRAWING.search(text)):
        return text[: start.start()]
    return text


def is_template(path: str) -> bool:
    """Return whether a note is only the form of others."""
    return not TEMPLATE_FOLDERS.isdisjoint(make_key(path).split("/")[:-1])
