"""What people see and set of notifications."""

from datetime import timedelta
from pathlib import Path
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from pytest_django import Settings

from agents.core.chunks import OracleStreamChunk, SystemMessage
from agents.ledger import Claim, Commit, write
from agents.models import Project, Reminder, RunEvent, SettingChange, StoredSubscriber
from agents.runtime import (
    REMINDERS,
    LockedSubscriber,
    UnknownSubscriber,
    delete_reminder,
    explain_lock,
    find_last_spoken,
    get_subscriber,
    keeps_reminders,
    load_control,
    switch_reminders,
    switch_subscriber,
    visible_reminders,
    waiting_reminders,
)
from agents.runtime.notification_settings import BATCH_SIZE
from tests.agents.core.notify.factories import write as write_subscriber
from tests.agents.models.factories import ada, engine, run_of
from tests.support.history_rewriting import rewritable

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def data_folder(tmp_path: Path, settings: Settings) -> None:
    settings.DATA_DIR = tmp_path


@pytest.fixture
def user() -> User:
    return ada()


@pytest.fixture
def project(user: User) -> Project:
    return engine(user)


def speaking(user: User, project: Project) -> list[str]:
    return [one.id for one in load_control(user, project).subscribers]


# -- switches -------------------------------------------------------------------------------------


def test_a_switch_holds_for_the_person_and_is_recorded(user: User, project: Project) -> None:
    eve = User.objects.create_user("eve")
    assert not switch_subscriber(user, "tool-failures", is_on=False).is_on
    switch_subscriber(user, "tool-failures", is_on=False)
    assert "tool-failures" not in speaking(user, project)
    assert "tool-failures" in speaking(eve, project)
    change = SettingChange.objects.get()
    assert (change.old, change.new) == ("tool-failures: on", "tool-failures: off")
    assert switch_subscriber(user, "tool-failures", is_on=True).is_on
    assert "tool-failures" in speaking(user, project)


@pytest.mark.parametrize("name", ["tokens", "repeated"])
def test_the_core_cannot_be_switched_off_and_says_why(user: User, name: str) -> None:
    with pytest.raises(LockedSubscriber) as refused:
        switch_subscriber(user, name, is_on=False)
    assert str(refused.value) == explain_lock(get_subscriber(user, name))
    assert get_subscriber(user, name).is_on


def test_who_tells_of_reminders_is_on_while_they_are(user: User) -> None:
    with pytest.raises(LockedSubscriber, match="a switch of their own"):
        switch_subscriber(user, REMINDERS, is_on=True)
    assert not get_subscriber(user, REMINDERS).is_on
    switch_reminders(user, is_on=True)
    assert get_subscriber(user, REMINDERS).is_on


def test_what_is_off_for_the_site_is_off_for_everybody(user: User) -> None:
    text = write_subscriber(id="own")
    StoredSubscriber.objects.create(name="own", text=text, is_on=False)
    with pytest.raises(LockedSubscriber, match="for this site"):
        switch_subscriber(user, "own", is_on=True)


@pytest.mark.parametrize("name", ["", "nothing", "x" * 500, "'; drop table"])
def test_what_is_unknown_cannot_be_switched(user: User, name: str) -> None:
    with pytest.raises(UnknownSubscriber):
        switch_subscriber(user, name, is_on=False)


# -- last spoke -----------------------------------------------------------------------------------


def say(user: User, project: Project, subscriber: str, at: float) -> object:
    key = uuid4()
    row = run_of(user, project, conversation_key=key)
    chunks: list[OracleStreamChunk] = [
        SystemMessage(
            seq=1,
            at=at,
            system_type="notification",
            system_message="So.",
            severity="info",
            metadata={"subscriber": subscriber},
        )
    ]
    write([Commit(Claim(row.pk, row.fence), chunks)])
    return key


def test_each_has_last_spoken_in_the_newest_of_ones_own_runs(user: User, project: Project) -> None:
    say(user, project, "tool-failures", 1_000.0)
    newest = say(user, project, "tool-failures", 2_000.0)
    eve = User.objects.create_user("eve")
    say(eve, project, "source-stale", 3_000.0)
    found = find_last_spoken(user, ["source-stale", "tool-failures"])
    assert list(found) == ["tool-failures"]
    assert found["tool-failures"].conversation_key == newest
    assert found["tool-failures"].at.timestamp() == 2_000.0


def test_who_spoke_long_ago_is_found_too(user: User, project: Project) -> None:
    say(user, project, "tool-failures", 1_000.0)
    for _ in range(BATCH_SIZE + 5):
        run_of(user, project)
    assert list(find_last_spoken(user, ["tool-failures"])) == ["tool-failures"]


def test_what_is_damaged_keeps_nobody_from_being_found(user: User, project: Project) -> None:
    say(user, project, "source-stale", 1_000.0)
    with rewritable():
        RunEvent.objects.filter(kind="system").update(data=["no notice"])
    say(user, project, "tool-failures", 2_000.0)
    assert list(find_last_spoken(user, ["source-stale", "tool-failures"])) == ["tool-failures"]


def test_who_has_no_runs_has_heard_nobody(user: User) -> None:
    assert find_last_spoken(user, ["tool-failures"]) == {}


# -- reminders ------------------------------------------------------------------------------------


def test_reminders_are_off_until_they_are_switched_on(user: User) -> None:
    assert not keeps_reminders(user)
    switch_reminders(user, is_on=True)
    assert keeps_reminders(user)
    assert SettingChange.objects.get().name == "keeps_reminders"


def test_people_see_and_delete_their_own(user: User, project: Project) -> None:
    soon = timezone.now() + timedelta(hours=1)
    mine = Reminder.objects.create(user=user, project=project, text="mine", expires_at=soon)
    used = Reminder.objects.create(
        user=user, project=project, text="used", expires_at=soon, used_at=timezone.now()
    )
    Reminder.objects.create(user=user, project=project, text="late", expires_at=timezone.now())
    away = Project.objects.create(name="away", slug="away")
    Reminder.objects.create(user=user, project=away, text="away", expires_at=soon)
    eve = User.objects.create_user("eve")
    theirs = Reminder.objects.create(user=eve, project=project, text="theirs", expires_at=soon)
    assert list(waiting_reminders(user)) == [mine]
    assert set(visible_reminders(user)) == {mine, used}
    assert not delete_reminder(user, theirs.pk)
    assert delete_reminder(user, mine.pk)
    assert not delete_reminder(user, mine.pk)
    assert Reminder.objects.filter(pk=theirs.pk).exists()
