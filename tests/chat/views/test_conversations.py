"""Search, outline, export, delete with undo: over HTTP."""

import json
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient, Client

from agents.models import AgentRun
from agents.web import streaming
from chat.models import Conversation, Exchange
from chat.views import conversations
from tests.chat.factories import Talk, grown
from tests.chat.sockets import site
from tests.chat.views.test_chat import Quiet, browser, home  # noqa: F401  # a fixture
from tests.support.pages import Page
from tests.support.script import call

pytestmark = pytest.mark.django_db


@pytest.fixture
def talk() -> Talk:
    return Talk("Why is the sea salt?")


def post(talk: Talk, name: str, **given: Any) -> Any:
    return browser(talk.user).post(f"/c/{talk.id}/{name}/", given, secure=True)


def tend(talk: Talk, do: str, **given: Any) -> Any:
    return post(talk, "tend", do=do, **given)


# -- search ---------------------------------------------------------------------------------------


def test_a_search_finds_ones_own_only(talk: Talk) -> None:
    Talk("Why is salt white?", name="eve")
    response = browser(talk.user).get("/search/", {"q": "SALT"}, secure=True)
    text = Page(response.content.decode()).text()
    assert "the sea" in text
    assert "white" not in text


@pytest.mark.parametrize("query", ["", "   ", "\x00", "%", "_", "'", '"', "x" * 5_000, "\ud83d"])
def test_any_words_can_be_searched_for(talk: Talk, query: str) -> None:
    given = query.encode("utf-8", "surrogatepass")
    response = browser(talk.user).get("/search/", {"q": given}, secure=True)
    assert response.status_code == 200


# -- export ---------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("form", ["md", "json"])
async def test_an_export_is_sent_piece_by_piece_as_a_file(
    form: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "CHUNK_CHARS", 500)
    talk = await sync_to_async(Talk)("Why is the sea salt?")
    await sync_to_async(grown)(talk, 40)
    client = AsyncClient()
    await sync_to_async(client.force_login)(talk.user)
    response = await client.get(f"/c/{talk.id}/export.{form}", secure=True)
    assert response.streaming
    pieces = [piece async for piece in response]  # type: ignore[attr-defined]
    text = b"".join(pieces).decode()
    assert len(pieces) > 1
    assert response["Content-Disposition"] == f'attachment; filename="why-is-the-sea-salt.{form}"'
    assert "Question 38?" in text
    if form == "json":
        assert len(json.loads(text)["exchanges"]) == 40


def test_what_is_no_format_is_not_there(talk: Talk) -> None:
    for form in ("html", "MD", "md.exe", "%2e"):
        response = browser(talk.user).get(f"/c/{talk.id}/export.{form}", secure=True)
        assert response.status_code == 404


def test_a_title_cannot_break_out_of_the_file_name(talk: Talk) -> None:
    Conversation.objects.update(title='x"; filename=evil.exe\r\nSet-Cookie: a=b')
    view = conversations.export
    request = browser(talk.user).get(f"/c/{talk.id}/", secure=True).wsgi_request
    response = view(request, talk.id, "md")
    assert response["Content-Disposition"] == (
        'attachment; filename="x-filenameevilexe-set-cookie-ab.md"'
    )


# -- delete and undo ------------------------------------------------------------------------------


def test_a_deleted_conversation_is_gone_until_that_is_undone(talk: Talk, home: Quiet) -> None:  # noqa: F811  # a fixture, imported
    assert "Undo" in post(talk, "delete").content.decode()
    client = browser(talk.user)
    assert client.get(f"/c/{talk.id}/", secure=True).status_code == 404
    assert post(talk, "delete").status_code == 404
    response = post(talk, "restore")
    assert response["Location"] == f"/c/{talk.id}/"
    assert client.get(f"/c/{talk.id}/", secure=True).status_code == 200


@pytest.mark.django_db(transaction=True)
async def test_deleting_a_conversation_stops_its_run() -> None:
    async with site(call("wait")) as here:
        run = await here.started(await here.socket(uuid4()))
        client = AsyncClient()
        await sync_to_async(client.force_login)(here.user)
        response = await client.post(f"/c/{run.conversation_key}/delete/", secure=True)
        assert response.status_code == 200
        async for _ in here.runtime.follow(run.pk):
            pass
        assert (await AgentRun.objects.aget(pk=run.pk)).reason == "user_cancelled"


