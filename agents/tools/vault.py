"""The vault tools: search, read, list and write notes. What is behind them is a `Notes`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from agents.core.chunks import SourceRef
from agents.tools.definition import ToolFailed, ToolOutput, ToolRefused
from agents.tools.registry import tool
from agents.vault.errors import NoteChanged, NoteRefused, NoteUnavailable
from agents.vault.service import NoteHit, Notes

SNIPPET_CHARS = 500
MAX_LISTED = 500
NotePath = Annotated[str, Field(description="Relative to the root, such as plan/roadmap.md")]


@contextmanager
def _vault_errors_as_tool_errors() -> Iterator[None]:
    try:
        yield
    except (NoteUnavailable, NoteChanged) as error:
        raise ToolFailed(str(error)) from None
    except NoteRefused as error:
        raise ToolRefused(str(error)) from None


@tool(timeout=15)
def vault_search(
    query: Annotated[str, Field(description="A few words to look for.", max_length=500)],
    notes: Notes,
    limit: Annotated[int, Field(description="How many notes at most.", ge=1, le=20)] = 6,
) -> ToolOutput:
    """Search the project's notes. Best first, each with the line that fits best.

    Read a note with vault_read before you rely on it.
    """
    with _vault_errors_as_tool_errors():
        hits = notes.search([query], limit).hits
    if not hits:
        return ToolOutput(f"No note matches {query!r}. Try other words, or vault_list.")
    found = [f"{number}. {_format_hit(hit)}" for number, hit in enumerate(hits, start=1)]
    return ToolOutput("\n".join(found), tuple(_build_source(hit) for hit in hits))


def _format_hit(hit: NoteHit) -> str:
    """One hit on two lines: nothing in a note can start a line of the list."""
    place = " > ".join(dict.fromkeys(filter(None, (hit.title, hit.heading))))
    return f"{hit.path}:{hit.line} (score {hit.score:.2f}) {place}\n   {hit.snippet}"


def _build_source(hit: NoteHit) -> SourceRef:
    return SourceRef(hit.path, "vault", hit.line, hit.snippet[:SNIPPET_CHARS], hit.score)


@tool(timeout=15)
def vault_read(path: NotePath, notes: Notes) -> ToolOutput:
    """Read one note. Each line comes with its number, to be cited as [path:line]."""
    with _vault_errors_as_tool_errors():
        lines = notes.read(path).splitlines()
    numbered = [f"{number}| {line}" for number, line in enumerate(lines, start=1)]
    text = "\n".join([f"{path} ({len(lines)} lines)", *numbered])
    first = next((line for line in lines if line.strip(" -#")), "")
    return ToolOutput(text, (SourceRef(path, "vault", 1, first[:SNIPPET_CHARS]),))


@tool(timeout=15)
def vault_list(
    notes: Notes,
    folder: Annotated[str, Field(description="Only below this folder; empty for all.")] = "",
) -> str:
    """List the paths and titles of the project's notes."""
    with _vault_errors_as_tool_errors():
        listed = notes.list(folder)
    if not listed:
        return f"There are no notes in {folder!r}." if folder else "There are no notes yet."
    lines = [f"- {note.path} ({note.title})" for note in listed[:MAX_LISTED]]
    more = (
        [f"… and {len(listed) - MAX_LISTED} more; name a folder."]
        if len(listed) > MAX_LISTED
        else []
    )
    return "\n".join([f"{len(listed)} notes", *lines, *more])


@tool(writes=True, timeout=15)
def vault_write(
    path: NotePath,
    content: Annotated[str, Field(description="The whole note, in Markdown.")],
    notes: Notes,
) -> ToolOutput:
    """Create a note, or replace the whole of it. Read it first when it exists."""
    with _vault_errors_as_tool_errors():
        before = notes.write(path, content)
    count = len(content.splitlines())
    done = (
        f"Created {path} ({count} lines)."
        if before is None
        else f"Replaced {path}: {len(before.splitlines())} lines before, {count} now."
    )
    return ToolOutput(done, (SourceRef(path, "vault", 1, content[:SNIPPET_CHARS]),))
