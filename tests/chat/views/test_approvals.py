"""The card of a paused run: what it shows, and what its buttons do."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from agents.models import AgentRun, ApprovalRequest, Note
from agents.runtime import current
from chat.models import Exchange
from chat.services import ask
from tests.chat.factories import browser, member
from tests.chat.services.test_approvals import BOTH, WRITE, Asked, change_note
from tests.support.script import Call, call, calls, say
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def no_runtime_is_left() -> Iterator[None]:
    yield
    current._runtimes.clear()


async def get(chat: Asked, run: AgentRun, htmx: bool = True, **query: str) -> Any:
    headers = {"HX-Request": "true"} if htmx else {}
    client = await sync_to_async(browser)(chat.user)
    address = reverse("run-approval", args=[run.pk])
    return await sync_to_async(client.get)(address, query, headers=headers)


async def post(chat: Asked, run: AgentRun, **form: Any) -> Any:
    """Press a button, as a page does in its thread; the runtime is another's."""
    current._runtimes.append(chat.runtime)
    digest = (await ApprovalRequest.objects.aget(pk=run.pk)).digest
    client = await sync_to_async(browser)(chat.user)
    address = reverse("run-decide", args=[run.pk])
    form = {"digest": digest, "do": ["0"], **form}

    def press() -> Any:
        try:
            return client.post(address, form, headers={"HX-Request": "true"})
        finally:
            connection.close()  # the thread's own

    return await asyncio.to_thread(press)


async def last_answer(chat: Asked) -> AgentRun:
    """The newest run, when it has ended."""
    async with asyncio.timeout(PATIENCE):
        run = await AgentRun.objects.order_by("-started_at").afirst()
        assert run is not None
        async for _ in chat.runtime.follow(run.pk):
            pass
    return await AgentRun.objects.aget(pk=run.pk)


async def test_the_card_shows_the_diff_and_the_three_answers() -> None:
    async with Asked(WRITE) as chat:
        page = (await get(chat, await chat.begin())).content.decode()
    assert "Waiting for your decision" in page
    assert '<tr class="removed">' in page
    assert '<tr class="added">' in page
    for verdict in ("approved", "refused", "differently"):
        assert f'name="verdict" value="{verdict}"' in page


async def test_the_card_calls_a_tool_by_its_title_and_a_note_by_all_of_its_path() -> None:
    path = f"{'deep/' * 30}Pumps.md"
    calling = calls(
        Call("vault_write", {"path": path, "body": "Red."}),
        Call("vault_move", {"old_path": "Pumps.md", "new_path": "plan/Pumps.md"}),
    )
    async with Asked(calling) as chat:
        asked = await chat.begin()
        page = (await get(chat, asked)).content.decode()
        decided = (await post(chat, asked, verdict="refused")).content.decode()
    for shown in (page, decided):
        assert (
            f'<span class="tool-name">Write note</span> <span class="gist">{path}</span>' in shown
        )
        assert (
            '<span class="tool-name">Move note</span> <span class="gist">Pumps.md → plan' in shown
        )
        assert "vault_" not in shown
    assert "<dt>Old path</dt>" in page


async def test_a_yes_on_the_card_changes_the_note_and_says_so() -> None:
    async with Asked(WRITE, say("They are red.")) as chat:
        asked = await chat.begin()
        page = (await post(chat, asked, verdict="approved")).content.decode()
        assert "Approved" in page
        assert "By ada, " in page
        assert ". On a page." in page
        assert (await last_answer(chat)).answer == "They are red."
        assert (await Note.objects.aget(path="Pumps.md")).text == "They are red now.\n"


async def test_the_path_of_the_run_that_goes_on_says_why_a_write_was_refused() -> None:
    async with Asked(WRITE, say("They stay blue.")) as chat:
        asked = await chat.begin()
        await post(chat, asked, verdict="refused", words="Leave them blue.")
        after = await last_answer(chat)
        client = await sync_to_async(browser)(chat.user)
        for run, beginning in ((asked, "It asked before"), (after, "It goes on from a run that")):
            path = reverse("run-behaviour", args=[run.pk])
            page = (await sync_to_async(client.get)(path)).content.decode()
            assert beginning in page
            assert "<strong>Refused</strong> by ada. “Leave them blue.”" in page
            assert "<code>vault_write</code>: refused" in page


async def test_only_what_is_ticked_is_done() -> None:
    async with Asked(BOTH, say("Half of it.")) as chat:
        asked = await chat.begin()
        await post(chat, asked, verdict="approved", do=["1"])
        await last_answer(chat)
        assert not await Note.objects.filter(path="A.md").aexists()
        assert await Note.objects.filter(path="B.md").aexists()


