"""The vault tools: search, read, list, write, move and index notes. Behind them is a `Notes`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from agents.core.chunks import SourceRef
from agents.core.ports import ToolContext
from agents.core.stuck import digest
from agents.search.sections import split_lines
from agents.tools.definition import ToolFailed, ToolOutput, ToolRefused
from agents.tools.registry import tool
from agents.vault.errors import NoteOutdated, VaultError, VaultRefused
from agents.vault.service import NoteHit, NoteMove, Notes, NoteWrite

SNIPPET_CHARS = 500
MAX_LISTED = 500
MAX_SHOWN = 20
"""Names of notes that a sentence about a move tells."""
NotePath = Annotated[str, Field(description="Relative to the root, such as plan/roadmap.md")]
Folder = Annotated[str, Field(description="Only in this folder and below; empty for all.")]
Query = Annotated[str, Field(min_length=1, max_length=500)]


@contextmanager
def _vault_errors_as_tool_errors() -> Iterator[None]:
    try:
        yield
    except NoteOutdated as error:
        raise ToolRefused(str(error), ((error.path, digest(error.text)),)) from None
    except VaultRefused as error:
        raise ToolRefused(str(error)) from None
    except VaultError as error:
        raise ToolFailed(str(error)) from None


@tool(timeout=15)
def vault_search(
    queries: Annotated[
        list[Query],
        Field(
            description="One to four phrasings of what is looked for, each of a few words: "
            "the words that the note itself would use, and synonyms of them.",
            min_length=1,
            max_length=4,
        ),
    ],
    notes: Notes,
    limit: Annotated[int, Field(description="How many notes at most.", ge=1, le=20)] = 5,
    tag: Annotated[str, Field(description="Only notes with this tag, or one below it.")] = "",
    folder: Folder = "",
) -> ToolOutput:
    """Search the project's notes. Best first, each with the lines that fit best.

    Several phrasings find more than one: write what the note would say, not the question. Read a
    note with vault_read before you rely on it.
    """
    with _vault_errors_as_tool_errors():
        found = notes.search(queries, limit, tag=tag, folder=folder)
    lines = [f"{number}. {_format_hit(hit)}" for number, hit in enumerate(found.hits, start=1)]
    if not lines:
        asked = " or ".join(map(repr, queries))
        lines.append(f"No note matches {asked}. Try other words, or vault_list.")
    if found.missing_words:
        missing = ", ".join(found.missing_words[:MAX_SHOWN])
        lines.append(f"No note has: {missing}.")
    return ToolOutput("\n".join(lines), tuple(_build_source(hit) for hit in found.hits))


def _format_hit(hit: NoteHit) -> str:
    """Return one hit on two lines: nothing in a note can start a line of the list."""
    place = " > ".join(dict.fromkeys(filter(None, (hit.title, hit.heading))))
    return f"{hit.path}:{hit.line} (score {hit.score:.2f}) {place}\n   {hit.snippet}"


def _build_source(hit: NoteHit) -> SourceRef:
    return SourceRef(
        hit.path,
        "vault",
        hit.line,
        hit.snippet[:SNIPPET_CHARS],
        hit.score,
        heading=hit.heading[:SNIPPET_CHARS],
        end_line=max(hit.line, hit.last_line),
    )


@tool(timeout=15)
def vault_read(
    path: NotePath,
    notes: Notes,
    lines: Annotated[
        str,
        Field(
            description="Which lines, such as 10-40; empty for all.",
            pattern=r"^(\d{1,7}(-\d{1,7})?)?$",
        ),
    ] = "",
) -> ToolOutput:
    """Read one note. Each line comes with its number, to be cited as [path:line]."""
    with _vault_errors_as_tool_errors():
        whole = notes.read(path)
    text = split_lines(whole)
    first, last = _parse_lines(lines, len(text))
    shown = text[first - 1 : last]
    numbered = [f"{number}| {line}" for number, line in enumerate(shown, start=first)]
    part = "" if len(shown) == len(text) else f", {first} to {last} of them"
    snippet = next((line for line in shown if line.strip(" -#")), "")
    source = SourceRef(path, "vault", first, snippet[:SNIPPET_CHARS], end_line=max(first, last))
    content = "\n".join([f"{path} ({len(text)} lines{part})", *numbered])
    return ToolOutput(content, (source,), versions=((path, digest(whole)),))


def _parse_lines(lines: str, count: int) -> tuple[int, int]:
    """Return the first and the last line to show, which may be beyond the end."""
    if not lines:
        return 1, count
    begin, _, end = lines.partition("-")
    first = max(1, int(begin))
    last = min(count, int(end or begin))
    if first > count or last < first:
        raise ToolFailed(f"The note has {count} lines; there are none at {lines}.")
    return first, last


@tool(timeout=15)
def vault_list(notes: Notes, folder: Folder = "") -> ToolOutput:
    """List the paths and titles of the project's notes."""
    with _vault_errors_as_tool_errors():
        listed = notes.list(folder)
    if not listed:
        return ToolOutput(
            f"There are no notes in {folder!r}." if folder else "There are no notes yet."
        )
    lines = [f"- {note.path} ({note.title})" for note in listed[:MAX_LISTED]]
    more = (
        [f"… and {len(listed) - MAX_LISTED} more; name a folder."]
        if len(listed) > MAX_LISTED
        else []
    )
    counted = "1 note" if len(listed) == 1 else f"{len(listed)} notes"
    return ToolOutput("\n".join([counted, *lines, *more]), item_count=len(listed))


