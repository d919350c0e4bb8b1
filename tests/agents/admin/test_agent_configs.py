"""Everybody's agent configuration: listed, with its changes, for those who may see runs."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from agents.core.config import LIMITS, AgentConfig
from agents.models import ModelSettings, SettingChange, UserAgentConfig
from agents.settings_service import reset_limits, update_limits, update_settings
from tests.agents.admin.fixtures import auditor, browser, person
from tests.support.pages import Page

pytestmark = pytest.mark.django_db
LIST = "/admin/agents/useragentconfig/"


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def read_page(user: User, path: str = "", status: int = 200) -> str:
    answer = browser(user).get(LIST + path)
    assert answer.status_code == status, answer.content[:500]
    return str(answer.content.decode())


def names(html: str) -> list[str]:
    """Whom the list shows, in its order."""
    links = [at["href"] for at in Page(html).all("a") if at.get("href", "").startswith(LIST)]
    keys = [int(link.removeprefix(LIST).partition("/")[0]) for link in links if "/change/" in link]
    return [User.objects.get(pk=key).username for key in keys]


def test_everybody_is_listed_with_their_limits_also_who_never_set_any(ada: User) -> None:
    User.objects.create_user("eve")
    update_limits(ada, {"max_iterations": 7, "token_budget": 123_000})
    html = read_page(auditor())
    assert names(html) == ["ada", "eve", "otto"]
    text = Page(html).text()
    assert all(limit.label in text for limit in LIMITS.values())
    assert "default 7 70 123,000 80 120 5 3 eve never default 15 70 50,000 80 120 5 3" in text
    assert not UserAgentConfig.objects.filter(user__username="eve").exists()  # looking stores none


def test_a_person_s_page_says_what_was_changed_when_and_by_whom(ada: User) -> None:
    root = User.objects.create_superuser("root")
    update_limits(ada, {"max_iterations": 7, "token_budget": 9_000})
    update_settings(UserAgentConfig, ada, {"default_tree": "quick"}, by=root)
    html = read_page(auditor(), f"{ada.pk}/change/")
    assert Page(html).problems == []
    text = Page(html).text()
    assert "Agent configuration of ada" in text
    assert "Max iterations 7 15 1 50" in text
    assert "Changed 2 times" in text
    assert "Mode the site's default quick root" in text
    assert "Max iterations 15 7 ada" in text
    assert "Tokens 50,000 9,000 ada" in text
    assert text.index("the site's default quick") < text.index("Max iterations 15 7 ada")


def test_whoever_set_nothing_has_a_page_with_the_defaults(ada: User) -> None:
    text = Page(read_page(auditor(), f"{ada.pk}/change/")).text()
    assert "Nothing has been changed" in text
    assert "Changes None." in text


def test_other_settings_of_a_person_are_not_shown(ada: User) -> None:
    update_settings(ModelSettings, ada, {"oracle_model": "a-private-choice"})
    assert "a-private-choice" not in read_page(auditor(), f"{ada.pk}/change/")


def test_many_changes_have_pages(ada: User) -> None:
    for number in range(60):
        update_limits(ada, {"max_iterations": 10 + number % 2})
    first = Page(read_page(auditor(), f"{ada.pk}/change/")).text()
    assert "Page 1 of 2" in first
    assert "Older" in first
    user = User.objects.get(username="otto")
    for page in ("2", "99", "x", "-1", "9" * 500):
        assert "Changes" in Page(read_page(user, f"{ada.pk}/change/?page={page}")).text()


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("?q=ad", ["ada"]),
        ("?q=%20EVE%20", ["eve"]),
        ("?q=nobody", []),
        ("?limits=own", ["ada"]),
        ("?limits=default", ["eve", "otto", "zoe"]),
        ("?limits=default&q=e", ["eve", "zoe"]),
    ],
)
def test_people_are_found_by_name_and_by_whether_they_changed_something(
    ada: User, query: str, expected: list[str]
) -> None:
    eve, zoe = User.objects.create_user("eve"), User.objects.create_user("zoe")
    update_limits(ada, {"max_iterations": 7})
    UserAgentConfig.for_user(eve)
    update_limits(zoe, {"max_iterations": 7})
    reset_limits(zoe)
    assert names(read_page(auditor(), query)) == expected


@pytest.mark.parametrize("query", ["?limits=x", "?user__password=x", "?max_iterations=7", "?x=1"])
def test_what_is_no_filter_is_not_understood(ada: User, query: str) -> None:
    answer = browser(auditor()).get(LIST + query)
    assert (answer.status_code, answer["Location"]) == (302, f"{LIST}?e=1")


@pytest.mark.parametrize("order", ["1", "-1", "2", "-4.1", "10", "99", "x"])
def test_every_order_can_be_asked_for(ada: User, order: str) -> None:
    update_limits(ada, {"max_iterations": 7})
    assert "ada" in names(read_page(auditor(), f"?o={order}"))


def test_staff_without_the_permission_see_nothing_of_it(ada: User) -> None:
    plain = person("staff", is_staff=True)
    read_page(plain, status=403)
    read_page(plain, f"{ada.pk}/change/", status=403)
    wrong = person("wrong", "view_useragentconfig", "change_useragentconfig", is_staff=True)
    read_page(wrong, status=403)


@pytest.mark.parametrize("method", ["post", "put", "patch", "delete"])
def test_nobody_changes_anything_here(ada: User, method: str) -> None:
    update_limits(ada, {"max_iterations": 7})
    client = browser(User.objects.create_superuser("root"))
    before: list[Any] = [*UserAgentConfig.objects.values(), *SettingChange.objects.values()]
    for path in ("", f"{ada.pk}/change/"):
        given = {**AgentConfig().model_dump(), "_save": "Save", "action": "delete_selected"}
        assert getattr(client, method)(LIST + path, given).status_code == 405
    assert [*UserAgentConfig.objects.values(), *SettingChange.objects.values()] == before


def test_an_impossible_id_is_nobody_s(ada: User) -> None:
    read_page(auditor(), f"{10**40}/change/", status=404)


def test_the_start_page_leads_there() -> None:
    assert f'href="{LIST}"' in browser(auditor()).get("/admin/").content.decode()
