"""Pages over HTTP: who sees which, and what hostile addresses do."""

from dataclasses import replace
from datetime import timedelta
from typing import Any, cast
from uuid import uuid4

import pytest
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.test import Client
from django.urls import URLPattern, get_resolver, reverse
from django.utils import timezone

from agents.audit.erasure import erase
from agents.core.chunks import Content, OracleStreamChunk
from agents.core.config import AgentConfig
from agents.models import AgentRun, ApprovalRequest, Membership
from agents.runtime import current as home_module
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry
from chat.library import note_page
from chat.markdown import budget
from chat.models import Conversation
from chat.rendering import fragments, quota, thread
from chat.rendering.tool_call import PREVIEW_CHARS
from chat.services import ask
from chat.urls import urlpatterns
from tests.chat.factories import Talk, grown, member, said, started
from tests.chat.run_chunks import called, done, result, stamped
from tests.support.code import add_gauge
from tests.support.dom import Dom
from tests.support.hostile import lines
from tests.support.notes import add_note
from tests.support.pages import Page, problems

pytestmark = pytest.mark.django_db
NOTE = "plan/road map.md"
OPEN = {"sign-in", "sign-in-link", "sign-out", "invitation"}
"""For those who are not signed in. Tested with accounts."""
OWN = {
    "home", "new", "conversation-list", "mode-sentence", "search", "runs", "password",
    "projects", "project-create", "project-sample", "deleted-projects",
}  # fmt: skip
"""Everybody's own: each sees what is theirs."""
MINE = {
    "conversation",
    "earlier-exchanges",
    "exchange-redirect",
    "outline",
    "outline-action",
    "export",
    "delete",
    "restore",
    "run",
    "call",
    "keep-answer",
    "rest",
    "run-changes",
    "run-approval",
    "run-behaviour",
    "run-decide",
    "run-rules",
    "undo-changes",
}
"""The owner's alone."""
OURS = {"note", "thread", "code", "project", "project-open", "project-leave"}
"""Of everybody in the project."""
OWNERS = {
    "project-rename", "project-asking", "project-archive", "project-unarchive", "project-delete",
    "project-restore",
    "member-add", "member-role", "member-remove", "link-create", "link-revoke",
}  # fmt: skip
"""Of the owners of the project; tests/chat/views/test_projects.py says what others are told."""
POSTED = OWNERS | {
    "outline-action", "delete", "restore", "undo-changes", "run-decide",
    "project-create", "project-sample", "project-leave",
}  # fmt: skip


REDIRECTED = {"home", "export", "exchange-redirect", "run", "project-open"}


class Quiet:
    """A home where nothing goes on."""

    def __init__(self) -> None:
        self.nudged: list[Any] = []

    def notify_changed(self, key: Any) -> None:
        self.nudged.append(key)

    async def cancel(self, run_id: Any) -> bool:
        return True


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch) -> Quiet:
    quiet = Quiet()
    monkeypatch.setattr(home_module, "_runtimes", [quiet])
    return quiet


def test_what_an_address_says_is_encoded_before_it_is_asked_for_again(home: Quiet) -> None:
    client = Client()
    client.force_login(member("ada")[0])
    said = client.get("/conversations/", {"current": 'x&y="#z'}, secure=True).content.decode()
    (nav,) = Page(said).all("nav")
    assert nav["hx-get"] == "/conversations/?current=x%26y%3D%22%23z"


@pytest.fixture
def talk(monkeypatch: pytest.MonkeyPatch) -> Talk:
    monkeypatch.setattr(fragments, "PAGE_CHARS", 1)  # one block is a page
    made = Talk("Why is the sea salt?")
    words = Content(content="So.\n\nAnd *so*.\n\nAnd so on.")
    said(made.first, stamped([called("c0"), result("c0"), words, done()]))
    add_note(made.project, NOTE, "# Road map\n\nFirst *this*.\n")
    add_gauge(made.project)
    push_entry(made.project.pk, "power", NewEntry("LFP."), Author.importer())
    expires_at = timezone.now() + timedelta(days=1)
    ApprovalRequest.objects.create(run=made.first.run, asker="tool", expires_at=expires_at)
    return made


def browser(user: User | None) -> Client:
    client = Client(raise_request_exception=True)
    if user is not None:
        client.force_login(user)
    return client


