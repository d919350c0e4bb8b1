"""The page of rules: listed by hook, switched, written with problems by line, tried on the past."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from pytest_django import Settings

from agents.core.rules.vocabulary import HOOKS
from agents.models import Membership, Project, SettingChange, StoredRule
from agents.rule_listing import list_rules_for
from agents.rule_service import create_rule
from agents.web.throttling import MAX_PER_MINUTE
from settings_ui.services.rule_list import HOOK_LABELS
from settings_ui.views.rules import STARTER
from tests.agents.audit.stored_runs import FIVE_TURNS, people, stored
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
RULES = "/settings/rules/"
HTMX = {"HX-Request": "true"}


@pytest.fixture(autouse=True)
def nothing_tried_yet() -> None:
    cache.clear()


@pytest.fixture
def ada() -> User:
    return make_ada()


def get(user: User, path: str = RULES) -> Page:
    response = browser(user).get(path, secure=True)
    html = response.content.decode()
    assert response.status_code == 200, html[:200]
    assert problems(html) == []
    return Page(html)


def post(user: User, path: str, *, htmx: bool = False, **given: Any) -> Any:
    headers = HTMX if htmx else {}
    return browser(user).post(RULES + path, given, secure=True, headers=headers)


def post_new(user: User, meant: str) -> Any:
    given = {"text": STARTER, "for": meant}
    return browser(user).post(f"{RULES}new/", given, secure=True)


def own(user: User) -> StoredRule:
    return create_rule(user, STARTER)


def test_rules_are_listed_by_hook_with_their_switches(ada: User) -> None:
    own(ada)
    page = get(ada)
    text = page.text()
    for label in ("After each iteration", "After a tool call that failed", "When a run has ended"):
        assert label in text
    assert "Five searches are enough Yours Did not fire in 30 days" in text
    assert "An answer needs a source" in text
    assert len(page.all("select")) == len(list_rules_for(ada))


def test_every_hook_has_words() -> None:
    assert set(HOOK_LABELS) == set(HOOKS)


def test_a_new_rule_is_stored_and_listed(ada: User) -> None:
    response = post(ada, "new/", text=STARTER)
    assert response.status_code == 302
    assert StoredRule.objects.get().user == ada
    assert "Five searches are enough" in get(ada).text()
    assert SettingChange.objects.get().new == "stop-after-five: on"


def test_what_cannot_be_read_stays_in_the_field_with_its_places(ada: User) -> None:
    wrong = STARTER.replace("on_turn_end", "on_turn_ende")
    response = post(ada, "new/", text=wrong)
    page = Page(response.content.decode())
    assert response.status_code == 422
    assert "Line 4, column 11: 'on_turn_ende' is not one of" in page.text()
    assert "on_turn_ende" in page.text()
    assert not StoredRule.objects.exists()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (STARTER, "No problems."),
        ("", "Line 1, column 1: the table [rule] is missing"),
        (STARTER.replace("history.calls", "history.cals"), "Line 7, column 15: there is no 'cals'"),
        ("x" * 5_000, "this is longer than 4,096 characters"),
        ("\x00", "this is not TOML"),
        ("<script>", "this is not TOML"),
    ],
)
def test_problems_are_told_while_one_types(ada: User, text: str, said: str) -> None:
    response = post(ada, "check/", htmx=True, text=text)
    assert response.status_code == 200
    assert said in Page(response.content.decode()).text()
    assert b"<script>" not in response.content


def test_a_switch_is_set_from_the_next_run_on(ada: User) -> None:
    row = own(ada)
    response = post(ada, f"{row.pk}/switch/", htmx=True, mode="shadow")
    assert "Shadow from the next run on." in response.content.decode()
    # By what its form has seen, a page knows whether another one has switched it since.
    (seen,) = re.findall(r'<input[^>]* name="seen"[^>]*>', response.content.decode())
    assert 'value="shadow"' in seen
    assert f'id="rule-{row.pk}-seen"' in seen
    assert "hx-swap-oob" in seen
    assert StoredRule.objects.get().mode == "shadow"
    assert post(ada, "shipped:slow-tool/switch/", mode="off").status_code == 302
    assert post(ada, f"{row.pk}/switch/", htmx=True, mode="x").status_code == 422


def test_two_tabs_are_told_and_nothing_is_lost(ada: User) -> None:
    row = own(ada)
    first = post(ada, f"{row.pk}/", text=STARTER.replace("5'", "6'"), version="1")
    assert first.status_code == 302
    second = post(ada, f"{row.pk}/", text=STARTER.replace("5'", "7'"), version="1")
    html = second.content.decode()
    assert second.status_code == 409
    assert problems(html) == []
    page = Page(html)
    assert "This rule was changed elsewhere while you were writing." in page.text()
    assert ">= 6" in page.text()
    assert ">= 7" in page.text()
    (version,) = [at["value"] for at in page.all("input") if at.get("name") == "version"]
    again = post(ada, f"{row.pk}/", text=STARTER.replace("5'", "7'"), version=version)
    assert again.status_code == 302
    assert ">= 7" in StoredRule.objects.get().text


def test_nobody_deletes_a_rule_by_one_press(ada: User) -> None:
    row = own(ada)
    page = get(ada, f"{RULES}{row.pk}/")
    assert "Delete this rule" in page.text("summary")
    assert "This cannot be undone." in page.text()


def test_a_rule_that_does_not_hold_and_one_of_a_package_say_so(
    ada: User, settings: Settings, tmp_path: Path
) -> None:
    settings.DATA_DIR = tmp_path
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules" / "a.toml").write_text(STARTER)
    StoredRule.objects.create(level="site", name="stop-after-five", text=STARTER)
    text = get(ada).text()
    assert "Not in force: rules/a.toml, one of the operator's files, has the same id." in text
    assert "Comes with a package" in text


def test_a_rule_deleted_in_another_tab_can_be_saved_as_a_new_one(ada: User) -> None:
    row = own(ada)
    assert post(ada, f"{row.pk}/delete/").status_code == 302
    assert not StoredRule.objects.exists()
    late = post(ada, f"{row.pk}/", text=STARTER, version="1")
    assert late.status_code == 409
    page = Page(late.content.decode())
    assert "This rule no longer exists." in page.text()
    assert 'id = "stop-after-five"' in page.text()
    assert "/settings/rules/new/" in [at.get("action") for at in page.all("form")]


def test_members_see_a_projects_rule_locked_with_the_reason(ada: User) -> None:
    project = Project.objects.create(name="Harbour", slug="harbour")
    bob = User.objects.create_user("bob")
    Membership.objects.create(project=project, user=ada, role=Membership.Role.OWNER)
    Membership.objects.create(project=project, user=bob, role=Membership.Role.READER)
    assert "all runs in Harbour" in get(ada, f"{RULES}new/").text()
    assert post_new(ada, "project:harbour").status_code == 302
    row = StoredRule.objects.get()
    assert (row.level, row.project) == ("project", project)
    text = get(bob).text()
    assert "On, locked. It is the project's: only an owner of Harbour" in text
    shown = get(bob, f"{RULES}{row.pk}/")
    assert "only an owner of Harbour" in shown.text()
    (area,) = shown.all("textarea")
    assert "readonly" in area
    assert post(bob, f"{row.pk}/switch/", mode="off").status_code == 403
    assert post(bob, f"{row.pk}/switch/", htmx=True, mode="off").status_code == 422
    assert post(bob, f"{row.pk}/", text=STARTER, version="1").status_code == 403
    assert post(bob, f"{row.pk}/delete/").status_code == 403
    for meant in ("project:harbour", "site"):
        refused = post_new(bob, meant)
        assert refused.status_code == 403
        assert "stop-after-five" in refused.content.decode()
    assert post_new(bob, "project:quarry").status_code == 404
    assert StoredRule.objects.count() == 1


def test_a_rule_is_tried_on_ones_own_runs_only() -> None:
    user, _ = people()
    run = stored(FIVE_TURNS)
    text = STARTER.replace("history.calls.vault_search >= 5", "turn.number >= 2")
    response = post(user, "try/", htmx=True, text=text, days="7")
    page = Page(response.content.decode())
    assert "It would have fired in 1 of 1 run" in page.text()
    assert f"/runs/{run.pk}/" in [at.get("href") for at in page.all("a")]
    other = post(User.objects.create_user("eve"), "try/", htmx=True, text=text, days="30")
    assert "There are no runs to try it on." in Page(other.content.decode()).text()


def test_without_javascript_a_trial_is_a_page_that_keeps_the_text(ada: User) -> None:
    response = post(ada, "try/", text=STARTER.replace("Enough", "No more"), days="30")
    html = response.content.decode()
    assert problems(html) == []
    assert "on your runs of the last 30 days" in Page(html).text()
    assert "stop-after-five" in Page(html).text()
    wrong = post(ada, "try/", htmx=True, text="x", days="7")
    assert (wrong.status_code, b"problem" in wrong.content) == (422, True)


def test_trials_are_limited(ada: User) -> None:
    for _ in range(MAX_PER_MINUTE["try"]):
        assert post(ada, "try/", htmx=True, text=STARTER).status_code == 200
    response = post(ada, "try/", htmx=True, text=STARTER)
    assert "Wait a little." in response.content.decode()


def test_what_is_not_there_is_not_found(ada: User) -> None:
    for path in ("0/", "shipped:none/", "x/", "99999999999999999999/"):
        assert browser(ada).get(RULES + path, secure=True).status_code == 404


def test_a_rule_that_cannot_be_changed_is_copied_under_an_id_of_its_own(ada: User) -> None:
    shown = browser(ada).get(f"{RULES}shipped:slow-tool/", secure=True).content.decode()
    (copy,) = re.findall(r'href="([^"]+copy=[^"]+)"', shown)
    text = get(ada, copy).text()
    assert 'id = "my-slow-tool"' in text
    assert 'trigger = "on_tool_complete"' in text
    assert browser(ada).get(f"{RULES}new/?copy=none", secure=True).status_code == 404
