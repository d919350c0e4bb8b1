"""What rules remember of a run that is erased."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.audit.erasure import erase
from agents.core.chunks import EventRecord
from agents.core.config import AgentConfig
from agents.models import AgentRun, Project, RuleState, RunEvent
from tests.agents.audit.stored_runs import FIVE_TURNS, kept, people
from tests.agents.core.recorded_runs import chunks_of
from tests.support.history_rewriting import rewritable

pytestmark = pytest.mark.django_db
RULE = "own:mine"


def run_that_gave(state: dict[str, Any], rule: str = RULE) -> AgentRun:
    """A run in which a rule fired, and what it remembered then."""
    chunks = chunks_of(FIVE_TURNS, AgentConfig())
    fired = EventRecord(
        seq=chunks[-1].seq,
        at=1.0,
        name="rule.fired",
        severity="debug",
        source="rule",
        payload={"rule": rule, "turn": 1, "mode": "on"},
        texts={"state": state, "effects": [], "name": "Mine"},
    )
    run = kept([*chunks[:-1], fired])
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(outcome="completed")
    return run


def remember(key: str, value: Any, rule: str = RULE, **whose: Any) -> None:
    user, project = people()
    owner = {"user": user, "project": project, **whose}
    RuleState.objects.create(rule=rule, key=key, value=value, **owner)


def list_kept() -> set[str]:
    return set(RuleState.objects.values_list("key", flat=True))


def test_words_that_a_run_gave_go_with_it_however_they_are_kept() -> None:
    run = run_that_gave({"said": "the pump is broken", "count": 4})
    remember("said", "the pump is broken")
    remember("joined", "yesterday; the pump is broken; today")
    remember("listed", [{"what": "the pump is broken"}])
    remember("count", 4)
    remember("another", "of a later run")
    erase([run.pk], why="a test")
    assert list_kept() == {"count", "another"}


def test_nothing_goes_that_another_rule_person_or_project_remembers() -> None:
    run = run_that_gave({"said": "gone"})
    eve = User.objects.create_user("eve")
    remember("of-rule", "gone", rule="own:other")
    remember("of-person", "gone", user=eve)
    remember("of-project", "gone", project=Project.objects.create(name="b", slug="b"))
    erase([run.pk], why="a test")
    assert list_kept() == {"of-rule", "of-person", "of-project"}


def test_a_damaged_record_keeps_no_run_from_being_erased() -> None:
    run = run_that_gave({"said": "gone"})
    remember("said", "gone")
    with rewritable():
        RunEvent.objects.filter(kind="event").update(content='{"state": ')
    assert erase([run.pk], why="a test") == 1
