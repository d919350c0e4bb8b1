"""An answer, or a passage of it, is kept in a thread that leads back to it."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from agents.models import AgentRun, Membership, Project, Thread, ThreadEntry
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry, set_status
from chat.library.thread_changes import push_answer
from chat.models import Conversation
from tests.chat.factories import Talk, browser, member

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}
GIVEN = {"name": "power", "text": "We take LFP.", "kind": "decision"}


@pytest.fixture
def talk(client: Client) -> Talk:
    talk = Talk()
    client.force_login(talk.user)
    return talk


def address(talk: Talk) -> str:
    return reverse("keep-answer", args=[talk.first.run_id])


def test_the_form_has_the_answer_and_the_threads_there_are(client: Client, talk: Talk) -> None:
    AgentRun.objects.filter(pk=talk.first.run_id).update(answer="Use <b>LFP</b>.")
    push_entry(talk.project.pk, "radio", NewEntry("x"), Author.importer())
    html = client.get(address(talk), headers=HTMX, secure=True).content.decode()
    assert "Use &lt;b&gt;LFP&lt;/b&gt;." in html
    assert '<option value="radio">' in html
    assert "<html" not in html
    assert 'method="dialog"' in html
    page = client.get(address(talk), secure=True).content.decode()
    assert "<html" in page
    assert 'method="dialog"' not in page


def test_what_is_kept_names_the_person_and_leads_to_the_run(client: Client, talk: Talk) -> None:
    html = client.post(address(talk), GIVEN, headers=HTMX, secure=True).content.decode()
    assert "power#1" in html
    entry = ThreadEntry.objects.get()
    assert (entry.text, entry.kind, entry.source) == ("We take LFP.", "decision", "person")
    assert (entry.user, entry.run_id) == (talk.user, talk.first.run_id)
    there = reverse("library-thread", args=[talk.project.slug, "power"])
    page = client.get(there, secure=True).content.decode()
    assert reverse("run", args=[talk.first.run_id]) in page
    assert "from an answer" in page


def test_one_press_keeps_it_in_one_of_the_newest_threads(client: Client, talk: Talk) -> None:
    for name in ("old", "one", "two", "three"):
        push_entry(talk.project.pk, name, NewEntry("x"), Author.importer())
    html = client.get(address(talk), headers=HTMX, secure=True).content.decode()
    buttons = re.findall(r'<button class="button" name="name" value="(\w+)"', html)
    assert buttons == ["three", "two", "one"]
    # As a form without scripts sends it: what is in the field, then what was pressed.
    pressed = {**GIVEN, "name": ["", buttons[1]]}
    client.post(address(talk), pressed, headers=HTMX, secure=True)
    assert ThreadEntry.objects.get(text="We take LFP.").thread.name == "two"


def test_one_press_keeps_the_answer_and_names_no_thread_after_the_conversation(
    client: Client, talk: Talk
) -> None:
    Conversation.objects.update(title="Can we afford Bob?")
    html = client.post(address(talk), {"text": ""}, headers=HTMX, secure=True).content.decode()
    assert "answers#1" in html
    assert "Bob" not in html
    entry = ThreadEntry.objects.get()
    assert (entry.text, entry.kind) == ("It is so.", "thought")
    assert (entry.user, entry.run_id) == (talk.user, talk.first.run_id)


def test_the_next_press_keeps_it_where_the_last_was_kept(client: Client, talk: Talk) -> None:
    client.post(address(talk), GIVEN, secure=True)
    push_entry(talk.project.pk, "newer", NewEntry("x"), Author.importer())
    html = client.post(address(talk), {"text": "A passage."}, headers=HTMX, secure=True)
    assert "power#2" in html.content.decode()
    assert ThreadEntry.objects.get(text="A passage.").thread.name == "power"


def test_archived_threads_and_those_of_others_are_not_chosen(client: Client, talk: Talk) -> None:
    other, _ = member("mo", talk.project)
    push_answer(other, AgentRun.objects.get(pk=talk.first.run_id), "theirs", NewEntry("x"))
    client.post(address(talk), GIVEN, secure=True)
    set_status(talk.project.pk, "power", Thread.Status.ARCHIVED)
    client.post(address(talk), {"text": "A passage."}, secure=True)
    assert ThreadEntry.objects.get(text="A passage.").thread.name not in ("power", "theirs")


@pytest.mark.parametrize("then", ["undo", "elsewhere"])
def test_what_was_kept_is_taken_back_or_goes_elsewhere(
    client: Client, talk: Talk, then: str
) -> None:
    client.post(address(talk), GIVEN, secure=True)
    entry = ThreadEntry.objects.get()
    given = {"entry": entry.pk, "then": then}
    html = client.post(address(talk), given, headers=HTMX, secure=True).content.decode()
    assert ("Undone." in html) is (then == "undo")
    assert ("We take LFP." in html) is (then == "elsewhere")
    entry.refresh_from_db()
    assert entry.withdrawn_by == talk.user


def test_nobody_takes_back_what_somebody_else_kept(client: Client, talk: Talk) -> None:
    other, _ = member("mo", talk.project)
    run = AgentRun.objects.get(pk=talk.first.run_id)
    theirs = push_answer(other, run, "theirs", NewEntry("x"))
    for pk in (theirs.pk, 0, "x", ""):
        answer = client.post(address(talk), {"entry": pk, "then": "undo"}, secure=True)
        assert answer.status_code == 404
    theirs.refresh_from_db()
    assert theirs.withdrawn_at is None


def test_others_read_it_without_a_way_to_the_run(client: Client, talk: Talk) -> None:
    client.post(address(talk), GIVEN, secure=True)
    other, _ = member("mo", talk.project)
    page = browser(other).get(reverse("library-thread", args=[talk.project.slug, "power"]))
    assert "We take LFP." in page.content.decode()
    assert str(talk.first.run_id) not in page.content.decode()


def test_what_is_refused_stays_in_the_form(client: Client, talk: Talk) -> None:
    response = client.post(address(talk), {**GIVEN, "name": "a/b"}, headers=HTMX, secure=True)
    assert response.status_code == 422
    html = response.content.decode()
    assert "pass a name without" in html
    assert "We take LFP." in html
    assert not ThreadEntry.objects.exists()


@pytest.mark.parametrize("obstacle", ["reader", "archived", "running"])
def test_where_it_cannot_be_kept_it_says_why(client: Client, talk: Talk, obstacle: str) -> None:
    if obstacle == "reader":
        Membership.objects.filter(user=talk.user).update(role=Membership.Role.READER)
    elif obstacle == "archived":
        Project.objects.update(archived_at=timezone.now())
    else:
        AgentRun.objects.filter(pk=talk.first.run_id).update(outcome=None)
    told = "still in progress" if obstacle == "running" else "but not change it"
    assert told in client.get(address(talk), headers=HTMX, secure=True).content.decode()
    assert told in client.post(address(talk), GIVEN, secure=True).content.decode()
    assert not ThreadEntry.objects.exists()


def test_nobody_keeps_the_answer_of_somebody_else(talk: Talk) -> None:
    other, _ = member("eve", talk.project)
    assert browser(other).post(address(talk), GIVEN).status_code == 404
