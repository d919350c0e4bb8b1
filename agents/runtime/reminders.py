"""Reminders of people's runs: taken by a run that starts, settled with its end.

A reminder that a run has taken is no other's. It is used once its words are stored in a hint of
that run; a run that ends without, in whatever way, gives it back.
"""

from dataclasses import replace
from datetime import timedelta

from django.utils import timezone

from agents.core.control.events import MAX_NOTE_LENGTH
from agents.core.loop import Control, KeptReminder
from agents.core.notify.reminders import KeptNote, ReminderLog
from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun, NotificationSettings, Reminder

LIFETIME = timedelta(hours=24)
GONE_AFTER = timedelta(days=30)
"""After it has expired; then it goes when another one is kept."""
MAX_WAITING = 50
"""Of one person in one project: beyond that, the oldest give way to those that are kept."""
MAX_TOLD_CHARS = 250
"""Of the reminders that a run is told, so that one hint has all of them; the rest waits."""
_MAX_CATEGORY_LENGTH = 40


def claim_reminders(control: Control, run: AgentRun) -> Control:
    """Give a run those of its reminders that no other run has taken meanwhile."""
    if not control.reminders:
        return control
    ids = [one.id for one in _choose_fitting(control.reminders)]
    Reminder.objects.filter(pk__in=ids, used_by=None, used_at=None).update(used_by=run)
    taken = set(Reminder.objects.filter(pk__in=ids, used_by=run).values_list("pk", flat=True))
    return replace(control, reminders=tuple(one for one in control.reminders if one.id in taken))


def _choose_fitting(reminders: tuple[KeptReminder, ...]) -> list[KeptReminder]:
    """Return as many as can be told at once, in their order, and one at least."""
    chosen: list[KeptReminder] = []
    room = MAX_TOLD_CHARS
    for one in reminders:
        room -= len(one.text)
        if chosen and room < 0:
            break
        chosen.append(one)
    return chosen


def settle_reminders(run: AgentRun, log: ReminderLog) -> None:
    """Store what has become of a run's reminders, and those that it keeps. Harmless a second time.

    Belongs into the transaction that ends the run.
    """
    taken = Reminder.objects.filter(used_by=run, used_at=None)
    taken.filter(pk__in=log.told).update(used_at=timezone.now())
    taken.update(used_by=None)
    if log.kept and run.user_id is not None:
        _keep(run, run.user_id, log.kept)


def _keep(run: AgentRun, user_id: int, notes: list[KeptNote]) -> None:
    if not NotificationSettings.objects.filter(user=user_id, keeps_reminders=True).exists():
        return
    old = Reminder.objects.filter(user=user_id, expires_at__lt=timezone.now() - GONE_AFTER)
    old.delete()
    rows = [_build_row(run, user_id, note) for note in notes[:MAX_WAITING]]
    Reminder.objects.bulk_create(rows, ignore_conflicts=True)
    waiting = Reminder.objects.filter(
        user=user_id, project=run.project_id, used_at=None, expires_at__gt=timezone.now()
    )
    newest = waiting.order_by("-kept_at", "-pk").values_list("pk", flat=True)[:MAX_WAITING]
    waiting.filter(used_by=None).exclude(pk__in=list(newest)).delete()


def _build_row(run: AgentRun, user_id: int, note: KeptNote) -> Reminder:
    """Return a reminder: what a rule keeps is for its conversation, what the model keeps for all
    of the project."""
    now = timezone.now()
    priority = note.priority if note.priority in Reminder.Priority.values else "normal"
    return Reminder(
        user_id=user_id,
        project_id=run.project_id,
        conversation_key=run.conversation_key if note.rule else None,
        text=replace_unstorable(note.text)[:MAX_NOTE_LENGTH],
        category=replace_unstorable(note.category)[:_MAX_CATEGORY_LENGTH],
        priority=priority,
        source_run=run,
        source_seq=note.seq,
        kept_at=now,
        expires_at=now + LIFETIME,
    )
