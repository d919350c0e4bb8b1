"""What is said of a person's runs, and what runs keep for later ones: read and switched."""

from functools import partial

from django.http import HttpResponse
from django.http.response import HttpResponseBase

from agents.core.notify.preview import build_preview
from agents.models import Reminder
from agents.models.api_tokens import Scope
from agents.runtime import (
    LastSpoke,
    LockedSubscriber,
    SubscriberEntry,
    UnknownSubscriber,
    delete_reminder,
    explain_lock,
    find_last_spoken,
    get_subscriber,
    keeps_reminders,
    list_subscribers,
    switch_reminders,
    switch_subscriber,
    waiting_reminders,
)
from chat.api.errors import api_error
from chat.api.framework import ApiRequest, endpoint
from chat.api.notification_schemas import (
    LastSpokeView,
    NotificationChange,
    NotificationList,
    NotificationPreview,
    NotificationView,
    ReminderChange,
    ReminderList,
    ReminderView,
)
from chat.api.runtime import run_db
from chat.api.throttling import Rate
from chat.errors import NotFoundForUser

PATH = "notifications"
ONE_PATH = f"{PATH}/<str:name>"
REMINDERS_PATH = "reminders"
MAX_LISTED = 100


@endpoint("GET", PATH, "Your notifications", scopes=[Scope.SETTINGS], answers=NotificationList)
async def list_notifications(request: ApiRequest) -> NotificationList:
    def load() -> NotificationList:
        entries = list_subscribers(request.user)
        last = find_last_spoken(request.user, [each.subscriber.id for each in entries])
        return NotificationList(
            notifications=[_serialize(each, last.get(each.subscriber.id)) for each in entries]
        )

    return await run_db(load)


@endpoint(
    "PATCH",
    ONE_PATH,
    "Switch a notification on or off",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=NotificationChange,
    answers=NotificationView,
)
async def change_notification(
    request: ApiRequest, name: str, body: NotificationChange
) -> NotificationView:
    """400 says why it cannot be switched: it is one of the core."""

    def change() -> NotificationView:
        entry = switch_subscriber(request.user, name, is_on=body.enabled)
        return _serialize(entry, find_last_spoken(request.user, [name]).get(name))

    try:
        return await run_db(change)
    except UnknownSubscriber as error:
        raise NotFoundForUser(str(error)) from None
    except LockedSubscriber as refused:
        raise api_error(400, ("body", "enabled"), str(refused), "locked") from None


@endpoint(
    "POST",
    f"{ONE_PATH}/preview",
    "What a notification would say, with example values",
    scopes=[Scope.SETTINGS],
    answers=NotificationPreview,
)
async def preview_notification(request: ApiRequest, name: str) -> NotificationPreview:
    try:
        entry = await run_db(partial(get_subscriber, request.user, name))
    except UnknownSubscriber as error:
        raise NotFoundForUser(str(error)) from None
    said = build_preview(entry.subscriber)
    return NotificationPreview(message=said.message, hint=said.hint, hint_of_two=said.hint_of_two)


@endpoint(
    "GET", REMINDERS_PATH, "Reminders for later runs", scopes=[Scope.SETTINGS], answers=ReminderList
)
async def list_reminders(request: ApiRequest) -> ReminderList:
    return await run_db(partial(_load_reminders, request))


@endpoint(
    "PATCH",
    REMINDERS_PATH,
    "Let your runs keep reminders, or not",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    takes=ReminderChange,
    answers=ReminderList,
)
async def change_reminders(request: ApiRequest, body: ReminderChange) -> ReminderList:
    def change() -> ReminderList:
        switch_reminders(request.user, is_on=body.enabled)
        return _load_reminders(request)

    return await run_db(change)


@endpoint(
    "DELETE",
    f"{REMINDERS_PATH}/<int:number>",
    "Delete a reminder",
    scopes=[Scope.SETTINGS],
    rate=Rate.CHANGE,
    answers={204: None},
)
async def remove_reminder(request: ApiRequest, number: int) -> HttpResponseBase:
    if not await run_db(partial(delete_reminder, request.user, number)):
        raise NotFoundForUser("You have no such reminder.")
    return HttpResponse(status=204)


def _load_reminders(request: ApiRequest) -> ReminderList:
    found = waiting_reminders(request.user)[:MAX_LISTED]
    return ReminderList(
        enabled=keeps_reminders(request.user), reminders=list(map(_serialize_reminder, found))
    )


def _serialize(entry: SubscriberEntry, last: LastSpoke | None) -> NotificationView:
    about = entry.subscriber
    told = {"user": about.words.message, "model": about.words.hint}
    return NotificationView(
        id=about.id,
        name=about.name,
        description=about.description,
        events=sorted(about.types),
        at=about.at,
        to=[whom for whom, template in told.items() if template is not None],
        enabled=entry.is_on,
        locked=explain_lock(entry),
        last_spoke=LastSpokeView(at=last.at, run_id=last.run_id) if last else None,
    )


def _serialize_reminder(row: Reminder) -> ReminderView:
    return ReminderView(
        id=row.pk,
        text=row.text,
        category=row.category,
        priority=row.priority,
        project_id=row.project_id,
        kept_at=row.kept_at,
        expires_at=row.expires_at,
        source_run_id=row.source_run_id,
    )
