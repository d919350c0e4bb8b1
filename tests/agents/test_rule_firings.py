"""How often rules have fired lately, in somebody's own runs."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from agents.core.chunks import EventRecord
from agents.core.config import AgentConfig
from agents.models import AgentRun, Membership, Project, RunEvent
from agents.rule_firings import FIRING_DAYS, find_firings
from tests.agents.audit.stored_runs import FIVE_TURNS, kept, people
from tests.agents.core.recorded_runs import chunks_of
from tests.support.history_rewriting import rewritable

pytestmark = pytest.mark.django_db


def run_with_firings(*modes: str, rule: str = "own:enough") -> AgentRun:
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    fired = [
        EventRecord(
            seq=chunks[-1].seq + number,
            at=1.0,
            name="rule.fired",
            severity="debug",
            source="rule",
            payload={"rule": rule, "turn": number, "mode": mode},
        )
        for number, mode in enumerate(modes)
    ]
    return kept([*chunks[:-1], *fired])


def test_firings_are_counted_by_rule_with_their_runs() -> None:
    user, _ = people()
    first, second = run_with_firings("on", "on"), run_with_firings("shadow")
    run_with_firings("on", rule="shipped:slow-tool")
    found = find_firings(user)["own:enough", None]
    assert (found.count, found.shadow) == (3, 1)
    assert found.runs == {first.pk: 2, second.pk: 1}
    assert found.newest == [second.pk, first.pk]
    assert find_firings(user)["shipped:slow-tool", None].count == 1


def test_rules_of_two_projects_with_one_id_are_counted_apart() -> None:
    user, here = people()
    run_with_firings("on", "on", rule="project:enough")
    there = Project.objects.create(name="There", slug="there")
    elsewhere = run_with_firings("on", rule="project:enough")
    with rewritable():
        AgentRun.objects.filter(pk=elsewhere.pk).update(project=there)
    Membership.objects.create(project=there, user=user, role=Membership.Role.OWNER)
    found = find_firings(user)
    assert found["project:enough", here.pk].count == 2
    assert found["project:enough", there.pk].newest == [elsewhere.pk]


def test_others_runs_and_old_ones_do_not_count() -> None:
    user, _ = people()
    run = run_with_firings("on")
    assert find_firings(User.objects.create_user("eve")) == {}
    with rewritable():
        old = timezone.now() - timedelta(days=FIRING_DAYS + 1)
        AgentRun.objects.filter(pk=run.pk).update(started_at=old)
    assert find_firings(user) == {}


def test_damaged_records_do_not_count() -> None:
    user, _ = people()
    run_with_firings("on")
    with rewritable():
        RunEvent.objects.filter(kind="event").update(data={"name": "rule.fired", "payload": 1})
    assert find_firings(user) == {}
