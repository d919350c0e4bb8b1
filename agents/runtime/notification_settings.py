"""What people see and set of notifications: switches, when each last spoke, reminders."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from agents import ledger
from agents.core.notify.preview import name_speakers
from agents.models import ControlSwitch, NotificationSettings, Reminder, SettingChange
from agents.projects.queries import projects_for, runs_for
from agents.runtime.control import SubscriberEntry, list_subscribers
from agents.settings_service import update_settings

MAX_RUNS = 50
"""The newest runs of a person, in which is looked for who spoke last."""
SWITCH_CHANGE = "notification"
"""What the log of changes calls a switch."""
USED_LISTED_FOR = timedelta(days=7)


class UnknownSubscriber(Exception):
    """There is no subscriber of that id."""

    def __init__(self) -> None:
        super().__init__("There is no such notification.")


class LockedSubscriber(Exception):
    """A subscriber cannot be switched. The message says why."""


@dataclass(frozen=True, slots=True)
class LastSpoke:
    """When a subscriber has last spoken to somebody, and in which run."""

    at: datetime
    run_id: UUID
    conversation_key: UUID | None


def get_subscriber(user: User, name: str) -> SubscriberEntry:
    """Return a subscriber as it is switched for somebody. Raises UnknownSubscriber."""
    for entry in list_subscribers(user):
        if entry.subscriber.id == name:
            return entry
    raise UnknownSubscriber


def find_last_spoken(user: User) -> dict[str, LastSpoke]:
    """Return when subscribers have last spoken in somebody's newest runs, by their ids."""
    runs = runs_for(user).order_by("-started_at")
    keys: Mapping[UUID, UUID | None] = dict(runs.values_list("pk", "conversation_key")[:MAX_RUNS])
    found: dict[str, LastSpoke] = {}
    if not keys:
        return found
    for run_id, chunk in ledger.load_chunks_of_runs(list(keys), ("system", "event")):
        at = datetime.fromtimestamp(chunk.at, tz=timezone.get_default_timezone())
        for name in name_speakers(chunk):
            if name not in found or found[name].at < at:
                found[name] = LastSpoke(at, run_id, keys[run_id])
    return found


def explain_lock(entry: SubscriberEntry) -> str:
    """Return why a subscriber cannot be switched by people; empty if it can."""
    if entry.subscriber.id == "reminders":
        return "Reminders have a switch of their own."
    if entry.subscriber.id == "rule-notify":
        return "Always on: each rule has a switch of its own."
    if entry.is_locked:
        return "Always on: it says why a run is warned or stopped."
    return "Switched off for this site." if entry.row and not entry.row.is_on else ""


@transaction.atomic
def switch_subscriber(user: User, name: str, *, is_on: bool) -> SubscriberEntry:
    """Switch a subscriber for the runs that somebody starts from now on."""
    entry = get_subscriber(user, name)
    if reason := explain_lock(entry):
        raise LockedSubscriber(reason)
    if entry.is_on != is_on:
        mode = {True: "on", False: "off"}
        ControlSwitch.objects.update_or_create(
            user=user,
            kind=ControlSwitch.Kind.SUBSCRIBER,
            name=name,
            defaults={"mode": mode[is_on], "changed_at": timezone.now()},
        )
        SettingChange.objects.create(
            user=user,
            by=user,
            name=SWITCH_CHANGE,
            old=f"{name}: {mode[entry.is_on]}",
            new=f"{name}: {mode[is_on]}",
        )
    return get_subscriber(user, name)


# -- reminders ------------------------------------------------------------------------------------


def keeps_reminders(user: User) -> bool:
    return NotificationSettings.for_user(user).keeps_reminders


def switch_reminders(user: User, *, is_on: bool) -> None:
    """Let somebody's runs keep reminders and be told them, or not."""
    update_settings(NotificationSettings, user, {"keeps_reminders": is_on})


def waiting_reminders(user: User) -> QuerySet[Reminder]:
    """Return the reminders of somebody that a run may still be told."""
    return _visible(user).filter(used_at=None, expires_at__gt=timezone.now())


def used_reminders(user: User) -> QuerySet[Reminder]:
    """Return the reminders of somebody that a run was told lately."""
    return _visible(user).filter(used_at__gt=timezone.now() - USED_LISTED_FOR)


def delete_reminder(user: User, number: int) -> bool:
    """Delete a reminder of somebody's; return whether there was one."""
    deleted, _ = Reminder.objects.filter(user=user, pk=number).delete()
    return bool(deleted)


def _visible(user: User) -> QuerySet[Reminder]:
    """Return somebody's reminders, without those of projects that they cannot reach now."""
    own = Reminder.objects.filter(user=user).select_related("project", "source_run", "used_by")
    return own.filter(project=None) | own.filter(project__in=projects_for(user))
