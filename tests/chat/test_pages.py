"""Pages over HTTP: who sees which, and what hostile addresses do."""

from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse

from agents.core.chunks import Chunk, Content
from agents.core.config import AgentConfig
from agents.models import AgentRun, Membership
from agents.runtime import home as home_module
from agents.runtime.world import notes_folder
from chat.calls import SHOWN_CHARS
from chat.models import Conversation
from chat.urls import urlpatterns
from tests.chat.answering import called, done, result, stamped
from tests.chat.talks import Talk, grown, member, said
from tests.support.dom import Dom
from tests.support.hostile import lines
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
NOTE = "plan/road map.md"
OPEN = {"sign-in", "sign-in-link", "sign-out"}
"""For those who are not signed in. Tested with accounts."""
OWN = {"start", "new", "listing", "search", "runs", "password"}
"""Everybody's own: each sees what is theirs."""
MINE = {
    "conversation",
    "earlier",
    "found",
    "outline",
    "tend",
    "export",
    "delete",
    "restore",
    "call",
}
"""The owner's alone."""
OURS = {"note"}
"""Of everybody in the project."""
POSTED = {"tend", "delete", "restore"}


class Quiet:
    """A home where nothing goes on."""

    def __init__(self) -> None:
        self.nudged: list[Any] = []

    def nudge(self, key: Any) -> None:
        self.nudged.append(key)

    async def cancel(self, run_id: Any) -> bool:
        return True


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Quiet:
    quiet = Quiet()
    monkeypatch.setattr(home_module, "_homes", [quiet])
    return quiet


@pytest.fixture
def talk() -> Talk:
    made = Talk("Why is the sea salt?")
    said(made.first, stamped([called("c0"), result("c0"), Content(content="So."), done()]))
    path = notes_folder(made.project) / NOTE
    path.parent.mkdir(parents=True)
    path.write_text("# Road map\n\nFirst *this*.\n")
    return made


def browser(user: User | None) -> Client:
    client = Client(raise_request_exception=True)
    if user is not None:
        client.force_login(user)
    return client


def address(name: str, talk: Talk) -> str:
    own: dict[str, list[Any]] = {
        "earlier": [talk.id, talk.first.pk],
        "found": [talk.id, talk.first.pk],
        "export": [talk.id, "md"],
        "call": [talk.first.run_id, 0],
        "note": [talk.project.pk, NOTE],
        "start": [], "new": [], "listing": [], "search": [], "runs": [], "password": [],
    }  # fmt: skip
    return reverse(name, args=own.get(name, [talk.id]))


def answer(name: str, talk: Talk, user: User | None) -> HttpResponse:
    client = browser(user)
    if name in POSTED:
        given = {"do": "checkout", "exchange": str(talk.first.pk)}
        return cast(HttpResponse, client.post(address(name, talk), given, secure=True))
    return cast(HttpResponse, client.get(address(name, talk), secure=True))


def names() -> set[str]:
    return {str(p.name) for p in urlpatterns}


# -- who sees what --------------------------------------------------------------------------------


def test_every_address_is_somebodys() -> None:
    assert names() == OPEN | OWN | MINE | OURS
    site = {p.name for p in get_resolver().url_patterns if isinstance(p, URLPattern)}
    settings = {"usage", "export-everything"}  # tests/settings_ui/test_views.py has these
    assert site <= {"healthz", "readyz", None} | names() | settings


@pytest.mark.parametrize("name", sorted(OWN | MINE | OURS))
def test_whoever_is_not_signed_in_is_asked_to(name: str, talk: Talk, home: Quiet) -> None:
    response = answer(name, talk, None)
    assert response.status_code == 302
    assert response["Location"].startswith("/sign-in/?next=")


@pytest.mark.parametrize("name", sorted(MINE | OURS))
@pytest.mark.parametrize("who", ["a stranger", "an administrator"])
def test_what_is_somebody_elses_is_not_there(name: str, who: str, talk: Talk, home: Quiet) -> None:
    eve, _ = member("eve")
    eve.is_superuser = eve.is_staff = who == "an administrator"
    eve.save()
    assert answer(name, talk, eve).status_code == 404
    assert talk.now.deleted_at is None
    assert home.nudged == []


@pytest.mark.parametrize("name", sorted(MINE))
def test_a_colleague_does_not_see_ones_conversations(name: str, talk: Talk, home: Quiet) -> None:
    bob, _ = member("bob", talk.project)
    assert answer(name, talk, bob).status_code == 404


def test_a_colleague_sees_the_notes_of_the_project(talk: Talk) -> None:
    bob, _ = member("bob", talk.project)
    assert answer("note", talk, bob).status_code == 200


