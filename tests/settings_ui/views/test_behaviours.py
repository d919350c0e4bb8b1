"""The page of behaviours: listed, copied, written with problems by line, drawn, tried."""

from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.core.cache import cache

from agents.behaviour_service import create_behaviour, list_behaviours_for
from agents.models import StoredBehaviour
from agents.web.throttling import MAX_PER_MINUTE
from tests.agents.audit.stored_runs import FIVE_TURNS, people, stored
from tests.agents.models.factories import ada as make_ada
from tests.settings_ui.input_cases import browser
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
PLACE = "/settings/behaviours/"
HTMX = {"HX-Request": "true"}
TEXT = '(tree "mine"\n  :description "My way."\n  (repeater :until-success (turn)))'


@pytest.fixture(autouse=True)
def nothing_tried_yet() -> None:
    cache.clear()


@pytest.fixture
def ada() -> User:
    return make_ada()


def get(user: User, path: str = "") -> Page:
    response = browser(user).get(PLACE + path, secure=True)
    html = response.content.decode()
    assert response.status_code == 200, html[:200]
    assert problems(html) == []
    return Page(html)


def post(user: User, path: str, *, htmx: bool = False, level: str = "own", **given: Any) -> Any:
    sent = {**given, "for": level}
    return browser(user).post(PLACE + path, sent, secure=True, headers=HTMX if htmx else {})


def text_of(response: Any) -> str:
    return Page(response.content.decode()).text()


def test_all_are_listed_with_what_they_do_and_each_can_be_copied(ada: User) -> None:
    create_behaviour(ada, TEXT)
    page = get(ada)
    assert "Yours mine My way." in page.text()
    assert "Shipped with Oracle" in page.text()
    copies = [at["href"] for at in page.all("a") if "?copy=" in at.get("href", "")]
    assert len(copies) == len(list_behaviours_for(ada))
    for copy in copies:
        assert "No problems." in get(ada, copy.removeprefix(PLACE)).text()


def test_a_copy_is_changed_and_stored_and_is_a_mode_then(ada: User) -> None:
    shown = get(ada, "new/?copy=shipped:plan-then-do").text()
    assert '(tree "my-plan-then-do"' in shown
    response = post(ada, "new/", text=TEXT)
    assert response.status_code == 302
    assert StoredBehaviour.objects.get(user=ada).name == "mine"
    assert (
        "Mine: My way." in Page(browser(ada).get("/settings/", secure=True).content.decode()).text()
    )
    assert "Yours mine My way." in get(ada).text()


def test_problems_are_told_by_line_while_one_types_and_a_good_text_is_drawn(ada: User) -> None:
    told = text_of(post(ada, "check/", htmx=True, text=TEXT.replace("repeater", "repeeter")))
    assert "Line 3, column 3: there is no node 'repeeter'; did you mean 'repeater'?" in told
    drawn = post(ada, "check/", htmx=True, text=TEXT)
    assert "No problems. 1 repeater :until-success line 3 2 turn line 3" in text_of(drawn)


def test_a_bad_text_is_not_stored_and_not_lost(ada: User) -> None:
    response = post(ada, "new/", text="(tree")
    assert response.status_code == 422
    assert "(tree" in text_of(response)
    assert "1 problem." in text_of(response)
    assert not StoredBehaviour.objects.exists()


def test_two_tabs_do_not_overwrite_each_other(ada: User) -> None:
    row = create_behaviour(ada, TEXT)
    other = TEXT.replace("My way", "Another way")
    assert post(ada, f"{row.pk}/", text=other, version="1").status_code == 302
    response = post(ada, f"{row.pk}/", text=TEXT, version="1")
    assert response.status_code == 409
    assert "changed elsewhere" in text_of(response)
    assert "Another way" in text_of(response)
    assert 'name="version" value="2"' in response.content.decode()
    assert post(ada, f"{row.pk}/delete/").status_code == 302
    gone = post(ada, f"{row.pk}/", text=TEXT, version="2")
    assert gone.status_code == 409
    assert "Your text is not lost" in text_of(gone)


def test_what_is_shipped_is_shown_and_cannot_be_changed(ada: User) -> None:
    page = get(ada, "shipped:ask-first/")
    assert "it can be copied, not changed" in page.text()
    assert "Save" not in page.text()
    assert post(ada, "shipped:ask-first/", text=TEXT, version="1").status_code == 403
    assert post(ada, "shipped:ask-first/delete/").status_code == 403


def test_staff_write_for_the_site_and_others_do_not(ada: User) -> None:
    assert "everybody on this site" not in get(ada, "new/").text()
    assert post(ada, "new/", text=TEXT, level="site").status_code == 403
    staff = User.objects.create_user("sue", is_staff=True)
    staff.user_permissions.add(Permission.objects.get(codename="change_storedbehaviour"))
    assert "everybody on this site" in get(staff, "new/").text()
    assert post(staff, "new/", text=TEXT, level="site").status_code == 302
    assert "For everybody on this site mine" in get(ada).text()


def test_one_is_tried_on_a_run_of_the_past() -> None:
    run = stored(FIVE_TURNS)
    user, _ = people()
    told = text_of(post(user, "try/", htmx=True, text=TEXT, run=str(run.pk)))
    assert "It follows the whole run" in told
    strict = TEXT.replace("(turn)", "(turn :tools :none)")
    told = text_of(post(user, "try/", text=strict, run=str(run.pk)))
    assert "would not have been offered" in told
    assert "It differs from that run before the first answer." in told
    assert "The recording goes no further." in told
    assert "The run ended here." not in told


def test_a_shipped_one_is_tried_without_javascript_whose_lines_end_in_two_characters() -> None:
    run = stored(FIVE_TURNS)
    user, _ = people()
    shipped = next(each for each in list_behaviours_for(user) if each.name == "oracle-agent")
    text = shipped.text.replace("\n", "\r\n")
    told = text_of(post(user, "try/", run=str(run.pk), text=text, behaviour=shipped.id))
    assert "It follows the whole run" in told
    assert "give this one another name" not in told


def test_what_cannot_be_tried_is_refused_in_words() -> None:
    run = stored(FIVE_TURNS)
    eve = User.objects.create_user("eve")
    for given, words in (("", "Choose one"), ("x", "Choose one"), (str(run.pk), "no longer")):
        response = post(eve, "try/", htmx=True, text=TEXT, run=given)
        assert response.status_code == 422
        assert words in text_of(response)
    assert "1 problem." in text_of(post(eve, "try/", htmx=True, text="(tree", run="x"))
    for _ in range(MAX_PER_MINUTE["try"]):
        response = post(eve, "try/", htmx=True, text=TEXT, run="x")
    assert response.status_code == 422
    assert "Choose one" not in text_of(response)


def test_hostile_texts_are_refused_and_shown_as_text(ada: User) -> None:
    for text in ("<script>alert(1)</script>", "(" * 20_000, "\0", "x" * 30_000):
        response = post(ada, "new/", text=text)
        assert response.status_code == 422
        assert "<script>alert" not in response.content.decode()
