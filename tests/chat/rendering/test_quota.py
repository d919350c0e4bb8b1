"""What somebody's pages cost: ordinary use never meets the bound, sockets are no way round it."""

import pytest
from django.contrib.auth.models import User
from django.test import Client

from chat.conversations.tree import PAGE_SIZE
from chat.live import follower
from chat.markdown import RenderBudget, budget, render
from chat.rendering import quota
from tests.chat.page_client import SHOWN, Chat, Tab
from tests.chat.views.test_runs import run_of
from tests.support.dom import Dom
from tests.support.script import say

RICH = """## What follows

The **tide** is late; see [notes/tide.md:12] and `boats()`, or [the plan](https://plan.invalid).

- one *thing*
- another `thing`

| port | boats |
|---|---|
| north | 2 |

```python
def boats(port):
    return [boat for boat in fleet if boat.port == port]
```

The quarter closed with a small surplus, because the hire moved to May, as everybody had agreed.

"""


@pytest.fixture
def poor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever has had one dear answer has had too much."""
    monkeypatch.setattr(quota, "BURST", budget.MAX_ANSWER_COST // 2)
    monkeypatch.setattr(quota, "PER_SECOND", 0.001)


def test_twenty_full_pages_of_rich_answers_can_be_opened_at_once() -> None:
    account, answer = RenderBudget(), RICH * 8
    render(answer, budget=account)
    assert len(answer) > 3_000
    assert 20 * PAGE_SIZE * account.spent < quota.BURST


def test_what_is_rendered_is_charged_to_whom_it_is_rendered_for(poor: None) -> None:
    with quota.charge_user(1):
        quota.add_cost(budget.MAX_ANSWER_COST)
    quota.add_cost(budget.MAX_ANSWER_COST)
    assert quota.get_wait_seconds(1) > 0
    assert quota.get_wait_seconds(2) == 0


@pytest.mark.django_db
def test_an_answer_by_itself_is_charged_too(poor: None) -> None:
    ada = User.objects.create_user("ada")
    run = run_of(ada, "Why?", answer="# a\n" * 4_000)
    client = Client()
    client.force_login(ada)
    there = f"/runs/{run.pk}/"
    assert [client.get(there, secure=True).status_code for _ in range(2)] == [200, 429]


@pytest.mark.django_db(transaction=True)
async def test_a_socket_has_to_wait_as_well_and_is_told_that_it_lives(
    poor: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(follower, "IDLE_SECONDS", 0.02)
    async with Chat(say("# a\n" * 4_000)) as chat:
        run = await chat.talked()
        tab = await chat.open(run)  # the page was the last that is made for them
        await tab.until(lambda: len(tab.frames) > 3)
        assert not [frame for frame in tab.frames if 'id="beat"' not in frame]
        quota._buckets.clear()
        await tab.until(lambda: 'id="controls"' in tab.frames[-1])


@pytest.mark.django_db(transaction=True)
async def test_what_a_socket_shows_is_charged(poor: None) -> None:
    async with Chat(say("# a\n" * 4_000)) as chat:
        run = await chat.talked()
        empty = "".join(f"<i id={name} data-frames=0></i>" for name in (*SHOWN, "beat", "meters"))
        tab = Tab(chat, run, Dom(empty))
        await tab.connect(head=None, live=[])
        await tab.shows("a")
        assert quota.get_wait_seconds(chat.user.pk) > 0
