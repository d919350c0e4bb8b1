"""What is stored for a run is read in one statement, whoever else has stored something."""

import pytest
from django.contrib.auth.models import User
from pytest_django import DjangoAssertNumQueries

from agents.models import (
    ControlSwitch,
    NotificationSettings,
    RuleState,
    StoredRule,
    StoredSubscriber,
)
from agents.runtime.control_rows import load_control_rows
from tests.agents.models.factories import ada, engine

pytestmark = pytest.mark.django_db


def test_one_statement_reads_everything_that_holds_for_a_run_and_nothing_of_others(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    me, other = ada(), User.objects.create_user("bob")
    here, there = engine(me), engine(other)
    for level, owner in (
        ("site", {}),
        ("project", {"project": here}),
        ("project", {"project": there}),
        ("own", {"user": me}),
        ("own", {"user": other}),
    ):
        name = f"{level}-{getattr(next(iter(owner.values()), None), 'pk', 'all')}"
        StoredRule.objects.create(level=level, name=name, text=name, mode="shadow", **owner)
    StoredSubscriber.objects.create(name="off", text="...", is_on=False)
    for user in (me, other):
        ControlSwitch.objects.create(user=user, kind="rule", name="r", mode=f"m{user.pk}"[:8])
        RuleState.objects.create(user=user, project=here, rule="own:r", key="n", value=[user.pk])
    RuleState.objects.create(user=me, project=there, rule="own:r", key="m", value=None)
    NotificationSettings.objects.create(user=me, keeps_reminders=True)

    with django_assert_num_queries(1):
        rows = load_control_rows(me, here)

    assert [(row.level, row.text, row.mode) for row in rows.rules] == [
        ("own", f"own-{me.pk}", "shadow"),
        ("project", f"project-{here.pk}", "shadow"),
        ("site", "site-all", "shadow"),
    ]
    assert [(row.name, row.is_on) for row in rows.subscribers] == [("off", False)]
    assert rows.switches == {"rule": {"r": f"m{me.pk}"}, "subscriber": {}}
    assert rows.states == {"own:r": {"n": [me.pk]}}
    assert rows.keeps_reminders
    assert not load_control_rows(other, there).keeps_reminders
