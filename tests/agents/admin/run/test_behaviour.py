"""The behaviour on the page of a run: drawn with its way, also when its text is gone."""

from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.audit.erasure import erase
from agents.models import (
    AgentRun,
    ApprovalCall,
    ApprovalRequest,
    BehaviourText,
    StoredBehaviour,
)
from tests.agents.admin.fixtures import LIST, auditor, browser, made, page_of
from tests.support.history_rewriting import rewritable
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)


def planned() -> AgentRun:
    return made(call("look", page=1), say("1. Look."), say("It is so."), tree="plan-then-do")


def test_it_is_drawn_with_visits_status_and_what_was_never_reached() -> None:
    text = page_of(planned(), auditor("rita", "view_content")).text()
    assert "plan-then-do : Plans first" in text.replace("plan-then-do:", "plan-then-do :")
    assert "2 visits" in text
    assert "The run ended here." in text
    assert 'turn :interim "Plan"' in text
    assert "Look around if you must" in text
    assert "Iteration 2 (Plan)" in text


def test_what_somebody_wrote_in_it_is_for_those_who_may_read() -> None:
    text = page_of(planned(), auditor()).text()
    assert "repeater :until-success" in text
    assert "Look around" not in text
    assert "(Plan)" not in text


def test_it_says_why_what_was_asked_for_was_not_done() -> None:
    run = planned()
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(outcome="paused")
    asked = ApprovalRequest.objects.create(
        run=run,
        verdict="refused",
        words="Leave them red.",
        decided_by=run.user,
        expires_at=timezone.now(),
    )
    ApprovalCall.objects.create(approval=asked, order=0, name="vault_write", verdict="refused")
    text = page_of(run, auditor("rita", "view_content")).text()
    assert f"It asked before it went on: Refused by {run.user}. “Leave them red.”" in text
    assert "vault_write : refused" in text
    assert "Leave them red" not in page_of(run, auditor()).text()


def test_the_way_of_one_iteration_can_be_marked() -> None:
    run = planned()
    page = page_of(run, auditor(), "?turn=3")
    assert "The path of each iteration" in page.text()
    marked = [at for at in page.all("li") if "taken" in at.get("class", "").split()]
    assert marked
    for query in ("?turn=x", "?turn=999999999999", "?turn=-1", "?turn=%00"):
        assert "The path of each" in page_of(run, auditor(f"other{len(query)}"), query).text()


def test_a_run_without_one_draws_what_it_does_anyway() -> None:
    run = made(call("look", page=1), say("So."))
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(behaviour="", behaviour_digest="")
    run.refresh_from_db()
    text = page_of(run, auditor()).text()
    assert "One iteration after another, as oracle-agent describes it." in text
    assert "The run ended here." in text


def test_it_is_drawn_when_nobody_has_the_text_any_more_and_named_when_it_was_erased() -> None:
    run = planned()
    StoredBehaviour.objects.all().delete()
    assert "The run ended here." in page_of(run, auditor()).text()
    erase([run.pk], why="a test")
    run.refresh_from_db()
    assert not BehaviourText.objects.filter(pk=run.behaviour_digest).exists()
    text = page_of(run, auditor("olga")).text()
    assert "plan-then-do drove this run. Its text is no longer stored." in text


def test_it_is_said_when_its_name_was_erased_too() -> None:
    run = planned()
    erase([run.pk], why="a test")
    with rewritable():
        AgentRun.objects.filter(pk=run.pk).update(behaviour="")
    text = page_of(run, auditor("olga")).text()
    assert "drove this run. Its name and its text were erased." in text


LONG = f'(tree "long" (sequence {"(succeed) " * 197}(repeater :until-success (turn))))'


def test_two_hundred_nodes_and_fifty_turns_take_one_query_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    StoredBehaviour.objects.create(name="long", text=LONG, level="site")
    steps = [call("look", page=number) for number in range(48)]
    run = made(*steps, say("So."), tree="long", max_iterations=50, token_budget=200_000)
    assert (run.turns, run.outcome) == (49, "completed")
    (text,) = BehaviourText.objects.all()
    assert len(text.outline["nodes"]) == 200
    drawn = count_queries(run)
    monkeypatch.setattr("agents.admin.run.views.load_run_trace", lambda *_, **__: None)
    assert drawn == count_queries(run) + 1


def count_queries(run: AgentRun) -> int:
    client = browser(auditor(f"user-{uuid4()}"))
    client.get(f"{LIST}{run.pk}/change/")
    with CaptureQueriesContext(connection) as captured:
        assert client.get(f"{LIST}{run.pk}/change/").status_code == 200
    return len(captured)
