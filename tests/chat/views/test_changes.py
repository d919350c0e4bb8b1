"""What a run changed is shown with its diff, and can be taken back by those who may write."""

from dataclasses import replace

import pytest
from django.test import Client
from django.urls import reverse
from django.utils.html import strip_tags

from agents.core.chunks import CallView, ToolCalled, ToolResult
from agents.models import Membership, Note, NoteVersion, ThreadEntry
from agents.vault import notes
from agents.vault.author import Author
from agents.vault.threads import NewEntry, push_entry
from chat.models import Exchange
from tests.chat.factories import Talk, member, said
from tests.support.pages import problems

pytestmark = pytest.mark.django_db
HTMX = {"HX-Request": "true"}


@pytest.fixture
def talk(client: Client) -> Talk:
    talk = Talk()
    client.force_login(talk.user)
    return talk


@pytest.fixture
def exchange(talk: Talk) -> Exchange:
    """A run that wrote two notes by two calls: one was there, one is new."""
    agent = Author.run(talk.first.run_id, talk.user.pk)
    notes.create_note(talk.project.pk, "old.md", "one\ntwo\n", Author.person(talk.user.pk))
    notes.save_note(talk.project.pk, "old.md", "one\nthree <b>\n", replace(agent, call_id="c1"))
    notes.create_note(talk.project.pk, "new.md", "fresh", replace(agent, call_id="c2"))
    return talk.first


def address(name: str, exchange: Exchange) -> str:
    return reverse(name, args=[exchange.run_id])


def texts() -> dict[str, str]:
    return dict(Note.objects.filter(deleted_at=None).values_list("path", "text"))


def test_every_change_is_shown_with_its_diff(client: Client, exchange: Exchange) -> None:
    page = client.get(address("run-changes", exchange), secure=True).content.decode()
    assert problems(page) == []
    assert "Undo 2 changes" in page
    assert "new.md" in page
    assert "old.md" in page
    assert "three &lt;b&gt;" in page or "<mark>three</mark>" in page
    assert "<b>" not in page


def test_the_answer_carries_a_summary(client: Client, exchange: Exchange) -> None:
    part = client.get(address("run-changes", exchange), headers=HTMX, secure=True).content.decode()
    assert "Undo 2 changes" in part
    assert "Show what changed" in part
    assert "three" not in part


def test_all_changes_of_a_run_are_undone(client: Client, exchange: Exchange) -> None:
    answer = client.post(
        address("undo-changes", exchange), headers=HTMX, secure=True
    ).content.decode()
    assert "2 changes undone." in answer
    assert texts() == {"old.md": "one\ntwo\n"}
    again = client.post(
        address("undo-changes", exchange), headers=HTMX, secure=True
    ).content.decode()
    assert "There is nothing left to undo." in again


def test_one_call_is_undone_alone(client: Client, exchange: Exchange) -> None:
    client.post(address("undo-changes", exchange), {"call": "c2"}, secure=True)
    assert texts() == {"old.md": "one\nthree <b>\n"}


def test_what_somebody_changed_since_stays_and_is_named(
    client: Client, talk: Talk, exchange: Exchange
) -> None:
    notes.save_note(talk.project.pk, "old.md", "mine", Author.person(talk.user.pk))
    answer = client.post(
        address("undo-changes", exchange), headers=HTMX, secure=True
    ).content.decode()
    assert "1 change undone. Changed since, and left as it is: old.md." in answer
    assert texts() == {"old.md": "mine"}
    page = client.get(address("run-changes", exchange), secure=True).content.decode()
    assert "old.md changed · changed again since" in strip_tags(page).replace("&#32;", " ")


def test_a_run_that_goes_on_is_not_undone(client: Client, exchange: Exchange) -> None:
    exchange.run.__class__.objects.filter(pk=exchange.run_id).update(outcome=None, reason="")
    answer = client.post(
        address("undo-changes", exchange), headers=HTMX, secure=True
    ).content.decode()
    assert "still in progress" in answer
    assert len(texts()) == 2


