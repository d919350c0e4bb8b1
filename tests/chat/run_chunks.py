"""Runs made up for tests of what a page shows: chunks in the order in which a run makes them."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID

from hypothesis import strategies as st

from agents.core.chunks import (
    CallView,
    Content,
    ContextUpdate,
    Done,
    Error,
    OracleStreamChunk,
    Source,
    SourceRef,
    SystemMessage,
    Thinking,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.config import AgentConfig
from agents.core.reasons import REASONS
from agents.models import AgentRun
from chat.rendering import fragments
from chat.rendering.answer import AnswerView
from chat.rendering.source_links import source_linker
from tests.support.dom import Dom

RUN = UUID("12345678-1234-5678-1234-567812345678")
PROJECT = UUID("87654321-1234-5678-1234-567812345678")
BEGAN = 1_750_000_000.0


def a_run(**values: Any) -> AgentRun:
    """A row that is not stored: rendering asks nothing of the database."""
    usual: dict[str, Any] = {
        "id": RUN,
        "project_id": PROJECT,
        "question": "Why?",
        "tree": "default",
        "model": "scripted",
        "config": AgentConfig().model_dump(),
        "started_at": datetime.fromtimestamp(BEGAN, UTC),
    }
    return AgentRun(**{**usual, **values})


def an_answer(chunks: Sequence[OracleStreamChunk] = ()) -> AnswerView:
    """An answer that has taken these, and whose page has all of it."""
    made = AnswerView(RUN, source_linker(PROJECT))
    for chunk in chunks:
        made.apply(chunk)
    made.mark_sent()
    return made


def reloaded(chunks: Sequence[OracleStreamChunk]) -> Dom:
    """What a page shows that is opened after these chunks."""
    return Dom(fragments.render_answer(an_answer(chunks), a_run()))


def stamped(chunks: Sequence[OracleStreamChunk]) -> list[OracleStreamChunk]:
    """With numbers and times, as a run gives them."""
    return [replace(c, seq=n, at=BEGAN + n / 4) for n, c in enumerate(chunks, start=1)]


# -- chunks by hand -------------------------------------------------------------------------------


def called(
    call_id: str, status: str = "pending", name: str = "look", parent: str = "", **arguments: Any
) -> ToolCalled:
    view = CallView(call_id, name, arguments, status)  # type: ignore[arg-type]
    return ToolCalled(tool_call=view, parent=parent)


def result(call_id: str, ok: bool = True, parent: str = "", text: str = "found") -> ToolResult:
    return ToolResult(
        tool_call_id=call_id, tool_result=text, ok=ok, duration_ms=1_200, order=0, parent=parent
    )


def notice(
    message: str = "Most iterations are used.", system_type: str = "limit_warning", **metadata: Any
) -> SystemMessage:
    return SystemMessage(
        system_type=system_type,  # type: ignore[arg-type]
        system_message=message,
        severity="warning",
        metadata=metadata,
    )


def wrapping_up(limit_type: str = "iterations") -> SystemMessage:
    """The notice that a limit's last answer begins."""
    return notice("Answering now.", phase="wrap_up", limit_type=limit_type)


def reached(limit_type: str = "iterations") -> SystemMessage:
    """The notice that follows it, directly before the end."""
    return notice("The limit is reached.", "limit_reached", limit_type=limit_type)


def done(reason: str = "completed", **values: Any) -> Done:
    outcome = REASONS.get(reason).outcome.value if reason in REASONS else "failed"
    usual: dict[str, Any] = {
        "termination_reason": reason,
        "outcome": outcome,
        "turns_used": 2,
        "tokens_used": 345,
        "usage_source": "provider",
        "model_used": "scripted",
    }
    return Done(**{**usual, **values})


# -- runs by chance -------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        "Some words. ", "more", "\n", "\n\n", "- item\n", "1. first\n", "```py\n", "x = 1\n",
        "```\n", "**bold", "** ", "`code`", "# Title\n", "> quoted\n", "| a | b |\n| - | - |\n",
        "| 1 | 2 |\n", "[notes/plan.md:3]", "[a](http://e.example)", "<b>", "&amp;", "\u00e9\u6f22",
        "[ref]: http://e.example\n", "    indented\n", "***\n", "~~~\n", "", " ", "_", "\\",
    ]
)  # fmt: skip
texts = PIECES | st.text(max_size=12)
names = st.sampled_from(["vault_search", "vault_read", "delegate_librarian"])
arguments = st.dictionaries(st.sampled_from(["query", "path", "n"]), texts | st.integers())
sources = st.builds(
    SourceRef,
    path=st.sampled_from(["notes/plan.md", "a b.md", "../x.md", "code/x.py", "q?#.md"]),
    source_type=st.just("vault"),
    line=st.none() | st.integers(1, 5000),
    snippet=texts,
)


