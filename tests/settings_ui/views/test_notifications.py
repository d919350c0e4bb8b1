"""The page of notifications: each with its switch or its lock, what it says, and reminders."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.models import ControlSwitch, NotificationSettings, Reminder
from agents.runtime import list_subscribers
from tests.agents.models.factories import ada as make_ada
from tests.agents.models.factories import engine
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
PAGE = "/settings/notifications/"


@pytest.fixture
def ada() -> User:
    return make_ada()


def show(user: User) -> tuple[str, str]:
    html = browser(user).get(PAGE, secure=True).content.decode()
    assert problems(html) == []
    return html, Page(html).text()


def post(user: User, where: str, **given: Any) -> Any:
    return browser(user).post(where, given, secure=True)


def test_every_subscriber_has_a_switch_or_says_why_not(ada: User) -> None:
    html, text = show(ada)
    for entry in list_subscribers(ada):
        about = entry.subscriber
        assert about.name in text
        assert about.description in text
        assert (f"{PAGE}{about.id}/switch/" in html) == (not about.core)
    assert "Always on: it says why a run is warned or stopped." in text
    assert "Always on: each rule has a switch of its own." in text


def test_what_one_would_be_told_is_shown_as_the_chat_shows_it(ada: User) -> None:
    html, text = show(ada)
    assert "To you Read note failed: " in " ".join(text.split())
    assert "<dd>`vault_read` failed" in html  # the model is told the name that it calls


@pytest.mark.parametrize("page", [PAGE, "/settings/rules/"])
def test_what_is_wrong_with_files_is_told_to_staff_together(
    ada: User, page: str, settings: Any, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    for folder in ("rules", "subscribers"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "bad.toml").write_text("[extra]")
    assert "cannot be read" not in browser(ada).get(page, secure=True).content.decode()
    User.objects.filter(pk=ada.pk).update(is_staff=True, is_superuser=True)
    told = browser(User.objects.get(pk=ada.pk)).get(page, secure=True).content.decode()
    assert problems(told) == []
    assert told.count("One of the site's files cannot be read.") == 1
    folder = "rules" if "rules" in page else "subscribers"
    assert f"{folder}/bad.toml:1:2: there is no table" in told


def test_what_each_says_is_shown_from_examples(ada: User) -> None:
    _, text = show(ada)
    assert "`vault_read` failed: `There is no note Pump.md.`" in text
    assert "Failed calls[2]{tool,error}:" in text


def test_a_switch_is_thrown_and_shown(ada: User) -> None:
    answer = post(ada, f"{PAGE}tool-failures/switch/", on="0")
    assert answer.status_code == 302
    assert ControlSwitch.objects.get().mode == "off"
    assert "Switch on Failed calls" in show(ada)[1]


def test_the_core_stays_on_whatever_is_sent(ada: User) -> None:
    assert post(ada, f"{PAGE}tokens/switch/", on="0").status_code == 302
    assert not ControlSwitch.objects.exists()
    assert post(ada, f"{PAGE}nothing/switch/", on="0").status_code == 404


def test_reminders_are_switched_listed_and_deleted(ada: User) -> None:
    post(ada, "/settings/reminders/", on="1")
    assert NotificationSettings.for_user(ada).keeps_reminders
    reminder = Reminder.objects.create(
        user=ada,
        project=engine(ada),
        text="<b>Check</b> it.",
        expires_at=timezone.now() + timedelta(hours=1),
    )
    html, text = show(ada)
    assert "Turn reminders off" in text
    assert "&lt;b&gt;Check&lt;/b&gt; it." in html
    where = f"/settings/reminders/{reminder.pk}/delete/"
    eve = User.objects.create_user("eve")
    assert post(eve, where).status_code == 404
    assert post(ada, where).status_code == 302
    assert "No reminders are waiting." in show(ada)[1]


def test_only_who_may_write_them_finds_the_way_to_write_one(ada: User) -> None:
    assert "Write one for this site" not in show(ada)[1]
    assert "Write one for this site" in show(User.objects.create_superuser("root"))[1]
