"""Rules, reminders and switches as rows: whose they are, and when they go."""

from typing import Any

import pytest
from django.db import IntegrityError, transaction
from django.utils import timezone

from agents.audit.erasure import erase
from agents.models import (
    AgentRun,
    ControlSwitch,
    NotificationSettings,
    Project,
    Reminder,
    RuleState,
    StoredBehaviour,
    StoredRule,
)
from agents.projects.purge import _delete_rows
from tests.agents.models.factories import ada, engine, run_of

pytestmark = pytest.mark.django_db


def test_a_rule_belongs_to_exactly_what_its_level_says() -> None:
    user = ada()
    project = engine(user)
    wrong: list[dict[str, Any]] = [
        {"level": "site", "user": user},
        {"level": "site", "project": project},
        {"level": "own"},
        {"level": "own", "user": user, "project": project},
        {"level": "project"},
        {"level": "project", "project": project, "user": user},
        {"level": "everybody"},
    ]
    for values in wrong:
        with pytest.raises(IntegrityError), transaction.atomic():
            StoredRule.objects.create(name="x", text="", **values)


def test_a_name_is_taken_once_at_each_level_and_not_across_them() -> None:
    user = ada()
    levels: list[dict[str, Any]] = [
        {"level": "site"},
        {"level": "own", "user": user},
        {"level": "project", "project": engine(user)},
    ]
    for values in levels:
        StoredRule.objects.create(name="x", text="", **values)
        with pytest.raises(IntegrityError), transaction.atomic():
            StoredRule.objects.create(name="x", text="", **values)


def test_everything_of_a_person_goes_with_them_and_of_a_project_with_it() -> None:
    user = ada()
    project = engine(user)
    StoredRule.objects.create(name="x", text="", level="own", user=user)
    StoredRule.objects.create(name="x", text="", level="project", project=project)
    ControlSwitch.objects.create(user=user, kind="rule", name="slow-tool", mode="off")
    RuleState.objects.create(user=user, project=project, rule="own:x", key="n", value=1)
    Reminder.objects.create(user=user, project=project, text="?", expires_at=timezone.now())
    Reminder.objects.create(user=user, text="everywhere", expires_at=timezone.now())
    StoredBehaviour.objects.create(name="y", text="", level="own", user=user)
    StoredBehaviour.objects.create(name="y", text="", level="site")
    NotificationSettings.for_user(user)
    _delete_rows(project)
    assert StoredRule.objects.get().level == "own"
    assert not RuleState.objects.exists()
    assert Reminder.objects.get().text == "everywhere"
    kept = Project.objects.create(name="Kept")
    RuleState.objects.create(user=user, project=kept, rule="own:x", key="n", value=1)
    user.delete()
    for model in (StoredRule, ControlSwitch, Reminder, RuleState, NotificationSettings):
        assert not model._default_manager.exists()
    assert StoredBehaviour.objects.get().level == "site"


def test_words_that_a_run_kept_are_erased_with_its_content() -> None:
    user = ada()
    run = run_of(user, engine(user), outcome="completed")
    Reminder.objects.create(user=user, text="?", source_run=run, expires_at=timezone.now())
    assert erase([run.pk], why="test") == 1
    assert AgentRun.objects.get().question == ""
    assert not Reminder.objects.exists()


def test_keeping_one_reminder_twice_keeps_one() -> None:
    user = ada()
    kept: dict[str, Any] = {
        "user": user,
        "text": "?",
        "source_run": run_of(user, engine(user)),
        "source_seq": 3,
        "expires_at": timezone.now(),
    }
    Reminder.objects.create(**kept)
    with pytest.raises(IntegrityError), transaction.atomic():
        Reminder.objects.create(**kept)
