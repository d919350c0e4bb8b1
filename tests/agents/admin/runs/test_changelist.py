"""The list of runs: columns, filters, search, dates; what it refuses; what it costs."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from agents.core.reasons import REASONS
from agents.models import Project
from tests.agents.admin.factories import (
    LIST,
    Owner,
    ended,
    ids,
    lines,
    running,
    saved,
    seen,
    tampered,
)
from tests.agents.admin.fixtures import auditor, owner, person
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def people() -> Owner:
    return owner()


# -- what it refuses of addresses -----------------------------------------------------------------


def test_more_parameters_than_anybody_needs_are_refused(people: Owner) -> None:
    client = Client()
    client.force_login(auditor())
    query = "&".join(f"a{number}=1" for number in range(1_100))
    assert client.get(f"{LIST}?{query}", secure=True).status_code == 400


# -- what it shows --------------------------------------------------------------------------------


def test_a_list_without_runs_says_so(people: Owner) -> None:
    page = seen(auditor())
    assert "Nobody has asked anything yet." in page.text()
    assert page.all("rect") == []


def test_every_column_is_there(people: Owner) -> None:
    saved(
        ended(*people, "max_iterations", model="large", at=datetime(2026, 3, 4, 5, 6, tzinfo=UTC))
    )
    text = seen(auditor()).text()
    wanted = (
        "2026-03-04 05:06:00 ada",
        "large default Limited Iteration limit 3 / 15 2 1,000 12.0 s",
    )
    assert all(part in text for part in wanted), text


def test_a_page_of_the_list_is_sound(people: Owner) -> None:
    saved(*(ended(*people, code) for code, _ in REASONS), running(*people))
    client = Client()
    client.force_login(auditor())
    html = client.get(LIST, secure=True).content.decode()
    expected = ("no doctype", "<title>", "/static/")
    found = [what for what in problems(html) if not any(part in what for part in expected)]
    assert [what for what in found if "</" not in what and "is not closed" not in what] == []
    assert "style=" not in html
    assert "<style" not in html


@pytest.mark.parametrize("code", [code for code, _ in REASONS])
def test_each_reason_has_its_badge(code: str, people: Owner) -> None:
    saved(ended(*people, code))
    reason = REASONS.get(code)
    page = seen(auditor())
    badges = [at["class"] for at in page.all("span") if "badge" in at.get("class", "")]
    assert badges == [f"badge {reason.outcome.value}"] * 2
    assert reason.label in page.text("span")


def test_a_reason_of_a_package_that_is_gone_is_named_by_its_code(people: Owner) -> None:
    saved(ended(*people, "bored"))
    assert "bored" in seen(auditor()).text("span")


def test_a_run_that_goes_on_is_running_without_a_reason(people: Owner) -> None:
    saved(running(*people))
    assert "Running" in seen(auditor()).text("span")


def test_a_deleted_user_is_not_named(people: Owner) -> None:
    saved(ended(None, people[1]))
    page = seen(auditor())
    assert "deleted user" in page.text("td")
    assert lines(seen(auditor("eve"), "?user=deleted")) == lines(page)


@pytest.mark.skipif(connection.vendor != "sqlite", reason="others refuse such values")
@pytest.mark.parametrize(
    "damage",
    [
        "conversation_key = 'nonsense'", "config = '[]'", "started_at = 'once'", "tokens = 'many'",
        "duration_ms = 'long'", "turns_percent = 'half'", "model = ''", "outcome = 'odd'",
        "also_triggered = '7'", "reason = '<b>'",
    ],
)  # fmt: skip
def test_a_damaged_row_is_shown_among_the_others(damage: str, people: Owner) -> None:
    good, bad = saved(ended(*people), ended(*people))
    tampered([f"UPDATE agents_agentrun SET {damage} WHERE id = '{bad.pk.hex}'"])  # noqa: S608  # our own words
    page = seen(auditor())
    assert sorted(lines(page)) == sorted(ids(good, bad))


# -- titles are content ---------------------------------------------------------------------------


def conversation_of(user: User, project: Project, title: str) -> Any:
    model: Any = apps.get_model("chat", "Conversation")
    return model.objects.create(user=user, project=project, title=title)


def test_titles_are_for_those_who_may_read(people: Owner) -> None:
    talk = conversation_of(*people, "Harbour secrets")
    (run,) = saved(ended(*people, conversation_key=talk.pk))
    blind, sighted = auditor(), auditor("vera", "view_content")
    assert "Harbour" not in seen(blind).text()
    assert str(talk.pk)[:8] in seen(blind).text("td")
    assert "Harbour secrets" in seen(sighted).text("td")
    assert lines(seen(sighted, "?q=harbour")) == ids(run)
    assert lines(seen(blind, "?q=harbour")) == []


@pytest.mark.parametrize(
    "probe",
    [
        "question__startswith=a", "question=a", "answer__icontains=secret", "explanation__gt=",
        "events__content__contains=a", "exchange__conversation__title__startswith=H",
        "user__password__startswith=md5", "seal=a", "conversation_key__isnull=1",
        "_to_field=question", "_popup=1", "all=1",
    ],
)  # fmt: skip
def test_no_other_field_can_be_asked_about(probe: str, people: Owner) -> None:
    saved(ended(*people))
    client = Client()
    client.force_login(User.objects.create_superuser("root"))
    answer = client.get(f"{LIST}?{probe}", secure=True)
    assert (answer.status_code, answer["Location"]) == (302, f"{LIST}?e=1")


# -- dates and pages ------------------------------------------------------------------------------


def test_dates_lead_from_years_to_days_and_back(people: Owner) -> None:
    for day in ("2025-12-31", "2026-02-28", "2026-03-01", "2026-03-09"):
        saved(ended(*people, at=datetime.fromisoformat(f"{day}T12:00:00+00:00")))
    looking = auditor()

    def dates(query: str) -> str:
        client = Client()
        client.force_login(looking)
        html = client.get(LIST + query, secure=True).content.decode()
        shown = html.partition('class="calendar"')[2].partition("</nav>")[0]
        return " ".join(re.findall(r"when=([\d-]+)", shown))

    assert dates("") == "2025 2026"
    assert dates("?when=2026") == "2026-02 2026-03"
    assert dates("?when=2026-03") == "2026 2026-03-01 2026-03-09"
    assert dates("?when=2026-03-09") == "2026-03"
    assert dates("?when=1999") == ""


def test_a_second_page_goes_on_where_the_first_one_ended(people: Owner) -> None:
    now = timezone.now()
    runs = saved(*(ended(*people, at=now - timedelta(seconds=n)) for n in range(60)))
    looking = auditor()
    assert lines(seen(looking)) == ids(*runs[:50])
    assert lines(seen(looking, "?p=2")) == ids(*runs[50:])


# -- what it costs --------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["", "?reason=completed", "?q=person", "?_facets=1"])
def test_the_number_of_queries_does_not_grow_with_rows(query: str, people: Owner) -> None:
    client = Client()
    client.force_login(auditor("vera", "view_content"))

    def queries() -> int:
        client.get(LIST + query, secure=True)
        with CaptureQueriesContext(connection) as captured:
            client.get(LIST + query, secure=True)
        return len(captured)

    user = User.objects.create_user("person0")
    saved(ended(user, people[1]))
    one = queries()
    others = [User.objects.create_user(f"person{n}") for n in range(1, 30)]
    talks = [conversation_of(*people, f"talk {n}").pk for n in range(99)]
    saved(*(ended(others[n % 29], people[1], conversation_key=talks[n]) for n in range(99)))
    assert queries() == one


@pytest.mark.skipif(connection.vendor != "sqlite", reason="reads SQLite's plans")
@pytest.mark.parametrize(
    "query", ["", "?tree=default", "?model=offline&outcome=completed", "?when=today", "?user=1"]
)
def test_what_is_counted_is_read_from_one_index_and_never_sorted(query: str, people: Owner) -> None:
    saved(ended(*people))
    client = Client()
    client.force_login(auditor())
    with CaptureQueriesContext(connection) as captured:
        assert client.get(LIST + query, secure=True).status_code == 200
    counting = [
        asked["sql"] for asked in captured if "GROUP BY" in asked["sql"] and "SUM(" in asked["sql"]
    ]
    plan = _plan(next(sql for sql in counting if "runtool" not in sql))
    assert "COVERING INDEX runs_by_day" in plan
    assert "TEMP B-TREE" not in plan
    page = next(asked["sql"] for asked in captured if '"config"' in asked["sql"])
    assert "SCAN agents_agentrun\n" not in _plan(page) + "\n"


def _plan(sql: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN QUERY PLAN {sql.replace('%', '%%')}")
        return "\n".join(row[3] for row in cursor.fetchall())


# -- the frame ------------------------------------------------------------------------------------


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_theme_is_the_users_own(theme: str, people: Owner) -> None:
    looking = auditor()
    appearance: Any = apps.get_model("agents", "Appearance")
    appearance.objects.create(user=looking, theme=theme)
    assert f"theme-{theme}" in seen(looking).all("body")[0]["class"]


@pytest.mark.parametrize("path", ["/settings/", "/new/"])
def test_only_those_who_may_see_it_are_offered_the_audit(path: str, people: Owner) -> None:
    for user, offered in (
        (auditor(), True),
        (User.objects.create_superuser("root"), True),
        (person("plain"), False),
        (person("staff", is_staff=True), False),
        (person("idle", "view_agentrun"), False),
    ):
        client = Client()
        client.force_login(user)
        links = Page(client.get(path, secure=True, follow=True).content.decode()).all("a")
        assert (LIST in [at.get("href") for at in links]) is offered, user


def test_a_page_far_back_begins_where_it_should_also_the_other_way_round(people: Owner) -> None:
    now = timezone.now()
    runs = saved(*(ended(*people, at=now - timedelta(hours=5 * n)) for n in range(170)))
    looking = auditor()
    for page in (1, 2, 3, 4):
        assert lines(seen(looking, f"?p={page}")) == ids(*runs[50 * page - 50 : 50 * page])
        back = list(reversed(runs))[50 * page - 50 : 50 * page]
        assert lines(seen(looking, f"?p={page}&o=0")) == ids(*back)
