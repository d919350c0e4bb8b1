"""Erasing what was said: the one change that a closed run allows, and it is recorded.

Numbers, reasons, digests and links stay, so that the audit stays verifiable.
"""

from collections.abc import Iterable
from itertools import islice
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.dispatch import Signal

from agents.models.audit import AuditEntry, record_each
from agents.models.chain import TEXTS
from agents.models.runs import AgentRun, RunEvent

SOME = 200
"""Runs in one transaction."""

erased = Signal()
"""Sent with `runs`, ids of runs whose content was erased: who keeps a copy erases it too."""


def erase(run_ids: Iterable[UUID], *, why: str, by: User | None = None) -> int:
    """Erase the content of closed runs; how many there were. Those that go on are left alone."""
    ids, count = iter(run_ids), 0
    while some := list(islice(ids, SOME)):
        with transaction.atomic():
            closed = AgentRun.objects.filter(pk__in=some, outcome__isnull=False).exclude(
                question=""
            )
            found = list(closed.values_list("pk", flat=True))
            record_each(AuditEntry.Verb.ERASE, found, by=by, why=why)
            RunEvent.objects.filter(run_id__in=found).exclude(content="").update(content="")
            AgentRun.objects.filter(pk__in=found).update(**dict.fromkeys(TEXTS, ""))
            erased.send(sender=AgentRun, runs=found)
        count += len(found)
    return count


def forget(user: User) -> None:
    """Before a person is deleted: their runs stay, without what was said in them."""
    own = AgentRun.objects.filter(user=user, outcome__isnull=False).exclude(question="")
    erase(list(own.values_list("pk", flat=True)), why="user deleted")
