"""The list of one's own runs."""

from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.contrib.auth.models import User
from django.core.paginator import Paginator
from django.template.loader import render_to_string
from django.test import Client, RequestFactory
from django.utils import timezone

from agents.audit.event_codec import encode_chunk
from agents.core.chunks import EventRecord
from agents.core.reasons import REASONS
from agents.models import AgentRun, Membership, Project
from chat.conversations import commands
from chat.views.runs import PAGE_SIZE, RunRow
from tests.chat.factories import Talk
from tests.support.pages import Page, problems

PAYLOADS = Path(__file__).resolve().parents[4] / "shared" / "payloads"
HOSTILE = [
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "\"'><svg/onload=alert(1)>",
    "</p></li></ol></main><h1>owned</h1>",
    "</title><script>alert(1)</script>",
    "<!--",
    "]]>",
    "{{ 7|add:7 }}{% debug %}",
    "&lt;script&gt;",
    "\u202e<b hx-get=/x>\u0000</b>",
]


@pytest.fixture
def ada(db: None) -> User:
    return User.objects.create_user("ada")


def run_of(user: User, question: str = "Why?", **fields: Any) -> AgentRun:
    project, _ = Project.objects.get_or_create(name="engine")
    Membership.objects.get_or_create(project=project, user=user)
    ended = {"outcome": "completed", "reason": "completed", "ended_at": timezone.now()}
    return AgentRun.objects.create(
        user=user,
        project=project,
        question=question,
        **{"tree": "default", "model": "scripted", "config": {}, **ended, **fields},
    )


def seen_by(user: User, address: str = "/runs/") -> str:
    client = Client()
    client.force_login(user)
    response = client.get(address, secure=True)
    assert response.status_code == 200
    html = response.content.decode()
    assert problems(html) == []
    return html


def way_to(user: User, run_id: UUID) -> str:
    """The page that a run's link leads to."""
    client = Client()
    client.force_login(user)
    first = client.get(f"/runs/{run_id}/", secure=True)
    return client.get(first["Location"], secure=True)["Location"]


def test_whoever_is_not_signed_in_is_asked_to(db: None) -> None:
    response = Client().get("/runs/", secure=True)
    assert response["Location"] == "/sign-in/?next=/runs/"


def test_somebody_without_runs_is_told_how_to_ask(ada: User) -> None:
    assert "manage.py ask" in seen_by(ada)


def test_a_run_is_listed_with_what_it_took(ada: User) -> None:
    run = run_of(ada, "Why is the sea salt?", turns=4, tokens_in=12_000, tokens_out=340)
    AgentRun.objects.update(started_at=timezone.now(), ended_at=timezone.now())
    run.refresh_from_db()
    assert run.ended_at is not None
    AgentRun.objects.update(ended_at=run.started_at + timedelta(seconds=3.24))
    text = Page(seen_by(ada)).text()
    for part in ("Why is the sea salt?", "Completed", "4 iterations", "12,340 tokens", "scripted"):
        assert part in text
    assert "3.2 s" in text


def test_each_run_is_a_link_to_its_answer(db: None) -> None:
    talk = Talk("Why is the sea salt?")
    later = talk.ask("And then?")
    page = Page(seen_by(talk.user))
    for exchange in (talk.first, later):
        assert {"href": f"/runs/{exchange.run_id}/"} in page.all("a")
        there = way_to(talk.user, exchange.run_id)
        assert there == f"/c/{talk.id}/#x{exchange.pk.hex}"


def test_the_last_runs_on_an_empty_page_are_links_to_their_answers(db: None) -> None:
    talk = Talk("Why is the sea salt?")
    page = Page(seen_by(talk.user, "/new/"))
    assert {"class": "clip", "href": f"/runs/{talk.first.run_id}/"} in page.all("a")


def test_a_run_in_no_conversation_is_shown_by_itself(ada: User) -> None:
    """Those of the terminal were in none, once."""
    run = run_of(ada, "Why?", answer="It is **so**.", explanation="All was used.")
    text = Page(seen_by(ada, f"/runs/{run.pk}/")).text()
    assert "It is so ." in text
    assert "All was used." in text
    assert f"manage.py ask --continue {run.pk}" in text


def test_a_run_whose_conversation_was_deleted_offers_to_undo_that(db: None) -> None:
    talk = Talk("Why is the sea salt?")
    commands.delete(talk.now)
    html = seen_by(talk.user, f"/runs/{talk.first.run_id}/")
    assert f'action="/c/{talk.id}/restore/"' in html
    assert "It is so." not in html


def test_other_peoples_runs_have_no_page(ada: User) -> None:
    talk = Talk(name="bob")
    client = Client()
    client.force_login(ada)
    for run_id in (talk.first.run_id, uuid4()):
        assert client.get(f"/runs/{run_id}/", secure=True).status_code == 404


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "0.0 s"), (59.94, "59.9 s"), (60, "1 min 0 s"), (119.9, "2 min 0 s"), (-1, "0.0 s")],
)
def test_a_duration_is_said_in_seconds_and_minutes(seconds: float, words: str) -> None:
    now = timezone.now()
    run = AgentRun(started_at=now, ended_at=now + timedelta(seconds=seconds))
    assert RunRow(run).duration == words


