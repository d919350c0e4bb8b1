"""The log of changes: who, when, from what, to what."""

import pytest
from django.contrib.auth.models import User

from agents.models import SettingChange, UserAgentConfig
from agents.settings_service import update_limits, update_settings
from settings_ui.views.changes import PAGE_SIZE
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return make_ada()


def read_page(user: User, query: str = "") -> str:
    html = browser(user).get(f"/settings/changes/{query}", secure=True).content.decode()
    assert problems(html) == []
    return Page(html).text()


def test_a_change_is_told_with_its_old_and_new_value(ada: User) -> None:
    update_limits(ada, {"token_budget": 60_000})
    assert "Tokens 50,000 60,000 you" in read_page(ada)


def test_whoever_changed_it_for_you_is_named(ada: User) -> None:
    eve = User.objects.create_superuser("eve")
    update_settings(UserAgentConfig, ada, {"default_tree": "quick"}, by=eve)
    assert read_page(ada).endswith("eve")
    eve.delete()
    assert "a deleted user" in read_page(ada)


def test_the_changes_of_others_are_not_shown(ada: User) -> None:
    update_limits(User.objects.create_user("eve"), {"token_budget": 60_000})
    assert "Nothing has been changed yet" in read_page(ada)


def test_a_setting_that_is_not_known_here_is_named_by_its_column(ada: User) -> None:
    SettingChange.objects.create(user=ada, by=ada, name="old_name", old="", new="<b>x</b>")
    assert "Old name nothing <b>x</b> you" in read_page(ada)


def test_the_newest_comes_first_and_pages_hold_so_many(ada: User) -> None:
    for number in range(PAGE_SIZE + 1):
        SettingChange.objects.create(user=ada, by=ada, name="x", old="", new=f"value-{number:03}")
    first, second = read_page(ada), read_page(ada, "?page=2")
    assert first.index(f"value-{PAGE_SIZE:03}") < first.index("value-001")
    assert "value-000" in second
    assert "Page 1 of 2" in first


@pytest.mark.parametrize("page", ["0", "-1", "x", "9" * 400, "%00"])
def test_a_page_that_is_not_there_shows_one_that_is(ada: User, page: str) -> None:
    update_limits(ada, {"token_budget": 60_000})
    assert "60,000" in read_page(ada, f"?page={page}")
