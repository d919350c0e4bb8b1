"""What was said in a run: for those who may read it, and every opening is recorded.

GET asks first; POST writes down who opens it, then shows it. Plain text, escaped, each part cut to
its beginning; "show all" of one part is an opening too.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.contrib.admin import AdminSite
from django.db.models import Case, F, TextField, When
from django.db.models.functions import Cast, Left
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse

from agents.admin.permissions import CONTENT_PERMISSION, require_permissions
from agents.admin.run import event_rows
from agents.admin.run.event_rows import Event
from agents.admin.run.lookup import UnreadableRun, run_or_404
from agents.audit.event_codec import READ_ERRORS
from agents.audit.log import log_action
from agents.core.chunks import CHUNK_TYPES, PARSE_ERRORS, kinds_read_by
from agents.ledger import query_events
from agents.models import AgentRun
from agents.models.audit import AuditEntry

PREVIEW_CHARS = 2_000
"""Characters of one part."""
PAGE_SIZE = 200
"""Of one page."""
MAX_ROWS = 100_000
KINDS = kinds_read_by("transcript")
LABELS = {
    "question": "Question",
    "explanation": "Explanation",
    "unfinished": "Unfinished work",
    **{kind: CHUNK_TYPES[kind].traits.label for kind in KINDS},
}
STREAMED_KINDS = frozenset(kind for kind in KINDS if CHUNK_TYPES[kind].traits.streamed)
"""Kinds that come in pieces."""
_TEXT_NAMES = {kind: [path[-1] for path in CHUNK_TYPES[kind].traits.word_paths] for kind in KINDS}
"""What each kind's content holds."""


@dataclass(frozen=True, slots=True)
class TranscriptPart:
    """One thing that was said. Pieces of text that follow one another are one."""

    key: str
    kind: str
    text: str
    size: int
    first: int = 0
    last: int = 0
    name: str = ""
    """Of a tool; of a text that is not the answer, what that is called."""
    parent: str = ""

    @property
    def label(self) -> str:
        if self.kind == "content" and self.name:
            return f"{self.name}, before the answer"
        said = LABELS.get(self.kind, self.kind)
        said = f"{said} of a subagent" if self.parent else said
        return f"{said}: {self.name}" if self.name else said

    @property
    def is_truncated(self) -> bool:
        return self.size > len(self.text)


def transcript(admin_site: AdminSite, request: HttpRequest, object_id: UUID) -> HttpResponse:
    user = require_permissions(request, CONTENT_PERMISSION)
    try:
        run = run_or_404(object_id)
    except UnreadableRun:
        return redirect("admin:agents_agentrun_change", object_id)
    context = {**admin_site.each_context(request), "title": "Transcript", "run": run}
    if request.method != "POST":
        return TemplateResponse(request, "admin/agents/run/transcript_ask.html", context)
    part, page = request.POST.get("part", "")[:20], _parse_page_number(request.POST.get("page", ""))
    more = {"part": part} if part else {"page": page} if page > 1 else {}
    log_action(AuditEntry.Verb.TRANSCRIPT, by=user, run=run, **more)
    parts = list(iter_parts(run))
    if part:
        context |= {"whole": True, "parts": [_load_full_part(run, _get_part(parts, part))]}
    else:
        context |= _build_page(parts, page)
    return TemplateResponse(request, "admin/agents/run/transcript.html", context)


def _parse_page_number(asked: str) -> int:
    return max(1, int(asked)) if asked.isascii() and asked.isdecimal() and len(asked) < 9 else 1


