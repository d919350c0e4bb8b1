"""What a paused run asks, as its card shows it: each call with what it would change."""

import json
from dataclasses import dataclass, replace
from uuid import UUID

from django.http import QueryDict

from agents.approvals import (
    CallChange,
    PendingApproval,
    find_note_path,
    find_note_version,
    preview_change,
)
from agents.approvals.requests import PendingCall
from agents.web.tool_titles import get_title
from chat.rendering.tool_words import summarize_arguments


@dataclass(frozen=True, slots=True)
class WaitingCall:
    """One call on the card: a diff for a note, its arguments for anything else."""

    pending: PendingCall
    change: CallChange | None
    arguments: list[tuple[str, str]]
    has_conflict: bool
    """Whether the note has changed since the run asked: a yes would be refused."""
    is_ticked: bool = True
    words: str = ""
    """How it should be done differently, as it was typed."""

    @property
    def order(self) -> str:
        """What its fields are called by."""
        return str(self.pending.row.order)

    @property
    def title(self) -> str:
        """What its tool is called, as on the card of a call."""
        return get_title(self.pending.name)

    @property
    def gist(self) -> str:
        """Which of its arguments tell most; of a note the whole path, which stands nowhere else."""
        moved_to = str(self.pending.arguments.get("new_path") or "")
        paths = [path for path in (self.target, moved_to) if path]
        return " → ".join(paths) or summarize_arguments(self.pending.name, self.pending.arguments)

    @property
    def target(self) -> str:
        """The note that it is about, if it is about one."""
        arguments = self.pending.arguments
        return find_note_path(self.pending.name, arguments) or str(arguments.get("path") or "")


@dataclass(frozen=True, slots=True)
class ApprovalCard:
    """All that is asked, and how it was decided if it was."""

    pending: PendingApproval
    calls: list[WaitingCall]
    words: str = ""
    """What was typed about all of it."""

    @property
    def has_conflict(self) -> bool:
        return any(call.has_conflict for call in self.calls)


def build_card(pending: PendingApproval, typed: QueryDict | None = None) -> ApprovalCard:
    """Return what is shown; with `typed`, a decision that was refused, all of which is kept."""
    project_id = pending.row.run.project_id
    is_open = pending.row.is_open and not pending.row.is_expired
    calls = [_build_call(project_id, one, is_open) for one in pending.calls]
    if typed is None:
        return ApprovalCard(pending, calls)
    ticked = typed.getlist("do")
    kept = [
        replace(call, is_ticked=call.order in ticked, words=typed.get(f"words-{call.order}", ""))
        for call in calls
    ]
    return ApprovalCard(pending, kept, typed.get("words", ""))


def _build_call(project_id: UUID, call: PendingCall, is_open: bool) -> WaitingCall:
    """Return a call with what it would change; what was decided is shown as it was asked."""
    name, arguments = call.name, call.arguments
    change = preview_change(project_id, name, arguments) if is_open else None
    shown = [(_format_name(key), _format_value(value)) for key, value in arguments.items()]
    found = find_note_version(project_id, name, arguments) if is_open else call.row.note_version
    return WaitingCall(call, change, shown, found != call.row.note_version)


def _format_name(key: str) -> str:
    return key.replace("_", " ").capitalize()


def _format_value(value: object) -> str:
    """Return all of it: nobody agrees to what they cannot see."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
