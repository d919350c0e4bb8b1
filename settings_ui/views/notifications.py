"""What is said of a user's runs, by whom, and what runs keep for later ones."""

from dataclasses import dataclass

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_GET, require_POST

from agents.core.notify.preview import Preview
from agents.runtime import (
    MAX_SPOKEN_RUNS,
    REMINDERS,
    LastSpoke,
    LockedSubscriber,
    SubscriberEntry,
    UnknownSubscriber,
    delete_reminder,
    explain_lock,
    find_file_problems,
    find_last_spoken,
    list_subscribers,
    preview_subscriber,
    switch_reminders,
    switch_subscriber,
    visible_reminders,
)
from agents.web.requests import get_user, sign_in_required
from agents.web.tool_titles import mark_quotes

MAX_LISTED = 100
POINTS = {
    "immediate": "at once",
    "turn_start": "when an iteration begins",
    "after_tool": "after tools have run",
    "turn_end": "when an iteration has ended",
}


@dataclass(frozen=True)
class NotificationRow:
    """A subscriber as the page shows it."""

    entry: SubscriberEntry
    lock: str
    last: LastSpoke | None

    @property
    def point(self) -> str:
        return POINTS[self.entry.subscriber.at]

    @property
    def listeners(self) -> str:
        words = self.entry.subscriber.words
        heard = (("you", words.message), ("the model", words.hint))
        return " and ".join(name for name, template in heard if template is not None)

    @property
    def events(self) -> list[str]:
        return sorted(self.entry.subscriber.types)

    @property
    def preview(self) -> Preview:
        return preview_subscriber(self.entry.text)

    @property
    def message(self) -> str:
        """What people are told, as the chat shows it."""
        said = self.preview.message
        return said if self.entry.subscriber.is_said_by_loop else mark_quotes(said)


@never_cache
@sign_in_required()
@require_GET
def page(request: HttpRequest) -> HttpResponse:
    user = get_user(request)
    entries = list_subscribers(user)
    last = find_last_spoken(user, [entry.subscriber.id for entry in entries])
    problems = find_file_problems() if user.is_staff else []
    reminders = visible_reminders(user)[: 2 * MAX_LISTED]
    context = {
        "section": "notifications",
        "rows": [
            NotificationRow(entry, explain_lock(entry), last.get(entry.subscriber.id))
            for entry in sorted(entries, key=lambda entry: entry.subscriber.core)
        ],
        "max_runs": MAX_SPOKEN_RUNS,
        "problems": [one for one in problems if one.path.startswith("subscribers")],
        "keeps": any(entry.is_on for entry in entries if entry.subscriber.id == REMINDERS),
        "waiting": [one for one in reminders if one.used_at is None][:MAX_LISTED],
        "used": [one for one in reminders if one.used_at is not None][:MAX_LISTED],
    }
    return render(request, "settings/notifications.html", context)


@sign_in_required()
@require_POST
def switch(request: HttpRequest, name: str) -> HttpResponse:
    is_on = request.POST.get("on") == "1"
    try:
        entry = switch_subscriber(get_user(request), name, is_on=is_on)
    except UnknownSubscriber as error:
        raise Http404(str(error)) from None
    except LockedSubscriber as refused:
        messages.error(request, str(refused))
    else:
        state = "on" if is_on else "off"
        messages.success(request, f"{entry.subscriber.name} is {state}, from your next run on.")
    return redirect("notifications")


@sign_in_required()
@require_POST
def reminders(request: HttpRequest) -> HttpResponse:
    """Switch reminders on or off."""
    is_on = request.POST.get("on") == "1"
    switch_reminders(get_user(request), is_on=is_on)
    messages.success(request, f"Reminders are {'on' if is_on else 'off'}, from your next run on.")
    return redirect("notifications")


@sign_in_required()
@require_POST
def remove_reminder(request: HttpRequest, number: int) -> HttpResponse:
    if not delete_reminder(get_user(request), number):
        raise Http404("You have no such reminder.")
    messages.success(request, "The reminder is deleted.")
    return redirect("notifications")