def _build_page(parts: Sequence[TranscriptPart], asked: int) -> dict[str, Any]:
    pages = max(1, -(-len(parts) // PAGE_SIZE))
    number = min(asked, pages)
    return {
        "parts": parts[(number - 1) * PAGE_SIZE : number * PAGE_SIZE],
        "page": number,
        "pages": pages,
        "previous": number - 1,
        "next": number + 1 if number < pages else 0,
    }


def _get_part(parts: Iterable[TranscriptPart], key: str) -> TranscriptPart:
    found = next((part for part in parts if part.key == key), None)
    if found is None:
        raise Http404("There is no such part of the run.")
    return found


# -- parts ----------------------------------------------------------------------------------------


def iter_parts(run: AgentRun) -> Iterator[TranscriptPart]:
    """Yield everything that was said, in order, each part as much as is shown of it."""
    texts = AgentRun.objects.filter(pk=run.pk).values_list("question", "explanation")
    question, explanation = texts.first() or ("", "")
    yield TranscriptPart("question", "question", question[:PREVIEW_CHARS], len(question))
    yield from _merge_parts(_iter_events(run.pk), _find_unfinished(run.pk))
    if explanation:
        yield TranscriptPart(
            "explanation", "explanation", explanation[:PREVIEW_CHARS], len(explanation)
        )


def _iter_events(run_id: UUID) -> Iterator[tuple[Event, str]]:
    rows = (
        event_rows.query_rows(run_id)
        .filter(kind__in=(*KINDS, "turn"))
        .annotate(data_text=Cast("data", TextField()))
        .annotate(
            head=Case(
                When(data_text__contains='"words"', then=F("content")),  # JSON must be whole
                default=Left("content", PREVIEW_CHARS),
                output_field=TextField(),
            )
        )
    )
    columns = rows.values_list(*event_rows.COLUMNS, "head")
    try:
        for *row, head in columns[:MAX_ROWS].iterator(2_000):
            yield event_rows.parse_event(*row), str(head)
    except READ_ERRORS:
        yield Event(0, "error", None, {}), "The rest cannot be read."


def _find_unfinished(run_id: UUID) -> dict[str, bool]:
    """Return the calls whose subagents did not finish, so that their words were erased; whether it
    has been said of each."""
    entries = AuditEntry.objects.filter(run=run_id, verb=AuditEntry.Verb.ERASE_UNFINISHED)
    try:
        calls = list(entries.values_list("detail__call", flat=True))
    except READ_ERRORS:
        return {}
    return {str(call)[: event_rows.MAX_TEXT_LENGTH]: False for call in calls}


def _merge_parts(
    rows: Iterable[tuple[Event, str]], unkept: dict[str, bool]
) -> Iterator[TranscriptPart]:
    """Yield pieces of text put together; of a tool call that is told of more than once, the first;
    of a subagent that did not finish, one part for all that is gone."""
    last: TranscriptPart | None = None
    names: dict[tuple[str, str], str] = {}
    interim = ""
    for event, head in rows:
        if event.kind == "turn":
            interim = _read_label(event, head) if _starts_turn(event) else interim
            continue
        part = (
            _build_unfinished(event, unkept)
            if event.parent in unkept
            else _build_part(event, head, names)
        )
        if part is None:
            continue
        if part.kind == "content" and not part.parent:
            part = replace(part, name=interim)
        if (
            last is not None
            and part.kind in STREAMED_KINDS
            and _get_group_key(part) == _get_group_key(last)
        ):
            text = (
                (last.text + part.text)[:PREVIEW_CHARS]
                if len(last.text) < PREVIEW_CHARS
                else last.text
            )
            last = replace(last, text=text, size=last.size + part.size, last=part.last)
            continue
        if last is not None:
            yield last
        last = part
    if last is not None:
        yield last


def _get_group_key(part: TranscriptPart) -> tuple[str, str, str]:
    return part.kind, part.parent, part.name


def _starts_turn(event: Event) -> bool:
    return event.text("phase") == "start" and not event.parent


def _build_unfinished(event: Event, unkept: dict[str, bool]) -> TranscriptPart | None:
    """Return one part for everything that a subagent wrote and did not finish."""
    if unkept[event.parent]:
        return None
    unkept[event.parent] = True
    return TranscriptPart(
        str(event.seq), "unfinished", "", 0, event.seq, event.seq, parent=event.parent
    )


def _read_label(event: Event, head: str) -> str:
    """Return what the text of a turn is called, if it is not yet the answer."""
    with suppress(*READ_ERRORS):
        return str(json.loads(head)["interim"])[: event_rows.MAX_TEXT_LENGTH]
    return event.label


def _build_part(
    event: Event, head: str, names: dict[tuple[str, str], str]
) -> TranscriptPart | None:
    name, text, size = "", head, event.size
    match event.kind:
        case "tool_call":
            call = (event.parent, event.text("tool_call", "id"))
            if call in names:
                return None
            name = names[call] = event.text("tool_call", "name")
        case "tool_result":
            name = names.get((event.parent, event.text("tool_call_id")), "")
            if event.data.get("words") and head:
                both = _format_summarised(head)
                text, size = both[:PREVIEW_CHARS], len(both)
        case "error":
            said = head or event.data.get("error")
            text = said[:PREVIEW_CHARS] if isinstance(said, str) else ""
            size = len(text)
        case kind if len(_TEXT_NAMES[kind]) > 1:
            text = _extract_text(kind, head)
            size = len(text) if text != head else size
    if not text and not size and event.kind in ("source", "error"):
        return None
    seq = event.seq
    return TranscriptPart(str(seq), event.kind, text, size, seq, seq, name, event.parent)


def _extract_text(kind: str, content: str) -> str:
    """Return what is written in content that holds several things; else as it is."""
    try:
        held = json.loads(content)
    except PARSE_ERRORS:
        return content
    if not isinstance(held, dict):
        return content
    return "\n".join(str(held[name]) for name in _TEXT_NAMES[kind] if held.get(name))


def _format_summarised(content: str) -> str:
    """Return a result with the summary that the model got of it, which comes first: it is short."""
    try:
        held = json.loads(content)
        return f"The model got this summary:\n{held['given']}\n\nOf:\n{held['tool_result']}"
    except PARSE_ERRORS:
        return content


def _load_full_part(run: AgentRun, part: TranscriptPart) -> TranscriptPart:
    """Return a part without its cut."""
    if not part.is_truncated:
        return part
    if not part.first:
        text = AgentRun.objects.values_list(part.kind, flat=True).get(pk=run.pk)
        return replace(part, text=text)
    between = query_events([run.pk]).filter(kind=part.kind)
    rows = between.filter(seq__gte=part.first, seq__lte=part.last).order_by("seq")
    text = "".join(map(str, rows.values_list("content", flat=True)))
    if part.kind == "tool_result" and rows.filter(data__has_key="words").exists():
        text = _format_summarised(text)
    return replace(part, text=text, size=len(text))
