"""Notifications and reminders, read and switched by programs."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import Project, Reminder
from tests.chat.api.api_client import Caller, refusal

pytestmark = pytest.mark.django_db(transaction=True)


async def test_notifications_are_listed_and_switched(ada: Caller) -> None:
    listed = (await ada("GET", "notifications")).json()["notifications"]
    found = {each["id"]: each for each in listed}
    assert found["tool-failures"]["enabled"]
    assert found["tool-failures"]["to"] == ["user", "model"]
    assert found["tool-failures"]["locked"] == ""
    assert found["tokens"]["locked"]
    changed = await ada("PATCH", "notifications/tool-failures", json={"enabled": False})
    assert not changed.json()["enabled"]
    again = (await ada("GET", "notifications")).json()["notifications"]
    off = [each["id"] for each in again if not each["enabled"]]
    assert sorted(off) == ["reminders", "tool-failures"]  # reminders were never switched on


async def test_the_core_and_the_unknown_are_refused(ada: Caller) -> None:
    told = refusal(await ada("PATCH", "notifications/tokens", json={"enabled": False}), 400)
    assert "Always on" in str(told)
    refusal(await ada("PATCH", "notifications/nothing", json={"enabled": False}), 404)
    refusal(await ada("POST", "notifications/nothing/preview"), 404)
    refusal(await ada("PATCH", "notifications/tool-failures", json={"enabled": "no"}), 422)


async def test_a_preview_says_what_would_be_said(ada: Caller) -> None:
    shown = (await ada("POST", "notifications/tool-failures/preview")).json()
    assert shown["message"] == "`vault_read` failed: `There is no note Pump.md.`"
    assert shown["hint_of_two"].startswith("Failed calls[2]{tool,error}:")


@sync_to_async
def remind(user: User, project: Project) -> int:
    soon = timezone.now() + timedelta(hours=1)
    return Reminder.objects.create(user=user, project=project, text="Look.", expires_at=soon).pk


async def test_reminders_are_switched_listed_and_deleted(ada: Caller) -> None:
    assert (await ada("GET", "reminders")).json() == {"enabled": False, "reminders": []}
    number = await remind(ada.user, ada.chat.project)
    shown = (await ada("PATCH", "reminders", json={"enabled": True})).json()
    assert shown["enabled"]
    assert [(each["id"], each["text"]) for each in shown["reminders"]] == [(number, "Look.")]
    assert (await ada("DELETE", f"reminders/{number}")).status_code == 204
    refusal(await ada("DELETE", f"reminders/{number}"), 404)
    refusal(await ada("DELETE", "reminders/99999999999999999999"), 404)