def test_a_reader_cannot_undo(client: Client, talk: Talk, exchange: Exchange) -> None:
    Membership.objects.filter(user=talk.user).update(role=Membership.Role.READER)
    answer = client.post(
        address("undo-changes", exchange), headers=HTMX, secure=True
    ).content.decode()
    assert "not change it" in answer
    assert len(texts()) == 2


def test_nobody_else_sees_or_undoes_it(exchange: Exchange, talk: Talk) -> None:
    other, _ = member("eve", talk.project)
    client = Client()
    client.force_login(other)
    assert client.get(address("run-changes", exchange), secure=True).status_code == 404
    assert client.post(address("undo-changes", exchange), secure=True).status_code == 404
    assert len(texts()) == 2


def test_an_opened_card_shows_what_its_call_changed(
    client: Client, talk: Talk, exchange: Exchange
) -> None:
    call = CallView("c1", "vault_write", {"path": "old.md"}, "running")
    result = ToolResult(
        tool_call_id="c1", tool_result="Replaced", ok=True, duration_ms=3, order=0, seq=2, at=1.0
    )
    said(exchange, [ToolCalled(tool_call=call, seq=1, at=1.0), result])
    card = client.get(
        reverse("call", args=[exchange.run_id, 0]), headers=HTMX, secure=True
    ).content.decode()
    assert "Undo 1 change" in card
    assert 'name="call" value="c1"' in card
    assert "new.md" not in card


def test_an_opened_search_lists_its_hits_with_links(
    client: Client, talk: Talk, exchange: Exchange
) -> None:
    call = CallView("s", "vault_search", {"queries": ["x"]}, "running")
    found = "1. plan/a.md:7 (score 0.50) Plan > Tides\n   The <i>tide</i>."
    result = ToolResult(
        tool_call_id="s", tool_result=found, ok=True, duration_ms=3, order=0, seq=2, at=1.0
    )
    said(exchange, [ToolCalled(tool_call=call, seq=1, at=1.0), result])
    card = client.get(
        reverse("call", args=[exchange.run_id, 0]), headers=HTMX, secure=True
    ).content.decode()
    assert f'href="{reverse("note", args=[talk.project.pk, "plan/a.md"])}#L7"' in card
    assert "The &lt;i&gt;tide&lt;/i&gt;." in card


def push(exchange: Exchange, author: Author, text: str, call_id: str = "") -> ThreadEntry:
    author = replace(author, call_id=call_id)
    return push_entry(exchange.run.project_id, "power", NewEntry(text, "decision"), author)


def test_an_entry_of_a_run_is_undone_with_its_other_changes(
    client: Client, talk: Talk, exchange: Exchange
) -> None:
    agent = Author.run(exchange.run_id, talk.user.pk)
    push(exchange, agent, "We take <b>LFP</b>.", "c3")
    taken = push(exchange, replace(agent, source=NoteVersion.Source.PERSON), "From the answer.")
    page = client.get(address("run-changes", exchange), secure=True).content.decode()
    assert "Undo 3 changes" in page
    assert "power#1" in page
    assert "We take &lt;b&gt;LFP" in page
    client.post(address("undo-changes", exchange), secure=True)
    assert texts() == {"old.md": "one\ntwo\n"}
    page = client.get(address("run-changes", exchange), secure=True).content.decode()
    assert "LFP" not in page
    standing = ThreadEntry.objects.filter(withdrawn_at=None)
    assert list(standing) == [taken], "what a person took from the answer is theirs"


def test_one_call_that_pushed_an_entry_is_undone_alone(
    client: Client, talk: Talk, exchange: Exchange
) -> None:
    push(exchange, Author.run(exchange.run_id, talk.user.pk), "LFP", "c3")
    given = {"call": "c3"}
    answer = client.post(address("undo-changes", exchange), given, headers=HTMX, secure=True)
    assert "1 change undone." in answer.content.decode()
    assert not ThreadEntry.objects.filter(withdrawn_at=None).exists()
    assert "fresh" in texts().values()