@pytest.mark.parametrize(
    "name", sorted((OWN | MINE | OURS) - POSTED - {"start", "export", "found"})
)
def test_the_owner_sees_it(name: str, talk: Talk, home: Quiet) -> None:
    response = answer(name, talk, talk.user)
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]


@pytest.mark.parametrize(
    "name",
    sorted(MINE | OURS),
)
def test_whoever_left_the_project_sees_nothing_of_it(name: str, talk: Talk, home: Quiet) -> None:
    Membership.objects.filter(project=talk.project).delete()
    assert answer(name, talk, talk.user).status_code == 404


@pytest.mark.parametrize("name", sorted(POSTED))
def test_what_changes_something_is_not_done_by_a_link(name: str, talk: Talk) -> None:
    assert browser(talk.user).get(address(name, talk), secure=True).status_code == 405


@pytest.mark.parametrize("name", sorted(POSTED))
def test_what_changes_something_needs_a_token(name: str, talk: Talk) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(talk.user)
    assert client.post(address(name, talk), secure=True).status_code == 403


@pytest.mark.parametrize("name", sorted(MINE | OURS))
def test_what_does_not_exist_is_as_what_is_not_yours(name: str, talk: Talk, home: Quiet) -> None:
    there = address(name, talk)
    for known in (talk.id, talk.first.run_id, talk.project.pk):
        there = there.replace(str(known), str(uuid4()))
    client = browser(talk.user)
    response = client.post(there, secure=True) if name in POSTED else client.get(there, secure=True)
    assert response.status_code == 404


# -- the chat page --------------------------------------------------------------------------------


def page(talk: Talk, there: str) -> str:
    response = browser(talk.user).get(there, secure=True)
    assert response.status_code == 200
    return response.content.decode()


@pytest.mark.parametrize("there", ["/new/", "/c/{}/", "/c/{}/outline/", "/search/?q=sea"])
def test_pages_are_written_as_their_policy_demands(talk: Talk, there: str) -> None:
    html = page(talk, there.format(talk.id))
    found = [p for p in problems(html) if not p.startswith(("input ", "a form without"))]
    assert found == []
    assert Dom(html).repeated_ids == []


def test_the_start_is_the_newest_conversation_or_a_new_one(talk: Talk) -> None:
    newest = browser(talk.user).get("/", secure=True)
    assert newest["Location"] == f"/c/{talk.id}/"
    eve, _ = member("eve")
    assert browser(eve).get("/", secure=True)["Location"] == "/new/"


def test_somebody_without_a_project_is_told_so() -> None:
    response = browser(User.objects.create_user("lone")).get("/new/", secure=True)
    assert response.status_code == 403
    assert "no project" in response.content.decode()


def test_a_new_page_begins_a_conversation_of_its_own(talk: Talk) -> None:
    first, second = (Dom(page(talk, "/new/")).get("chat") for _ in range(2))
    assert first.attributes["data-conversation"] != second.attributes["data-conversation"]
    assert not Conversation.objects.filter(pk=first.attributes["data-conversation"]).exists()


def test_a_long_conversation_shows_its_last_thirty_and_loads_earlier_ones(talk: Talk) -> None:
    grown(talk, 70)
    AgentRun.objects.update(config=AgentConfig().model_dump())
    shown = Dom(page(talk, f"/c/{talk.id}/"))
    seen = [e.id for e in shown.root.walk() if "data-exchange" in e.attributes]
    assert len(seen) == 30
    while True:
        buttons = [e for e in shown.get("earlier").walk() if "hx-get" in e.attributes]
        more = Dom(page(talk, buttons[0].attributes["hx-get"]))
        seen = [e.id for e in more.root.walk() if "data-exchange" in e.attributes] + seen
        if not more.has("earlier"):
            break
        shown = more
    assert len(seen) == len(set(seen)) == 70
    assert seen == [f"x{pk.hex}" for pk in talk.path()]


def test_earlier_ones_of_another_conversation_are_not_shown(talk: Talk) -> None:
    other = Conversation.objects.create(user=talk.user, project=talk.project)
    there = reverse("earlier", args=[other.pk, talk.first.pk])
    assert browser(talk.user).get(there, secure=True).status_code == 404


def test_the_list_marks_the_conversation_that_is_open(talk: Talk) -> None:
    shown = Page(page(talk, f"/conversations/?current={talk.id}"))
    assert [at.get("aria-current") for at in shown.all("a")] == ["page"]
    hostile = page(talk, '/conversations/?current="><script>')
    assert "<script>" not in hostile


# -- one call -------------------------------------------------------------------------------------


