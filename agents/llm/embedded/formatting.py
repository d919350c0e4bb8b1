"""Passages as Markdown: grouped by note, with their citations, and nothing in them obeyed."""

import re
from collections.abc import Iterable, Sequence
from itertools import groupby

from agents.llm.embedded.passages import Passage
from agents.llm.embedded.scoring import needs_sentence_before

_MAX_CHARS = 700
"""What is longer than any sentence is shown from its beginning."""
_CODE_SPAN = re.compile(r"(`+[^`]*`+)")
_ACTIVE = re.compile(r"<(?=[A-Za-z/!?])|!(?=\[)")


def render_passages(passages: Iterable[Passage]) -> list[str]:
    """Return a block for each note: its title as a heading, its passages below, by section."""
    by_note: dict[str, list[Passage]] = {}
    for passage in passages:
        is_entry = passage.kind == "entry"  # of a list of notes
        by_note.setdefault("" if is_entry else passage.path, []).append(passage)
    entries = by_note.pop("", [])
    listed = ["\n".join(_render_line(p, entries) for p in entries)] if entries else []
    return [*listed, *(_render_note(found) for found in by_note.values())]


def _render_note(passages: Sequence[Passage]) -> str:
    sections = [(name, list(found)) for name, found in groupby(passages, lambda p: p.heading)]
    title = escape(passages[0].title)
    if len(sections) == 1 and sections[0][0]:
        title = f"{title} · {escape(sections[0][0])}"
    lines = [f"### {title}"]
    for name, found in sections:
        if name and len(sections) > 1:
            lines += ["", f"**{escape(name)}**"]
        lines += ["", *(_render_line(p, found) for p in found)]
    return "\n".join(lines)


def _render_line(passage: Passage, beside: Sequence[Passage]) -> str:
    if passage.kind == "code":
        code = "\n".join(f"      {line}" for line in passage.text.split("\n"))
        return f"- {passage.citation}\n\n{code}\n"
    text = " ".join(passage.text.split())
    before = passage.before
    if before is not None and before not in beside and needs_sentence_before(passage):
        text = f"{before.text} {text}"
    mark = passage.mark if passage.is_step else "-"
    return f"{mark} {escape(text)} {passage.citation}"


def escape(text: str) -> str:
    """Return text of a note as text: tags and images are shown, not obeyed."""
    if len(text) > _MAX_CHARS:
        head = text[:_MAX_CHARS]
        text = f"{head.rpartition(' ')[0] or head} …"
    parts = _CODE_SPAN.split(text)
    return "".join(p if p.startswith("`") else _ACTIVE.sub(r"\\\g<0>", p) for p in parts)