# -- the outline ----------------------------------------------------------------------------------


def test_the_outline_moves_labels_marks_prunes_and_undoes(talk: Talk, home: Quiet) -> None:  # noqa: F811  # a fixture, imported
    second = talk.ask()
    other = talk.edit(second)
    assert tend(talk, "checkout", exchange=str(talk.first.pk)).status_code == 302
    assert talk.head == talk.first.pk
    tend(talk, "label", exchange=str(second.pk), label=" the  first ")
    tend(talk, "mark", exchange=str(second.pk), checkpoint="yes")
    marked = Exchange.objects.get(pk=second.pk)
    assert (marked.label, marked.checkpoint) == ("the first", True)
    pruned = tend(talk, "prune")
    assert not Exchange.objects.filter(pk=other.pk).exists()
    page = browser(talk.user).get(pruned["Location"], secure=True).content.decode()
    (at,) = [a["value"] for a in Page(page).all("input") if a.get("name") == "at"]
    tend(talk, "undo", at=at)
    assert Exchange.objects.filter(pk=other.pk).exists()
    assert set(home.nudged) == {talk.id}


def test_an_exchange_that_was_pruned_meanwhile_is_said_to_be(talk: Talk, home: Quiet) -> None:  # noqa: F811  # a fixture, imported
    second = talk.ask()
    Exchange.objects.filter(pk=second.pk).update(pruned_at=datetime.now(UTC))
    assert tend(talk, "checkout", exchange=str(second.pk)).status_code in (302, 404)


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"do": "dance"},
        {"do": "checkout"},
        {"do": "checkout", "exchange": "x"},
        {"do": "label", "exchange": "00000000-0000-4000-8000-00000000000a"},
        {"do": "mark", "exchange": "0" * 5_000},
        {"do": "undo"},
        {"do": "undo", "at": "yesterday"},
        {"do": "undo", "at": "2026-01-01"},
        {"do": "undo", "at": "0001-01-01T00:00:00+14:00"},
    ],
    ids=str,
)
def test_what_makes_no_sense_changes_nothing(talk: Talk, home: Quiet, given: Any) -> None:  # noqa: F811  # a fixture, imported
    assert post(talk, "tend", **given).status_code == 404


def test_an_exchange_of_another_conversation_cannot_be_touched(talk: Talk, home: Quiet) -> None:  # noqa: F811  # a fixture, imported
    theirs = Talk("Theirs?", name="eve").first
    for do in ("checkout", "label", "mark"):
        assert tend(talk, do, exchange=str(theirs.pk), label="mine").status_code == 404
    theirs.refresh_from_db()
    assert (theirs.label, theirs.checkpoint) == ("", False)


def test_a_way_back_is_shown_as_text(talk: Talk) -> None:
    client: Client = browser(talk.user)
    html = client.get(f"/c/{talk.id}/outline/", {"undo": '"><script>'}, secure=True)
    assert "<script>" not in html.content.decode()


def test_what_was_found_is_shown_in_the_thread_or_where_one_can_go_there(talk: Talk) -> None:
    second = talk.ask()
    other = talk.edit(second)
    client = browser(talk.user)

    def place(exchange: Exchange) -> str:
        at = client.get(f"/c/{talk.id}/at/{exchange.pk}/", secure=True)["Location"]
        return at.replace(str(talk.id), "ID").replace(exchange.pk.hex, "HEX")

    assert place(talk.first) == place(other) == "/c/ID/#xHEX"
    assert place(second) == "/c/ID/outline/#xHEX"
    assert f'id="x{second.pk.hex}"' in client.get(f"/c/{talk.id}/outline/", secure=True).text


def test_choosing_an_exchange_goes_there(talk: Talk, home: Quiet) -> None:  # noqa: F811  # a fixture, imported
    talk.ask()
    chosen = tend(talk, "checkout", exchange=str(talk.first.pk))
    assert chosen["Location"] == f"/c/{talk.id}/"