def call_page(talk: Talk, number: int, more: str = "", **headers: str) -> str:
    there = reverse("call", args=[talk.first.run_id, number]) + more
    response = browser(talk.user).get(there, secure=True, headers=headers)
    assert response.status_code == 200
    return response.content.decode()


def with_calls(*chunks: Chunk) -> Talk:
    talk = Talk()
    said(talk.first, stamped(chunks))
    return talk


def test_a_call_shows_what_it_got_and_gave_as_a_page_and_as_a_piece() -> None:
    talk = with_calls(called("c0", name="look", path="<b>.md"), result("c0", text="a <i> b"))
    whole, piece = call_page(talk, 0), call_page(talk, 0, **{"hx-request": "true"})
    for html in (whole, piece):
        assert "&lt;b&gt;.md" in html
        assert "a &lt;i&gt; b" in html
    assert problems(whole) == []
    assert "<html" not in piece


def test_a_long_result_is_cut_until_somebody_asks_for_all_of_it() -> None:
    talk = with_calls(called("c0"), result("c0", text="x" * (SHOWN_CHARS + 1) + "END"))
    assert "END" not in call_page(talk, 0)
    assert "END" in call_page(talk, 0, "?all")


def test_a_call_that_has_not_ended_says_so() -> None:
    assert "Not finished" in call_page(with_calls(called("c0", "running")), 0)


def test_an_empty_result_is_a_result() -> None:
    talk = with_calls(called("c0"), result("c0", text=""))
    assert "Not finished" not in call_page(talk, 0)


@pytest.mark.parametrize("number", ["1", "99", "9" * 60, "-1", "x", "0x0"])
def test_a_call_that_was_not_made_is_not_there(talk: Talk, number: str) -> None:
    there = f"/runs/{talk.first.run_id}/calls/{number}/"
    assert browser(talk.user).get(there, secure=True).status_code == 404


# -- notes ----------------------------------------------------------------------------------------


def note(talk: Talk, path: str) -> HttpResponse:
    there = f"/notes/{talk.project.pk}/{path}"
    return cast(HttpResponse, browser(talk.user).get(there, secure=True))


def test_a_note_is_shown_with_its_lines(talk: Talk) -> None:
    response = note(talk, "plan/road%20map.md")
    html = response.content.decode()
    assert problems(html) == []
    assert {"L1", "L2", "L3"} <= {e.id for e in Dom(html).root.walk()}
    assert "<em>this</em>" in html


def test_a_note_of_hostile_text_makes_no_element(talk: Talk) -> None:
    path = notes_folder(talk.project) / "x.md"
    path.write_text("<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n")
    shown = Dom(note(talk, "x.md").content.decode())
    assert {"img"}.isdisjoint({e.tag for e in shown.root.walk()})
    assert not [e for e in shown.root.walk() if e.tag == "script" and "src" not in e.attributes]


@pytest.mark.parametrize(
    "path",
    [
        "nothing.md", "../x.md", "plan/../../x.md", "%2e%2e/x.md", "..%2fx.md", "/etc/passwd",
        "plan", "plan/", ".hidden.md", "x.md%00", "%00", "a%0ab.md", "C:/x.md", "~/x.md",
        "plan/road map.md/x.md", "%ff%fe.md", "x.txt", "%c0%ae%c0%ae/x.md", "\u202e.md",
        "a" * 4_000,
    ],
)  # fmt: skip
def test_what_is_no_note_is_not_there(talk: Talk, path: str) -> None:
    assert note(talk, path).status_code == 404


@pytest.mark.parametrize("name", ["traversal.txt", "traversal_deep.txt"])
def test_no_way_leads_out_of_the_notes(talk: Talk, name: str) -> None:
    client = browser(talk.user)
    for line in lines(name)[::3]:
        there = f"/notes/{talk.project.pk}/{line.replace('?', '%3F').replace('#', '%23')}"
        assert client.get(there, secure=True).status_code in (400, 404), line


def test_a_file_with_a_hostile_name_is_a_note_like_others(talk: Talk) -> None:
    name = "<img src=x onerror=alert(1)>.md"
    (notes_folder(talk.project) / name).write_text("words")
    response = note(talk, name)
    assert response.status_code == 200
    assert "img" not in {e.tag for e in Dom(response.content.decode()).root.walk()}


def test_a_link_out_of_the_folder_is_not_followed(talk: Talk, tmp_path: Path) -> None:
    secret = tmp_path / "secret.md"
    secret.write_text("secret")
    (notes_folder(talk.project) / "link.md").symlink_to(secret)
    assert note(talk, "link.md").status_code == 404
