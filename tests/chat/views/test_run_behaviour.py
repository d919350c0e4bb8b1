"""The way of one's own run through its behaviour."""

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import AsyncClient, Client

from agents.models import AgentRun
from tests.agents.admin.fixtures import going, made
from tests.support.pages import Page, problems
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)


def planned() -> AgentRun:
    return made(call("look", page=1), say("1. Look."), say("It is so."), tree="plan-then-do")


def open_as(user: User, run: AgentRun, query: str = "") -> tuple[int, str]:
    client = Client()
    client.force_login(user)
    response = client.get(f"/runs/{run.pk}/behaviour/{query}", secure=True)
    return response.status_code, response.content.decode()


def test_whoever_asked_sees_the_way_and_nobody_else() -> None:
    run = planned()
    assert run.user is not None
    status, html = open_as(run.user, run, "?turn=2")
    assert status == 200
    assert problems(html) == []
    text = Page(html).text()
    assert "plan-then-do" in text
    assert "Iteration 2 (Plan)" in text
    assert "The run ended here." in text
    assert "a numbered plan of at most five steps, nothing else." in text
    assert "An iteration that called tools counts as failed, so that the run continues" in text
    assert "hx-trigger" not in html
    assert open_as(User.objects.create_user("eve"), run)[0] == 404


def test_a_question_that_names_no_mode_is_driven_by_the_shipped_behaviour() -> None:
    run = made(call("look", page=1), say("It is so."))
    assert (run.tree, run.behaviour, run.outcome) == ("default", "oracle-agent", "completed")
    assert run.behaviour_digest


async def test_it_is_asked_for_again_while_the_run_goes_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with going(monkeypatch) as (runtime, row):
        client = AsyncClient()
        await sync_to_async(client.force_login)(row.user)
        place = f"/runs/{row.pk}/behaviour/"
        html = (await client.get(place, secure=True)).content.decode()
        assert 'hx-trigger="every 2s"' in html
        part = await client.get(place, secure=True, headers={"HX-Request": "true"})
        assert part.status_code == 200
        assert "<html" not in part.content.decode()
        await runtime.cancel(row.pk)
        async for _ in runtime.follow(row.pk):
            pass
        last = await client.get(place, secure=True, headers={"HX-Request": "true"})
        assert last.status_code == 286
