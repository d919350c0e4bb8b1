"""What people do to threads: write, take an answer over, archive, withdraw."""

from dataclasses import replace

from django.contrib.auth.models import User

from agents.models import AgentRun, NoteVersion, Project, Thread, ThreadEntry
from agents.projects.errors import ProjectForbidden
from agents.projects.queries import can_manage, can_write
from agents.vault.author import Author
from agents.vault.threads import NewEntry, get_entry, push_entry, withdraw_entries

DEFAULT_THREAD_NAME = "answers"
READ_ONLY_MESSAGE = "You may read this project, but not change it."
NOT_YOURS_MESSAGE = "Only its author or an owner of the project can withdraw an entry."


def push_answer(user: User, run: AgentRun, name: str, entry: NewEntry) -> ThreadEntry:
    """Put an answer, or a passage of it, into a thread; the entry leads back to the run."""
    if not can_write(user, run.project):
        raise ProjectForbidden(READ_ONLY_MESSAGE)
    author = replace(Author.person(user.pk), run_id=run.pk)
    return push_entry(run.project_id, name, entry, author)


def choose_thread(user: User, run: AgentRun) -> str:
    """Return the name of the thread for an answer that shall go to none in particular.

    It is where the person last kept one: of this conversation, else of the project. Before there
    is any, it is one that has nothing of the conversation in its name: everybody reads that.
    """
    kept = ThreadEntry.objects.filter(
        user=user,
        run__isnull=False,
        source=NoteVersion.Source.PERSON,
        withdrawn_at__isnull=True,
        thread__project=run.project_id,
        thread__status=Thread.Status.ACTIVE,
    )
    names = kept.order_by("-id").values_list("thread__name", flat=True)
    here = names.filter(run__conversation_key=run.conversation_key).first()
    return here or names.first() or DEFAULT_THREAD_NAME


def may_withdraw(user: User, entry: ThreadEntry, *, is_owner: bool) -> bool:
    return entry.withdrawn_at is None and (is_owner or entry.user_id == user.pk)


def withdraw_entry(user: User, project: Project, thread: Thread, number: int) -> ThreadEntry:
    """Withdraw an entry of one's own; owners of the project any. Twice is the same as once."""
    entry = get_entry(thread, number)
    if entry.user_id != user.pk and not can_manage(user, project):
        raise ProjectForbidden(NOT_YOURS_MESSAGE)
    withdraw_entries(thread.entries.filter(pk=entry.pk), user.pk)
    return get_entry(thread, number)
