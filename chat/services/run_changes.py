"""What a person's run did to the notes and threads of its project, and taking it back."""

from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction

from agents.models import AgentRun, ThreadEntry
from agents.projects.queries import can_write
from agents.vault.author import Author
from agents.vault.run_changes import ChangeState, NoteChangeView, list_changes
from agents.vault.threads import entries_by_run, withdraw_entries
from agents.vault.versions import undo_run
from chat.errors import InvalidAction

STILL_RUNNING = "The run is still in progress; stop it first, then undo what it did."
NOT_ALLOWED = "You may read this project, but not change it."


@dataclass(frozen=True, slots=True)
class RunChanges:
    """What a run changed, or one of its calls: notes by path, entries of threads in their order."""

    notes: list[NoteChangeView]
    entries: list[ThreadEntry]

    def __len__(self) -> int:
        return len(self.notes) + len(self.entries)

    @property
    def undoable(self) -> int:
        """How many can still be taken back."""
        notes = sum(change.state is ChangeState.STANDS for change in self.notes)
        return notes + sum(entry.withdrawn_at is None for entry in self.entries)


def changes_for(run: AgentRun, call_id: str | None = None) -> RunChanges:
    """Return what a run changed, or one of its calls."""
    entries = entries_by_run(run.pk, call_id).select_related("thread")
    return RunChanges(list_changes(run.pk, call_id), list(entries))


def undo_changes(user: User, run: AgentRun, call_id: str | None = None) -> str:
    """Take back what a run did, and say what came of it. Raises InvalidAction where it may not."""
    if run.outcome is None:
        raise InvalidAction(STILL_RUNNING)
    if not can_write(user, run.project):
        raise InvalidAction(NOT_ALLOWED)
    with transaction.atomic():
        report = undo_run(run.pk, Author.person(user.pk), call_id)
        withdrawn = withdraw_entries(entries_by_run(run.pk, call_id), user.pk)
    undone = len(report.undone) + len(withdrawn)
    if report.conflicts:
        kept = ", ".join(report.conflicts)
        return f"{_count(undone)} undone. Changed since, and left as it is: {kept}."
    return f"{_count(undone)} undone." if undone else "There is nothing left to undo."


def _count(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"