def address(name: str, talk: Talk) -> str:
    own: dict[str, list[Any]] = {
        "earlier-exchanges": [talk.id, talk.first.pk],
        "exchange-redirect": [talk.id, talk.first.pk],
        "export": [talk.id, "md"],
        "run": [talk.first.run_id],
        "call": [talk.first.run_id, 0],
        "run-changes": [talk.first.run_id],
        "run-approval": [talk.first.run_id],
        "run-behaviour": [talk.first.run_id],
        "run-decide": [talk.first.run_id],
        "run-rules": [talk.first.run_id],
        "undo-changes": [talk.first.run_id],
        "rest": [talk.first.run_id, 1, 1],
        "keep-answer": [talk.first.run_id],
        "note": [talk.project.pk, NOTE],
        "thread": [talk.project.pk, "power"],
        "code": [talk.project.pk, "src/gauge.py"],
        "home": [], "new": [], "conversation-list": [], "mode-sentence": [], "search": [],
        "runs": [], "password": [],
        "projects": [], "project-create": [], "project-sample": [], "deleted-projects": [],
        **{named: [talk.project.slug] for named in OWNERS | OURS - {"note", "thread", "code"}},
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
    assert names() == OPEN | OWN | MINE | OURS | OWNERS
    site = {p.name for p in get_resolver().url_patterns if isinstance(p, URLPattern)}
    settings = {"usage", "export-everything"}  # tests/settings_ui/views/test_agent.py has these
    assert site <= {"healthz", "readyz", None} | names() | settings


def test_whoever_is_not_signed_in_is_asked_to(talk: Talk, home: Quiet) -> None:
    for name in sorted(OWN | MINE | OURS | OWNERS):
        response = answer(name, talk, None)
        assert response.status_code == 302, name
        assert response["Location"].startswith("/sign-in/?next="), name


def list_found(names: set[str], talk: Talk, user: User) -> list[str]:
    """Which of these are not missing, as somebody asks for them."""
    return [name for name in sorted(names) if answer(name, talk, user).status_code != 404]


@pytest.mark.parametrize("who", ["a stranger", "an administrator"])
def test_what_is_somebody_elses_is_not_there(who: str, talk: Talk, home: Quiet) -> None:
    eve, _ = member("eve")
    eve.is_superuser = eve.is_staff = who == "an administrator"
    eve.save()
    assert list_found(MINE | OURS | OWNERS, talk, eve) == []
    assert talk.now.deleted_at is None
    assert home.nudged == []


def test_a_colleague_does_not_see_ones_conversations(talk: Talk, home: Quiet) -> None:
    bob, _ = member("bob", talk.project)
    assert list_found(MINE, talk, bob) == []


def test_a_colleague_sees_the_notes_of_the_project(talk: Talk) -> None:
    bob, _ = member("bob", talk.project)
    assert answer("note", talk, bob).status_code == 200


@pytest.mark.parametrize("name", sorted((OWN | MINE | OURS) - POSTED - REDIRECTED))
def test_the_owner_sees_it(name: str, talk: Talk, home: Quiet) -> None:
    response = answer(name, talk, talk.user)
    assert response.status_code == 200
    assert "no-store" in response["Cache-Control"]


def test_whoever_left_the_project_sees_nothing_of_it(talk: Talk, home: Quiet) -> None:
    Membership.objects.filter(project=talk.project).delete()
    assert list_found(MINE | OURS | OWNERS, talk, talk.user) == []


def test_what_changes_something_is_not_done_by_a_link(talk: Talk) -> None:
    client = browser(talk.user)
    for name in sorted(POSTED):
        assert client.get(address(name, talk), secure=True).status_code == 405, name


def test_what_changes_something_needs_a_token(talk: Talk) -> None:
    client = Client(enforce_csrf_checks=True)
    client.force_login(talk.user)
    for name in sorted(POSTED):
        assert client.post(address(name, talk), secure=True).status_code == 403, name


def test_what_does_not_exist_is_as_what_is_not_yours(talk: Talk, home: Quiet) -> None:
    client = browser(talk.user)
    for name in sorted(MINE | OURS | OWNERS):
        there = address(name, talk)
        for known in (talk.id, talk.first.run_id, talk.project.pk, talk.project.slug):
            there = there.replace(str(known), str(uuid4()))
        method = client.post if name in POSTED else client.get
        assert method(there, secure=True).status_code == 404, name


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
    assert response["Location"] == "/projects/"


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
    there = reverse("earlier-exchanges", args=[other.pk, talk.first.pk])
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


def with_calls(*chunks: OracleStreamChunk) -> Talk:
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
    talk = with_calls(called("c0"), result("c0", text="x" * (PREVIEW_CHARS + 1) + "END"))
    assert "END" not in call_page(talk, 0)
    assert "END" in call_page(talk, 0, "?all")


def test_a_call_whose_result_was_summarised_shows_what_the_model_got_and_the_result() -> None:
    ended = replace(result("c0", text="a long <i> story"), given="a short <b> one")
    shown = call_page(with_calls(called("c0"), ended), 0)
    assert "Summary given to the model" in shown
    assert shown.index("a short &lt;b&gt; one") < shown.index("a long &lt;i&gt; story")


def test_a_call_that_has_not_ended_says_so() -> None:
    assert "Not finished" in call_page(with_calls(called("c0", "running")), 0)


def test_an_empty_result_is_a_result() -> None:
    talk = with_calls(called("c0"), result("c0", text=""))
    assert "Not finished" not in call_page(talk, 0)


@pytest.mark.parametrize("number", ["1", "99", "9" * 60, "-1", "x", "0x0"])
def test_a_call_that_was_not_made_is_not_there(talk: Talk, number: str) -> None:
    there = f"/runs/{talk.first.run_id}/calls/{number}/"
    assert browser(talk.user).get(there, secure=True).status_code == 404


# -- long answers ---------------------------------------------------------------------------------


def more_of(html: str) -> list[str]:
    return [e.attributes["href"] for e in Dom(html).root.walk() if "/rest/" in str(e.attributes)]


def test_a_long_answer_shows_its_beginning_and_the_rest_page_by_page(talk: Talk) -> None:
    client = browser(talk.user)
    html = client.get(f"/c/{talk.id}/", secure=True).content.decode()
    shown = []
    while more := more_of(html):
        assert "And so on." not in html
        html = client.get(more[0], secure=True, HTTP_HX_REQUEST="true").content.decode()
        shown.append(" ".join(Dom(html).text.split()))
    assert shown == ["And so. Show more of this answer", "And so on."]


def test_the_rest_of_an_answer_is_a_page_for_who_has_no_scripts(talk: Talk) -> None:
    response = answer("rest", talk, talk.user)
    html = response.content.decode()
    assert problems(html) == []
    assert "And <em>so</em>." in html
    assert len(more_of(html)) == 1


@pytest.mark.parametrize("place", ["0/0", "1/0", "1/9", "9/1", "1/99999999999999999999"])
def test_there_is_no_more_of_an_answer_than_there_is(talk: Talk, place: str) -> None:
    there = f"/runs/{talk.first.run_id}/rest/{place}/"
    assert browser(talk.user).get(there, secure=True).status_code == 404


def test_an_answer_is_rendered_once_however_often_its_page_is_opened(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = answer("conversation", talk, talk.user).content
    monkeypatch.setattr(thread, "load_answer", pytest.fail)
    assert len(answer("conversation", talk, talk.user).content) == len(first)


def test_an_answer_that_was_erased_is_neither_shown_nor_kept(talk: Talk) -> None:
    assert b"<p>So.</p>" in answer("conversation", talk, talk.user).content
    assert kept_words(talk) != []
    erase([talk.first.run_id], why="a test")
    assert kept_words(talk) == []
    assert b"<p>So.</p>" not in answer("conversation", talk, talk.user).content
    assert answer("rest", talk, talk.user).status_code == 404


def test_an_answer_that_another_process_erased_is_not_shown(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer("conversation", talk, talk.user)
    with monkeypatch.context() as patch:
        patch.setattr(thread, "forget_runs", lambda run_ids: None)
        erase([talk.first.run_id], why="a test")
    assert kept_words(talk) != []
    assert b"<p>So.</p>" not in answer("conversation", talk, talk.user).content
    assert kept_words(talk) == []


def kept_words(talk: Talk) -> list[str]:
    values = thread._cache._values.values()
    return [shown.html for _, shown in values if shown.run_id == talk.first.run_id]


# -- how much -------------------------------------------------------------------------------------


def dear(talk: Talk, count: int) -> list[str]:
    """Answers that cost as much as an answer can; the addresses of their pages."""
    found = []
    for number in range(count):
        asked = started(ask.start_conversation(talk.user, talk.project.pk, f"Question {number}?"))
        said(asked, stamped([Content(content=f"# {number}\n" * 4_000), done()]))
        found.append(f"/c/{asked.conversation_id}/")
    return found


@pytest.mark.ci
def test_who_opens_many_dear_pages_at_once_has_to_wait(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "BURST", budget.MAX_ANSWER_COST)
    monkeypatch.setattr(quota, "PER_SECOND", 0.001)
    client = browser(talk.user)
    responses = [client.get(there, secure=True) for there in dear(talk, 2)]
    assert [response.status_code for response in responses] == [200, 429]
    assert b"Wait a few seconds" in responses[-1].content
    assert int(responses[-1]["Retry-After"]) > 0
    bob, _ = member("bob")
    assert browser(bob).get("/new/", secure=True).status_code == 200
    assert client.get("/conversations/", secure=True).status_code == 200


@pytest.mark.ci
def test_the_same_page_costs_nothing_the_second_time(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quota, "BURST", budget.MAX_ANSWER_COST + 50_000)
    monkeypatch.setattr(quota, "PER_SECOND", 0.001)
    client = browser(talk.user)
    (there,) = dear(talk, 1)
    assert {client.get(there, secure=True).status_code for _ in range(20)} == {200}


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
    hostile = "<script>alert(1)</script>\n\n<img src=x onerror=alert(1)>\n"
    add_note(talk.project, "x.md", hostile)
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


@pytest.mark.parametrize("every", [16, pytest.param(3, marks=pytest.mark.ci)])
@pytest.mark.parametrize("name", ["traversal.txt", "traversal_deep.txt"])
def test_no_way_leads_out_of_the_notes(talk: Talk, name: str, every: int) -> None:
    client = browser(talk.user)
    for line in lines(name)[::every]:
        there = f"/notes/{talk.project.pk}/{line.replace('?', '%3F').replace('#', '%23')}"
        assert client.get(there, secure=True).status_code in (400, 404), line


def test_a_file_with_a_hostile_name_is_a_note_like_others(talk: Talk) -> None:
    name = "<img src=x onerror=alert(1)>.md"
    add_note(talk.project, name, "words")
    response = note(talk, name)
    assert response.status_code == 200
    assert "img" not in {e.tag for e in Dom(response.content.decode()).root.walk()}


def test_a_long_note_is_shown_page_by_page(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(note_page, "PAGE_CHARS", 20)
    monkeypatch.setattr(note_page, "NOTE_LINES", 3)
    add_note(talk.project, "x.md", "".join(f"word{n}\n\n" for n in range(5)))
    html, seen = note(talk, "x.md").content.decode(), list[str]()
    while True:
        shown = Dom(html)
        seen += [e.text.strip() for e in shown.root.walk() if e.attributes.get("class") == "block"]
        links = [e.attributes.get("href", "") for e in shown.root.walk()]
        if not (more := [href for href in links if href.startswith("?block=")]):
            break
        html = note(talk, f"x.md{more[0]}").content.decode()
    assert seen == [f"word{n}" for n in range(5)]
    later = Dom(note(talk, "x.md?line=8").content.decode())
    assert [e.id for e in later.root.walk() if e.tag == "li" and e.id] == ["L7", "L8", "L9"]
    assert [e.attributes["start"] for e in later.root.walk() if e.tag == "ol"] == ["7"]


@pytest.mark.parametrize("query", ["line=-1", "line=x", "line=\u0663", "line=999999999", "block=9"])
def test_a_note_has_no_other_pages_than_it_has(talk: Talk, query: str) -> None:
    assert note(talk, f"plan/road%20map.md?{query}").status_code == 200


def test_a_mode_says_what_it_does_and_one_that_is_not_there_nothing(talk: Talk) -> None:
    client = browser(talk.user)
    said = client.get("/modes/", {"tree": "plan-then-do"}, secure=True).content.decode()
    assert said.startswith("Plans first")
    nothing = client.get("/modes/", {"tree": "<b>"}, secure=True)
    assert (nothing.status_code, nothing.content) == (200, b"")
