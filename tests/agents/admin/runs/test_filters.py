"""Filters, search and facets of the list, with sound values and hostile ones."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from agents.models import Project
from tests.agents.admin.factories import LIST, Owner, ended, ids, lines, running, saved, seen
from tests.agents.admin.fixtures import auditor, owner

pytestmark = pytest.mark.django_db

HOSTILE = (
    "", " ", "0", "-1", "1e9", "99999999999999999999999", "9" * 5_000, "NaN", "None", "null",
    "' OR 1=1 --", '"', "\\", "%", "_", "\0", "🙂", "<script>alert(1)</script>", "{{ x }}",
    "../../etc/passwd", "a" * 10_000, "[]", "{}", "true", "٣", "2026-13-45", "0000", "9999",
    "9999-12", "9999-12-31", "2026-02-30", "2026-02", "deleted", "running", "today",
)  # fmt: skip
SOME = set(HOSTILE[::5])


@pytest.fixture
def people() -> Owner:
    return owner()


def test_each_filter_shows_its_runs_and_no_others(people: Owner) -> None:
    ada, project = people
    eve, other = User.objects.create_user("eve"), Project.objects.create(name="other")
    old = timezone.now() - timedelta(days=100)
    one, two, three = saved(
        ended(ada, project, "timeout", model="large"),
        ended(eve, other, "completed", tree="quick", at=old),
        running(ada, project),
    )
    looking = auditor()
    expected = {
        "reason=timeout": [one], "outcome=limited": [one], "outcome=running": [three],
        f"user={eve.pk}": [two], "model=large": [one], "tree=quick": [two],
        f"project={other.pk}": [two], f"when={old:%Y-%m-%d}": [two], f"when={old:%Y-%m}": [two],
        "outcome=completed&model=large": [], "when=today&outcome=limited": [one],
        "q=eve": [two], f"q={str(one.pk)[:8]}": [one], f"q={one.pk.hex[:13]}": [one],
        f"q={str(one.pk).upper()}": [one], "q=nobody": [],
    }  # fmt: skip
    for query, runs in expected.items():
        assert lines(seen(looking, f"?{query}")) == ids(*runs), query
    assert set(lines(seen(looking, "?when=7"))) == set(ids(one, three))


def test_the_filter_by_reason_is_open_from_the_start(people: Owner) -> None:
    saved(*(ended(*people, model=f"m{n}") for n in range(20)))
    filters = {
        at["data-filter-title"]: "open" in at
        for at in seen(auditor()).all("details")
        if "data-filter-title" in at
    }
    assert (filters["reason"], filters["model"]) == (True, False)


def test_counts_of_a_filter_are_those_beside_what_else_is_chosen(people: Owner) -> None:
    saved(
        ended(*people, "timeout", model="large"),
        ended(*people, "completed", model="large"),
        ended(*people, "completed", model="small"),
        running(*people, model="small"),
    )
    text = seen(auditor(), "?_facets=1&model=large").text("a")
    wanted = "large (2)", "small (2)", "Time limit (1)", "Completed (1)", "Running (0)", "ada (2)"
    assert [part for part in wanted if part not in text] == []
    assert "Today (2)" in text


def test_searching_for_a_part_of_a_name_finds_all_of_them(people: Owner) -> None:
    users = [User.objects.create_user(f"person{n}") for n in range(8)]
    runs = saved(*(ended(user, people[1]) for user in users))
    assert sorted(lines(seen(auditor(), "?q=PERSON"))) == sorted(ids(*runs))
    assert lines(seen(auditor("eve"), "?q=person3")) == ids(runs[3])


@pytest.mark.parametrize(
    "name",
    [
        "reason",
        "outcome",
        "user",
        "model",
        "tree",
        "project",
        "when",
        "q",
        "p",
        "o",
        "_facets",
        "e",
    ],
)
@pytest.mark.parametrize(
    "values",
    [SOME, pytest.param(set(HOSTILE) - SOME, marks=pytest.mark.ci)],
    ids=["some", "others"],
)
def test_hostile_values_are_no_fault_of_the_server(
    name: str, values: set[str], people: Owner
) -> None:
    saved(ended(*people))
    client = Client()
    client.force_login(auditor())
    for value in sorted(values):
        answer = client.get(LIST, {name: value}, secure=True)
        assert answer.status_code in (200, 302), value
        if answer.status_code == 302:
            assert answer["Location"] == f"{LIST}?e=1"


def test_what_was_not_understood_is_said(people: Owner) -> None:
    assert "This URL contains an unknown filter" in seen(auditor(), "?e=1").text("p")


def test_a_column_that_is_named_a_thousand_times_is_ordered_by_once(people: Owner) -> None:
    saved(ended(*people))
    assert len(lines(seen(auditor(), f"?o={'.'.join(['0', '-9'] * 3_000)}"))) == 1


def test_a_list_in_an_address_counts_by_its_last_value(people: Owner) -> None:
    (run, _) = saved(ended(*people, "timeout"), ended(*people))
    assert lines(seen(auditor(), "?reason=completed&reason=timeout")) == ids(run)