@st.composite
def tool_turns(draw: st.DrawFn, turn: int) -> list[OracleStreamChunk]:
    """Calls that are announced, run side by side, and end in any order."""
    ids = [f"call_{turn}_{index}" for index in range(draw(st.integers(1, 5)))]
    views = {i: CallView(i, draw(names), draw(arguments), "pending") for i in ids}
    chunks: list[OracleStreamChunk] = [ToolCalled(tool_call=view) for view in views.values()]
    tracks = [draw(_call(view)) for view in views.values()]
    while tracks := [track for track in tracks if track]:
        chunks.append(draw(st.sampled_from(tracks)).pop(0))
    if draw(st.booleans()):
        chunks.insert(draw(st.integers(1, len(chunks))), notice("Two calls are the same."))
    return chunks


@st.composite
def _call(draw: st.DrawFn, view: CallView) -> list[OracleStreamChunk]:
    if draw(st.integers(0, 5)) == 0:
        refused = ToolCalled(tool_call=replace(view, status="refused"))
        return [refused, result(view.id, ok=False)]
    inner: list[OracleStreamChunk] = []
    for number in range(draw(st.integers(0, 2)) if view.name == "delegate_librarian" else 0):
        name = f"{view.id}/{number}"
        inner += [Thinking(content="hm", parent=view.id), Content(content="so", parent=view.id)]
        inner += [called(name, "pending", parent=view.id), called(name, "running", parent=view.id)]
        inner += [result(name, draw(st.booleans()), view.id)]
    found: list[OracleStreamChunk] = [Source(source=s) for s in draw(st.lists(sources, max_size=2))]
    running = ToolCalled(tool_call=replace(view, status="running"))
    return [running, *inner, result(view.id, draw(st.booleans())), *found]


@st.composite
def runs(draw: st.DrawFn) -> list[OracleStreamChunk]:
    """A whole run: turns of thinking, text and tools, notices between them, an end."""
    chunks: list[OracleStreamChunk] = []
    for turn in range(1, draw(st.integers(1, 3)) + 1):
        interim = draw(st.sampled_from(["", "", "Plan", "<b>Draft</b>"]))
        chunks.append(Turn(number=turn, phase="start", interim=interim))
        chunks.append(ContextUpdate(context_tokens=100 * turn, max_context_tokens=64_000))
        chunks += [Thinking(content=t) for t in draw(st.lists(texts, max_size=4))]
        chunks += [Content(content=t) for t in draw(st.lists(texts, max_size=10))]
        chunks += draw(tool_turns(turn)) if draw(st.booleans()) else []
        chunks += [notice(t) for t in draw(st.lists(st.sampled_from(["One.", "Two."]), max_size=1))]
        chunks.append(Turn(number=turn, phase="end", answered=True, prompt_tokens=10))
    reason = draw(st.sampled_from(REASONS.names()))
    if wraps_up := draw(st.booleans()):
        chunks.append(wrapping_up())
        chunks += [Content(content=t) for t in draw(st.lists(texts, max_size=10))]
        chunks += draw(tool_turns(9)) if draw(st.booleans()) else []
    if REASONS.get(reason).outcome.value == "failed":
        chunks.append(Error(code=reason, error="It did not answer."))
    elif reason == "user_cancelled":
        chunks.append(notice("Stopped.", "cancelled"))
    elif reason != "completed":
        chunks.append(reached() if wraps_up else notice("It ended early.", "limit_reached"))
    chunks.append(done(reason, explanation=draw(st.just("") | texts)))
    return stamped(chunks)


@st.composite
def cut(draw: st.DrawFn, chunks: Sequence[OracleStreamChunk]) -> list[list[OracleStreamChunk]]:
    """The same in batches, as a page reads them."""
    places = draw(st.sets(st.integers(1, max(1, len(chunks) - 1)), max_size=len(chunks)))
    edges = [0, *sorted(places), len(chunks)]
    return [list(chunks[a:b]) for a, b in pairwise(edges) if a < b]