async def test_one_call_is_done_differently_and_the_other_as_it_was_asked() -> None:
    async with Asked(BOTH, say("One, and the other anew.")) as chat:
        asked = await chat.begin()
        assert 'name="words-0"' in (await get(chat, asked)).content.decode()
        said = {"do": ["0", "1"], "words-0": "Shorter."}
        page = (await post(chat, asked, verdict="approved", **said)).content.decode()
        assert "To be done differently “Shorter.”" in page
        await last_answer(chat)
        assert not await Note.objects.filter(path="A.md").aexists()
        assert await Note.objects.filter(path="B.md").aexists()


async def test_what_was_typed_and_ticked_outlives_a_refusal() -> None:
    async with Asked(BOTH) as chat:
        asked = await chat.begin()
        typed = {"verdict": "differently", "do": ["1"], "words-1": "In <b>red</b>."}
        page = (await post(chat, asked, **typed)).content.decode()
        assert 'name="do" value="0">' in page
        assert 'name="do" value="1" checked>' in page
        assert 'value="In &lt;b&gt;red&lt;/b&gt;."' in page
        typed = {"verdict": "approved", "do": ["0", "1"], "digest": "other", "words": "Go on."}
        assert ">Go on.</textarea>" in (await post(chat, asked, **typed)).content.decode()


async def test_a_yes_to_nothing_is_a_no() -> None:
    async with Asked(WRITE, say("As you like.")) as chat:
        asked = await chat.begin()
        await post(chat, asked, verdict="approved", do=[])
        await last_answer(chat)
        assert (await ApprovalRequest.objects.aget(pk=asked.pk)).verdict == "refused"


async def test_a_conflict_is_shown_and_nothing_is_written() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        await change_note(chat.user, chat.project, "They are green.\n")
        assert "has changed since you were asked" in (await get(chat, asked)).content.decode()
        page = (await post(chat, asked, verdict="approved")).content.decode()
        assert "Conflict: Pumps.md has changed" in page
        assert "Waiting for your decision" in page
        assert (await Note.objects.aget(path="Pumps.md")).text == "They are green.\n"


async def test_differently_wants_words() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        page = (await post(chat, asked, verdict="differently")).content.decode()
        assert "Say what is to be done differently." in page


async def test_an_open_card_is_left_alone_until_somebody_decides() -> None:
    async with Asked(WRITE, say("No.")) as chat:
        asked = await chat.begin()
        assert (await get(chat, asked, open="")).status_code == 204
        await chat.decide(asked, "refused")
        assert "Refused" in (await get(chat, asked, open="")).content.decode()


async def test_it_is_a_page_of_its_own_for_whoever_follows_the_link() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        page = (await get(chat, asked, htmx=False)).content.decode()
        assert "<h1>Waiting for your decision</h1>" in page
        await chat.decide(asked, "refused")
        page = (await get(chat, asked, htmx=False)).content.decode()
        assert "<h1>What a run asked</h1>" in page
        assert f'<h2 id="approval-{asked.pk}">' in page


async def test_nobody_else_sees_it() -> None:
    async with Asked(WRITE) as chat:
        asked = await chat.begin()
        chat.user, _ = await sync_to_async(member)("bob")
        assert (await get(chat, asked)).status_code == 404


async def test_all_of_an_argument_can_be_read_before_a_yes() -> None:
    move = call("vault_move", old_path="Pumps.md", new_path="y" * 20_000 + "/end.md")
    async with Asked(move) as chat:
        assert "/end.md" in (await get(chat, await chat.begin())).content.decode()


async def test_words_of_others_are_text_in_the_card_and_never_markup() -> None:
    hostile = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
    both = calls(
        Call("vault_write", {"path": f"{hostile}.md", "body": hostile}),
        Call("vault_move", {"old_path": hostile, "new_path": hostile, hostile: [hostile]}),
    )
    async with Asked(both, say("As you like.")) as chat:
        asked = await chat.begin()
        shown = [await get(chat, asked, htmx=is_part) for is_part in (True, False)]
        shown.append(await post(chat, asked, verdict="differently", words=hostile))
        for page in (one.content.decode() for one in shown):
            assert "&lt;script&gt;alert(1)" in page
            assert "<script>alert" not in page
            assert "<img src=x" not in page


async def test_what_was_pruned_is_not_decided_and_asks_nobody() -> None:
    async with Asked(say("Hello."), WRITE) as chat:
        first = await chat.begin()
        asked = await chat.run(ask.ask, "Now.", conversation_id=first.conversation_key)
        await Exchange.objects.filter(run=asked).aupdate(pruned_at=timezone.now())
        assert (await get(chat, asked)).status_code == 404
        assert (await post(chat, asked, verdict="approved")).status_code == 404
        assert (await ApprovalRequest.objects.aget(pk=asked.pk)).is_open