@tool(writes=True, timeout=15)
def vault_write(
    path: NotePath,
    body: Annotated[str, Field(description="The whole note, in Markdown.")],
    notes: Notes,
    context: ToolContext,
    title: Annotated[
        str, Field(description="Its title, kept as a property of the note.", max_length=200)
    ] = "",
) -> ToolOutput:
    """Create a note, or replace the whole of one that you have read.

    Every version is kept. A note that somebody changed since you read it is not replaced: read it
    again first.
    """
    with _vault_errors_as_tool_errors():
        written = notes.write(path, body, title, call_id=context.call_id)
    return _report_write(written)


def _report_write(written: NoteWrite) -> ToolOutput:
    return ToolOutput(_describe_write(written), versions=((written.path, digest(written.text)),))


def _describe_write(written: NoteWrite) -> str:
    if written.is_new:
        return f"Created {written.path} ({written.added} lines)."
    if not written.added and not written.removed:
        return f"{written.path} says that already; nothing was changed."
    return (
        f"Replaced {written.path}: {written.added} lines added, {written.removed} removed "
        f"(version {written.version})."
    )


@tool(writes=True, timeout=60)
def vault_move(
    old_path: Annotated[str, Field(description="A note, a file or a folder.")],
    new_path: Annotated[str, Field(description="Where it goes, relative to the root.")],
    notes: Notes,
    context: ToolContext,
) -> ToolOutput:
    """Move or rename a note, a file or a folder. Links to it are rewritten in all notes."""
    with _vault_errors_as_tool_errors():
        moved = notes.move(old_path, new_path, call_id=context.call_id)
    what = moved.paths[0] if len(moved.paths) == 1 else f"{len(moved.paths)} files to {new_path}"
    forgotten = tuple((path, "") for path in (old_path, *moved.rewritten))
    return ToolOutput(f"Moved {what}. {_describe_rewriting(moved)}", versions=forgotten)


def _describe_rewriting(moved: NoteMove) -> str:
    if not moved.rewritten:
        return "No links had to be rewritten."
    names = ", ".join(moved.rewritten[:MAX_SHOWN])
    more = len(moved.rewritten) - MAX_SHOWN
    rest = f" and {more} more" if more > 0 else ""
    return f"Rewrote {moved.link_count} links in {names}{rest}."


@tool(writes=True, timeout=30)
def vault_create_index(
    folder: Annotated[str, Field(description="The folder whose notes are listed; empty for all.")],
    title: Annotated[str, Field(description="The title of the index.", max_length=200)],
    notes: Notes,
    context: ToolContext,
    summaries: Annotated[
        dict[str, str],
        Field(description="A sentence about each note, by its path; may be empty."),
    ] = {},  # noqa: B006  # pydantic copies it
) -> ToolOutput:
    """Write a note `Index.md` into a folder that links to every note in it, by subfolder.

    Made again after notes have come or gone, it replaces the index that was made before.
    """
    with _vault_errors_as_tool_errors():
        written = notes.create_index(folder, title, summaries, call_id=context.call_id)
    return _report_write(written)
