"""Erasing what was said: the one change that stored events allow, and it is recorded.

Numbers, reasons, digests and links stay, so that the audit stays verifiable.
"""

from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.dispatch import Signal

from agents.audit.log import log_actions, log_details
from agents.audit.remembered_words import forget_words
from agents.audit.signing import ERASABLE_TEXTS, OWN_BEHAVIOUR
from agents.audit.traces import empty_log
from agents.models.approvals import ApprovalCall, ApprovalRequest
from agents.models.audit import AuditEntry
from agents.models.behaviours import BehaviourText
from agents.models.control import Reminder
from agents.models.librarian import LibrarianSummary
from agents.models.runs import AgentRun, RunEvent
from agents.models.threads import ThreadEntry

BATCH_SIZE = 200
"""Runs in one transaction."""

content_erased = Signal()
"""Sent with `runs`, ids of runs whose content was erased: who keeps a copy erases it too."""


def erase(run_ids: Iterable[UUID], *, why: str, by: User | None = None) -> int:
    """Erase the content of closed runs, also from the database's log; how many there were.

    Those that go on are left alone.
    """
    count = erase_rows(run_ids, why=why, by=by)
    transaction.on_commit(empty_log, robust=True)
    return count


def erase_rows(run_ids: Iterable[UUID], *, why: str, by: User | None = None) -> int:
    """Do what `erase` does, but leave it to the caller to empty the log, which may take seconds."""
    ids, count = iter(run_ids), 0
    while some := list(islice(ids, BATCH_SIZE)):
        with transaction.atomic():
            closed = AgentRun.objects.filter(pk__in=some, outcome__isnull=False).exclude(
                question=""
            )
            found = list(closed.values_list("pk", flat=True))
            log_actions(AuditEntry.Verb.ERASE, found, by=by, why=why)
            forget_words(found)
            RunEvent.objects.filter(run_id__in=found).exclude(content="").update(content="")
            runs = AgentRun.objects.filter(pk__in=found)
            runs.update(**dict.fromkeys(ERASABLE_TEXTS, ""))
            runs.filter(digests__has_key=OWN_BEHAVIOUR).update(behaviour="")
            _delete_unused_texts(found)
            _erase_decisions(found)
            Reminder.objects.filter(source_run_id__in=found).delete()  # their words are from there
            _delete_summaries(found)
            _erase_withdrawn(ThreadEntry.objects.filter(run_id__in=found))
            content_erased.send(sender=AgentRun, runs=found)
        count += len(found)
    return count


def _delete_unused_texts(run_ids: list[UUID]) -> None:
    """Delete the behaviours that only erased runs have begun with: somebody wrote them."""
    runs = AgentRun.objects.filter(pk__in=run_ids).exclude(behaviour_digest="")
    digests = runs.values_list("behaviour_digest", flat=True).distinct()
    kept = AgentRun.objects.filter(behaviour_digest=OuterRef("pk")).exclude(question="")
    BehaviourText.objects.filter(~Exists(kept), pk__in=list(digests)).delete()


def _erase_decisions(run_ids: list[UUID]) -> None:
    """Erase what people said when they decided: with the run that asked, or the one that did it."""
    asked = Q(run_id__in=run_ids) | Q(continuation_id__in=run_ids)
    found = ApprovalRequest.objects.filter(asked)
    ApprovalCall.objects.filter(approval__in=found).exclude(words="").update(words="")
    found.exclude(words="").update(words="")


def _delete_summaries(run_ids: list[UUID]) -> None:
    """Delete what librarians wrote in these runs and is kept: what somebody had in that project
    while such a run went on. Another run's may be among it, and is only written again."""
    written = LibrarianSummary.objects.filter(
        Exists(
            AgentRun.objects.filter(
                pk__in=run_ids,
                user=OuterRef("user"),
                project=OuterRef("project"),
                started_at__lte=OuterRef("created_at"),
                ended_at__gte=OuterRef("created_at"),
            )
        )
    )
    written.delete()


def _erase_withdrawn(entries: QuerySet[ThreadEntry]) -> None:
    """Erase the texts of entries that were withdrawn. Those that stand are the project's."""
    entries.filter(withdrawn_at__isnull=False).exclude(text="").update(text="")


def erase_unfinished(run_id: UUID, calls: Iterable[str]) -> int:
    """Erase what the subagents of these calls wrote; how many had written something.

    For those that did not finish. The run may still be going, and does not count as erased.
    """
    with transaction.atomic():
        found = [call for call in calls if _subagent_events(run_id, call).exists()]
        if found:
            verb = AuditEntry.Verb.ERASE_UNFINISHED
            log_details(verb, run_id, [{"call": call} for call in found])
        for call in found:
            _subagent_events(run_id, call).update(content="")
    return len(found)


def _subagent_events(run_id: UUID, call: str) -> QuerySet[RunEvent]:
    return RunEvent.objects.filter(run_id=run_id, data__parent=call).exclude(content="")


def erase_user_content(user: User) -> None:
    """Erase what was said in a person's runs, and what they withdrew, before they are deleted.

    The caller empties the log when that is done, too.
    """
    own = AgentRun.objects.filter(user=user, outcome__isnull=False).exclude(question="")
    erase_rows(list(own.values_list("pk", flat=True)), why="user deleted")
    _erase_withdrawn(ThreadEntry.objects.filter(user=user))
