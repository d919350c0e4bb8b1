"""What was said in a run: for those who may read it, and every opening is recorded.

GET asks first; POST writes down who opens it, then shows it. Plain text, escaped, each part cut to
its beginning; "show all" of one part is an opening too.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.db import DatabaseError
from django.db.models.functions import Left
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from agents.admin import events
from agents.admin.access import CONTENT, Unreadable, run_or_404, viewer
from agents.admin.events import Event
from agents.models import AgentRun, RunEvent
from agents.models.audit import AuditEntry, record

SHOWN = 2_000
"""Characters of one part."""
PARTS = 200
"""Of one page."""
MOST_ROWS = 100_000
KINDS = ("thinking", "content", "tool_call", "tool_result", "system", "hint", "source", "error")
LABELS = {
    "question": "Question",
    "thinking": "Thinking",
    "content": "Answer",
    "tool_call": "Tool call",
    "tool_result": "Result",
    "system": "Notice",
    "hint": "Hint to the model",
    "source": "Source",
    "error": "Error",
    "explanation": "Explanation",
}
TEXTS = frozenset({"thinking", "content"})
"""Kinds that come in pieces."""


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that was said. Pieces of text that follow one another are one."""

    key: str
    kind: str
    text: str
    size: int
    first: int = 0
    last: int = 0
    name: str = ""
    """Of a tool."""
    parent: str = ""

    @property
    def label(self) -> str:
        said = LABELS.get(self.kind, self.kind)
        said = f"{said} of a subagent" if self.parent else said
        return f"{said}: {self.name}" if self.name else said

    @property
    def is_cut(self) -> bool:
        return self.size > len(self.text)


def transcript(admin_site: AdminSite, request: HttpRequest, object_id: UUID) -> HttpResponse:
    user = viewer(request, CONTENT)
    try:
        run = run_or_404(object_id)
    except Unreadable:
        return redirect("admin:agents_agentrun_change", object_id)
    context = {**admin_site.each_context(request), "title": "Transcript", "run": run}
    if request.method != "POST":
        return TemplateResponse(request, "admin/agents/agentrun/run/transcript_ask.html", context)
    part, page = request.POST.get("part", "")[:20], _number(request.POST.get("page", ""))
    more = {"part": part} if part else {"page": page} if page > 1 else {}
    record(AuditEntry.Verb.TRANSCRIPT, by=user, run=run, **more)
    parts = list(parts_of(run))
    if part:
        context |= {"whole": True, "parts": [_whole(run, _named(parts, part))]}
    else:
        context |= _paged(parts, page)
    return TemplateResponse(request, "admin/agents/agentrun/run/transcript.html", context)


def _number(asked: str) -> int:
    return max(1, int(asked)) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1


def _paged(parts: Sequence[Part], asked: int) -> dict[str, Any]:
    pages = max(1, -(-len(parts) // PARTS))
    number = min(asked, pages)
    return {
        "parts": parts[(number - 1) * PARTS : number * PARTS],
        "page": number,
        "pages": pages,
        "previous": number - 1,
        "next": number + 1 if number < pages else 0,
    }


def _named(parts: Iterable[Part], key: str) -> Part:
    found = next((part for part in parts if part.key == key), None)
    if found is None:
        raise Http404("There is no such part of the run.")
    return found


# -- parts ----------------------------------------------------------------------------------------


def parts_of(run: AgentRun) -> Iterator[Part]:
    """Everything that was said, in order, each part as much as is shown of it."""
    texts = AgentRun.objects.filter(pk=run.pk).values_list("question", "explanation")
    question, explanation = texts.first() or ("", "")
    yield Part("question", "question", question[:SHOWN], len(question))
    yield from _joined(_events(run.pk))
    if explanation:
        yield Part("explanation", "explanation", explanation[:SHOWN], len(explanation))


def _events(run_id: UUID) -> Iterator[tuple[Event, str]]:
    rows = events.rows(run_id).filter(kind__in=KINDS).annotate(head=Left("content", SHOWN))
    columns = rows.values_list(*events.COLUMNS, "head")
    try:
        for *row, head in columns[:MOST_ROWS].iterator(2_000):
            yield events.event(*row), str(head)
    except (DatabaseError, ValueError, TypeError):
        yield Event(0, "error", None, {}), "The rest cannot be read."


def _joined(rows: Iterable[tuple[Event, str]]) -> Iterator[Part]:
    """Pieces of text put together; of a tool call that is told of more than once, the first."""
    last: Part | None = None
    names: dict[tuple[str, str], str] = {}
    for event, head in rows:
        part = _part(event, head, names)
        if part is None:
            continue
        if last is not None and part.kind in TEXTS and (part.kind, part.parent) == _way(last):
            text = (last.text + part.text)[:SHOWN] if len(last.text) < SHOWN else last.text
            last = replace(last, text=text, size=last.size + part.size, last=part.last)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _way(part: Part) -> tuple[str, str]:
    return part.kind, part.parent


def _part(event: Event, head: str, names: dict[tuple[str, str], str]) -> Part | None:
    name, text, size = "", head, event.size
    match event.kind:
        case "tool_call":
            call = (event.parent, event.text("tool_call", "id"))
            if call in names:
                return None
            name = names[call] = event.text("tool_call", "name")
        case "tool_result":
            name = names.get((event.parent, event.text("tool_call_id")), "")
        case "system" | "source":
            text = _words(event.kind, head)
            size = len(text) if text != head else size
        case "error":
            said = head or event.data.get("error")
            text = said[:SHOWN] if isinstance(said, str) else ""
            size = len(text)
    if not text and not size and event.kind in ("source", "error"):
        return None
    seq = event.seq
    return Part(str(seq), event.kind, text, size, seq, seq, name, event.parent)


def _words(kind: str, content: str) -> str:
    """What is written in content that holds several things; else as it is."""
    try:
        held = json.loads(content)
    except (ValueError, RecursionError):
        return content
    if not isinstance(held, dict):
        return content
    names = ("system_message", "action") if kind == "system" else ("path", "snippet")
    return "\n".join(str(held[name]) for name in names if held.get(name))


def _whole(run: AgentRun, part: Part) -> Part:
    """A part without its cut."""
    if not part.is_cut:
        return part
    if not part.first:
        text = AgentRun.objects.values_list(part.kind, flat=True).get(pk=run.pk)
        return replace(part, text=text)
    between = RunEvent.objects.filter(run=run.pk, kind=part.kind)
    rows = between.filter(seq__gte=part.first, seq__lte=part.last).order_by("seq")
    text = "".join(map(str, rows.values_list("content", flat=True)))
    return replace(part, text=text, size=len(text))
