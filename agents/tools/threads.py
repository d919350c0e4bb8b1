"""The thread tools: list, read, search and add to a project's threads. Behind them a `Threads`."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from pydantic import Field

from agents.core.chunks import SourceRef
from agents.core.ports import ToolContext
from agents.tools.definition import ToolFailed, ToolOutput, ToolRefused
from agents.tools.registry import tool
from agents.vault.errors import VaultError, VaultRefused
from agents.vault.thread_service import (
    EntryHit,
    EntryText,
    EntryType,
    StatusFilter,
    Threads,
    ThreadSummary,
)

SNIPPET_CHARS = 500
MAX_LISTED = 100
MAX_SHOWN = 20
MAX_READ_CHARS = 40_000
"""What all entries of one reading have together; each has its share of it."""
ThreadName = Annotated[str, Field(description="The name of the thread.", min_length=1)]
Query = Annotated[str, Field(min_length=1, max_length=500)]


@contextmanager
def _vault_errors_as_tool_errors() -> Iterator[None]:
    try:
        yield
    except VaultRefused as error:
        raise ToolRefused(str(error)) from None
    except VaultError as error:
        raise ToolFailed(f"{error} thread_list shows all names.") from None


@tool(timeout=15)
def thread_list(
    threads: Threads,
    status: Annotated[StatusFilter, Field(description="Which threads.")] = "active",
) -> str:
    """List the project's threads, those that changed last first.

    A thread is a log of what was thought, decided, researched and understood about one thing.
    """
    with _vault_errors_as_tool_errors():
        found = threads.list(status, MAX_LISTED)
    which = "" if status == "all" else f" {status}"
    if not found.total:
        return f"There are no{which} threads."
    lines = [f"- {_format_summary(thread)}" for thread in found.threads]
    more = found.total - len(lines)
    rest = [f"… and {more} more; thread_seek finds entries in all of them."] if more else []
    return "\n".join([f"{found.total}{which} thread{'s' * (found.total != 1)}", *lines, *rest])


def _format_summary(thread: ThreadSummary) -> str:
    count = f"{thread.entry_count} entr{'y' if thread.entry_count == 1 else 'ies'}"
    archived = "archived, " if thread.is_archived else ""
    return f"{thread.name} ({archived}{count}, last on {thread.updated_at:%Y-%m-%d})"


@tool(timeout=15)
def thread_read(
    thread: ThreadName,
    threads: Threads,
    limit: Annotated[int, Field(description="How many entries at most.", ge=1, le=50)] = 10,
) -> ToolOutput:
    """Read the newest entries of a thread, oldest of them first.

    Cite an entry as [thread:name#number].
    """
    with _vault_errors_as_tool_errors():
        read = threads.read(thread, limit)
    share = MAX_READ_CHARS // max(1, len(read.entries))
    shown = [_format_entry(entry, share) for entry in read.entries]
    sources = tuple(
        _build_source(read.thread.name, entry.number, entry.text) for entry in read.entries
    )
    text = "\n".join([_format_summary(read.thread), *shown])
    if not shown:
        text += "\nNone of its entries stands."
    return ToolOutput(text, sources, item_count=len(shown))


def _format_entry(entry: EntryText, share: int) -> str:
    """Return an entry with every line of its text marked: none can pass for another entry."""
    by = f", {entry.author}" if entry.author else ""
    text = entry.text[:share]
    lines = [f"  | {line}" for line in text.splitlines()]
    rest = len(entry.text) - len(text)
    cut = [f"  … {rest:,} more characters; ask for fewer entries"] if rest else []
    return "\n".join([f"#{entry.number} {entry.type}, {entry.at:%Y-%m-%d}{by}", *lines, *cut])


def _build_source(thread: str, number: int, text: str, score: float | None = None) -> SourceRef:
    return SourceRef(thread, "thread", number, " ".join(text.split())[:SNIPPET_CHARS], score)


@tool(timeout=15)
def thread_seek(
    queries: Annotated[
        list[Query],
        Field(
            description="One to four phrasings of what is looked for, each of a few words: "
            "the words that the entry itself would use, and synonyms of them.",
            min_length=1,
            max_length=4,
        ),
    ],
    threads: Threads,
    limit: Annotated[int, Field(description="How many entries at most.", ge=1, le=20)] = 5,
) -> ToolOutput:
    """Search the entries of all threads: what was thought, decided, researched and understood.

    Best first, each with the line that fits best. Cite an entry as [thread:name#number].
    """
    with _vault_errors_as_tool_errors():
        found = threads.search(queries, limit)
    lines = [f"{number}. {_format_hit(hit)}" for number, hit in enumerate(found.hits, start=1)]
    if not lines:
        asked = " or ".join(map(repr, queries))
        lines.append(f"No entry matches {asked}. Try other words, or thread_list.")
    if found.missing_words:
        lines.append(f"No entry has: {', '.join(found.missing_words[:MAX_SHOWN])}.")
    sources = tuple(
        _build_source(hit.thread, hit.number, hit.snippet, hit.score) for hit in found.hits
    )
    return ToolOutput("\n".join(lines), sources)


def _format_hit(hit: EntryHit) -> str:
    """Return one hit on two lines: nothing in an entry can start a line of the list."""
    archived = ", archived" if hit.is_archived else ""
    what = f"{hit.type}, {hit.at:%Y-%m-%d}{archived}"
    return f"{hit.thread}#{hit.number} (score {hit.score:.2f}) {what}\n   {hit.snippet}"


@tool(writes=True, timeout=15)
def thread_push(
    thread: Annotated[
        str, Field(description="The name of the thread; it is made if it is new.", min_length=1)
    ],
    content: Annotated[str, Field(description="The entry, in Markdown.")],
    threads: Threads,
    context: ToolContext,
    type: Annotated[EntryType, Field(description="What the entry is.")] = "thought",
) -> str:
    """Add an entry to a thread. Entries are numbered and never changed.

    Write to a thread that exists where one fits; thread_list shows them.
    """
    with _vault_errors_as_tool_errors():
        pushed = threads.push(thread, content, type, call_id=context.call_id)
    made = "Made the thread and added" if pushed.is_new_thread else "Added"
    return f"{made} {pushed.thread}#{pushed.number} ({pushed.type})."
