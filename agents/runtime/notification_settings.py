"""What people see and set of notifications: switches, when each last spoke, reminders."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from agents import ledger
from agents.core.notify.preview import SILENT_EVENTS, Preview, build_preview, name_speakers
from agents.core.notify.shipped import LOOP, SHIPPED, read_shipped_text
from agents.models import ControlSwitch, NotificationSettings, Reminder, SettingChange
from agents.projects.queries import projects_for, runs_for
from agents.runtime.control import (
    REMINDERS,
    SubscriberEntry,
    list_subscribers,
    parse_subscriber,
)
from agents.settings_service import update_settings

MAX_SPOKEN_RUNS = 500
"""The newest runs of a person, in which is looked for who spoke last."""
BATCH_SIZE = 50
"""Runs that are looked at at a time, until everybody is found."""
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


def find_last_spoken(user: User, names: Collection[str]) -> dict[str, LastSpoke]:
    """Return when these subscribers have last spoken in somebody's newest runs, by their ids."""
    runs = runs_for(user).order_by("-started_at", "pk")
    newest = list(runs.values_list("pk", "conversation_key")[:MAX_SPOKEN_RUNS])
    found: dict[str, LastSpoke] = {}
    for start in range(0, len(newest), BATCH_SIZE):
        keys: Mapping[UUID, UUID | None] = dict(newest[start : start + BATCH_SIZE])
        _look_for_speakers(keys, found)
        if found.keys() >= set(names):
            break
    return {name: found[name] for name in names if name in found}


def _look_for_speakers(keys: Mapping[UUID, UUID | None], found: dict[str, LastSpoke]) -> None:
    for run_id, chunk in ledger.load_notices_of_runs(list(keys), SILENT_EVENTS):
        at = datetime.fromtimestamp(chunk.at, tz=timezone.get_default_timezone())
        for name in name_speakers(chunk):
            if name not in found or found[name].at < at:
                found[name] = LastSpoke(at, run_id, keys[run_id])


@lru_cache(maxsize=512)
def preview_subscriber(text: str) -> Preview:
    """Return what the subscriber of a text would say. The page asks for all of them, every time."""
    shipped = {read_shipped_text(one.id): one for one in (*LOOP.values(), *SHIPPED)}
    return build_preview(shipped.get(text) or parse_subscriber(text))


def explain_lock(entry: SubscriberEntry) -> str:
    """Return why a subscriber cannot be switched by people; empty if it can."""
    if entry.subscriber.id == REMINDERS:
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
    return replace(entry, is_on=is_on)


# -- reminders ------------------------------------------------------------------------------------


def switch_reminders(user: User, *, is_on: bool) -> None:
    """Let somebody's runs keep reminders and be told them, or not."""
    update_settings(NotificationSettings, user, {"keeps_reminders": is_on})


def waiting_reminders(user: User) -> QuerySet[Reminder]:
    """Return the reminders of somebody that a run may still be told."""
    return visible_reminders(user).filter(used_at=None)


def visible_reminders(user: User) -> QuerySet[Reminder]:
    """Return somebody's reminders that a run may still be told, and those that one was lately;
    without those of projects that they cannot reach now."""
    now = timezone.now()
    listed = Q(used_at=None, expires_at__gt=now) | Q(used_at__gt=now - USED_LISTED_FOR)
    return (
        _reachable_reminders(user).filter(listed).select_related("project", "source_run", "used_by")
    )


def delete_reminder(user: User, number: int) -> bool:
    """Delete a reminder of somebody's; return whether there was one."""
    deleted, _ = _reachable_reminders(user).filter(pk=number).delete()
    return bool(deleted)


def _reachable_reminders(user: User) -> QuerySet[Reminder]:
    here = Q(project=None) | Q(project__in=projects_for(user))
    return Reminder.objects.filter(here, user=user)