@pytest.mark.parametrize("code", REASONS.names())
def test_a_run_that_ended_carries_its_reason_as_a_badge(ada: User, code: str) -> None:
    reason = REASONS.get(code)
    run_of(ada, outcome=reason.outcome.value, reason=code)
    page = Page(seen_by(ada))
    assert ("span", {"class": f"badge {reason.outcome.value}"}) in page.elements
    assert reason.label in page.text("span")


def test_a_reason_that_nobody_knows_any_more_is_named_by_its_code(ada: User) -> None:
    run_of(ada, outcome="limited", reason="two_sources_missing")
    assert "two_sources_missing" in Page(seen_by(ada)).text("span")


def test_a_run_that_goes_on_is_marked(ada: User) -> None:
    run_of(ada, outcome=None, reason="", ended_at=None)
    page = Page(seen_by(ada))
    assert ("span", {"class": "badge running"}) in page.elements
    assert "Running" in page.text("span")


def test_other_peoples_runs_are_never_listed(ada: User) -> None:
    eve = User.objects.create_superuser("eve")
    run_of(ada, "Adas question")
    run_of(eve, "Eves question")
    assert "Adas question" not in seen_by(eve)
    assert "Eves question" not in seen_by(ada)


def test_the_newest_run_comes_first_and_a_page_holds_twenty_five(ada: User) -> None:
    for number in range(PAGE_SIZE + 1):
        run_of(ada, f"question {number:02}.")
    first, second = seen_by(ada), seen_by(ada, "/runs/?page=2")
    assert [html.count('<p class="question">') for html in (first, second)] == [PAGE_SIZE, 1]
    assert first.index("question 25.") < first.index("question 24.")
    assert "question 00." in second
    assert "Page 1 of 2" in first


@pytest.mark.parametrize("page", ["0", "-1", "99", "x", "1e9", "%00", "9" * 400])
def test_a_page_that_is_not_there_shows_one_that_is(ada: User, page: str) -> None:
    run_of(ada)
    assert "Why?" in seen_by(ada, f"/runs/?page={page}")


def test_a_long_question_is_cut(ada: User) -> None:
    run_of(ada, "x" * 32_000)
    assert len(seen_by(ada)) < 5_000


def rendered(text: str) -> Page:
    """The start page of a person of that name who asked that."""
    request = RequestFactory().get("/")
    request.user = User(username=text)
    now = timezone.now()
    run = AgentRun(question=text, model=text, reason=text, outcome="failed", started_at=now)
    page = Paginator([run], PAGE_SIZE).page(1)
    context = {"page": page, "lines": [RunRow(run)], "messages": [text]}
    return Page(render_to_string("chat/pages/runs.html", context, request))


def assert_stays_text(hostile: str, plain: Page) -> None:
    page = rendered(hostile)
    assert page.problems == []
    assert page.shape == plain.shape, hostile
    assert " ".join(hostile.split())[:200] in page.text(), hostile


@pytest.mark.parametrize("hostile", HOSTILE)
def test_hostile_text_stays_text(hostile: str) -> None:
    assert_stays_text(hostile, rendered("plain"))


@pytest.mark.parametrize("every", [16, pytest.param(1, marks=pytest.mark.ci)])
@pytest.mark.parametrize("name", ["xss_alert.txt", "xss_jhaddix.txt", "xss_rsnake.txt"])
def test_collected_hostile_text_stays_text(name: str, every: int) -> None:
    if not (PAYLOADS / name).exists():
        pytest.skip("the collection of payloads is not beside this checkout")
    plain = rendered("plain")
    lines = (PAYLOADS / name).read_text(encoding="utf-8", errors="replace").splitlines()
    for line in list(filter(str.strip, lines))[::every]:
        assert_stays_text(line, plain)


# -- rules ----------------------------------------------------------------------------------------


def test_the_page_of_a_runs_rules_says_which_fired_and_is_ones_own(ada: User) -> None:
    run = run_of(ada)
    payload = {"rule": "own:enough", "turn": 2, "event": "turn.end", "mode": "shadow"}
    fired = EventRecord(
        seq=1,
        at=1.0,
        name="rule.fired",
        severity="debug",
        source="rule",
        payload=payload,
        texts={"name": "<b>Enough", "effects": ["stop: Enough."]},
    )
    encode_chunk(fired).build_event(run.pk).save()
    client = Client()
    client.force_login(ada)
    html = client.get(f"/runs/{run.pk}/rules/", secure=True).content.decode()
    assert problems(html) == []
    text = Page(html).text()
    assert "<b>Enough own:enough 2 turn.end Shadow: only recorded. stop: Enough." in text
    client.force_login(User.objects.create_user("eve"))
    assert client.get(f"/runs/{run.pk}/rules/", secure=True).status_code == 404
