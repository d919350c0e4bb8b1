"""What a person's run did to the notes of its project, and taking it back."""

from django.contrib.auth.models import User

from agents.models import AgentRun
from agents.projects.queries import can_write
from agents.vault.author import Author
from agents.vault.run_changes import ChangeState, NoteChangeView, list_changes
from agents.vault.versions import undo_run
from chat.errors import InvalidAction

STILL_RUNNING = "The run is still in progress; stop it first, then undo what it did."
NOT_ALLOWED = "You may read the notes of this project, but not change them."


def changes_for(run: AgentRun, call_id: str | None = None) -> list[NoteChangeView]:
    """Return what a run changed, or one of its calls."""
    return list_changes(run.pk, call_id)


def count_undoable(changes: list[NoteChangeView]) -> int:
    return sum(change.state is ChangeState.STANDS for change in changes)


def undo_changes(user: User, run: AgentRun, call_id: str | None = None) -> str:
    """Take back what a run did, and say what came of it. Raises InvalidAction where it may not."""
    if run.outcome is None:
        raise InvalidAction(STILL_RUNNING)
    if not can_write(user, run.project):
        raise InvalidAction(NOT_ALLOWED)
    report = undo_run(run.pk, Author.person(user.pk), call_id)
    if report.conflicts:
        kept = ", ".join(report.conflicts)
        return f"{_count(len(report.undone))} undone. Changed since, and left as it is: {kept}."
    if not report.undone:
        return "There is nothing left to undo."
    return f"{_count(len(report.undone))} undone."


def _count(number: int) -> str:
    return f"{number} change{'' if number == 1 else 's'}"
