"""Verbs over a socket: who may do what, what is said when they may not, and what never happens."""

import asyncio
import json
import random
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.testing import WebsocketCommunicator
from django.contrib.auth.models import User
from django.contrib.sessions.models import Session
from django.db import OperationalError

from agents.core.config import AgentConfig
from agents.models import AgentRun, Membership, Project, UserAgentConfig
from agents.projects.members import remove_member
from chat.conversations import commands, tree
from chat.live import consumer, sessions
from chat.models import Conversation, Exchange
from oracle_site.asgi import application
from tests.agents.models.factories import run_of, silent_process
from tests.agents.runtime.fake_factory import followed
from tests.chat.factories import Talk, member
from tests.chat.page_client import Valve
from tests.chat.sockets import Site, Socket, signed_in, site
from tests.support.hostile import json_suite
from tests.support.script import call, say
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


async def key_of(run: AgentRun) -> UUID:
    assert run.conversation_key is not None
    return run.conversation_key


# -- asking ---------------------------------------------------------------------------------------


async def test_a_first_question_begins_the_conversation_and_is_acknowledged() -> None:
    async with site(say("One.")) as here:
        key = uuid4()
        page = await here.socket(key)
        await page.says("resume", head="", live=[])
        await page.says("submit", question="Why?", client_message_id="m1")
        ack = await page.until('data-message="m1"')
        assert f"/c/{key}/" in ack
        await page.until("One.")
        conversation = await Conversation.objects.aget()
    assert (conversation.pk, conversation.user_id) == (key, here.user.pk)


async def test_the_same_message_sent_twice_is_one_run() -> None:
    async with site(say("One.")) as here:
        page = await here.socket(uuid4())
        for _ in range(2):
            await page.says("submit", question="Why?", client_message_id="m1")
            await page.until('data-message="m1"')
        assert await AgentRun.objects.acount() == 1


async def test_a_question_while_another_is_answered_is_refused_in_words() -> None:
    async with site(call("wait")) as here:
        page = await here.socket(uuid4())
        await here.started(page)
        await page.says("submit", question="And?", client_message_id="m2")
        assert "already in progress" in await page.read_sentence()
        await page.says("stop")


async def test_stop_ends_the_run_and_says_so() -> None:
    async with site(call("wait")) as here:
        page = await here.socket(uuid4())
        await page.says("resume")
        run = await here.started(page)
        await page.says("stop")
        await page.until("Stopped")
        assert (await AgentRun.objects.aget(pk=run.pk)).reason == "user_cancelled"


async def test_stop_says_when_the_process_of_the_run_does_not_respond() -> None:
    async with site() as here:
        run = await sync_to_async(run_of_a_silent_process)(here.user, here.project)
        page = await here.socket(run.conversation_key)
        await page.says("stop")
        assert await page.read_sentence() == (
            "The server process of this run does not respond. "
            "If it does not come back, the run ends as stopped."
        )
        await run.arefresh_from_db()
        assert run.cancel_requested_at is not None


def run_of_a_silent_process(user: User, project: Project) -> AgentRun:
    config = AgentConfig().model_dump()
    return run_of(user, project, conversation_key=uuid4(), owner=silent_process(), config=config)


async def test_stop_with_nothing_going_on_does_nothing() -> None:
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))
        await page.says("stop")
        await page.says("rename", title="x" * 401)
        assert "title" in await page.read_sentence()


async def test_an_edit_makes_another_version_and_a_switch_goes_back() -> None:
    async with site(say("One."), say("Other.")) as here:
        first = await here.asked()
        page = await here.socket(await key_of(first))
        await page.says("resume", head=str(first.exchange.pk))
        await page.says(
            "submit", question="Why not?", client_message_id="m2", edits=str(first.exchange.pk)
        )
        await page.until("Other.")
        await page.says("switch", exchange=str(first.exchange.pk))
        await page.until("One.")
        assert (await Conversation.objects.aget()).head_id == first.exchange.pk


async def test_a_question_is_asked_again() -> None:
    async with site(say("One."), say("Other.")) as here:
        first = await here.asked()
        page = await here.socket(await key_of(first))
        await page.says("resume")
        await page.says("regenerate", exchange=str(first.exchange.pk), client_message_id="m2")
        await page.until("Other.")
        again = await AgentRun.objects.aget(client_message_id="m2")
    assert again.question == first.question


async def test_closing_the_page_does_not_end_its_run() -> None:
    valve = Valve("One.")
    async with site(valve.items()) as here:
        page = await here.socket(uuid4())
        run = await here.started(page)
        await page.close()
        here._sockets.clear()
        valve.open()
        async for _ in here.runtime.follow(run.pk):
            pass
        assert (await AgentRun.objects.aget(pk=run.pk)).answer == "One."


# -- continuing -----------------------------------------------------------------------------------


async def limited(here: Site) -> AgentRun:
    """A run that used all its turns."""
    await UserAgentConfig.objects.filter(user=here.user).aupdate(max_iterations=1)
    config = await sync_to_async(UserAgentConfig.for_user)(here.user)
    await UserAgentConfig.objects.filter(pk=config.pk).aupdate(max_iterations=1)
    run = await here.asked()
    assert run.reason == "max_iterations"
    return run


async def test_a_run_goes_on_with_a_limit_raised_for_this_time() -> None:
    async with site(say("So far."), say("The rest.")) as here:
        run = await limited(here)
        page = await here.socket(await key_of(run))
        await page.says("resume")
        await page.says(
            "continue", run=str(run.pk), limit="max_iterations", value="4", client_message_id="m2"
        )
        await page.until("The rest.")
        child = await AgentRun.objects.aget(client_message_id="m2")
        kept = await UserAgentConfig.objects.aget(user=here.user)
    assert child.config["max_iterations"] == 4
    assert child.continued_from_id == run.pk
    assert kept.max_iterations == 1


async def test_a_raised_limit_can_be_saved_as_the_default() -> None:
    async with site(say("So far."), say("The rest.")) as here:
        run = await limited(here)
        page = await here.socket(await key_of(run))
        await page.says("resume")
        raised = {"limit": "max_iterations", "value": 4, "save": "yes"}
        await page.says("continue", run=str(run.pk), **raised)
        await page.until("The rest.")
        assert (await UserAgentConfig.objects.aget(user=here.user)).max_iterations == 4


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"limit": "max_iterations", "value": "51"}, "from 1 to 50"),
        ({"limit": "max_iterations", "value": "0"}, "from 1 to 50"),
        ({"limit": "max_iterations", "value": "-" + "9" * 3000}, "from 1 to 50"),
        ({"limit": "max_iterations", "value": "many"}, "value"),
        ({"limit": "max_iterations", "value": "4.5"}, "value"),
        ({"limit": "everything", "value": "4"}, "There is no such setting"),
        ({"limit": "__class__", "value": "4"}, "There is no such setting"),
        ({"save": "no"}, "save"),
    ],
)
async def test_a_limit_that_cannot_be_is_refused_in_words(fields: Any, said: str) -> None:
    async with site(say("So far.")) as here:
        run = await limited(here)
        page = await here.socket(await key_of(run))
        await page.says("continue", run=str(run.pk), **fields)
        assert said in await page.read_sentence()
        assert await AgentRun.objects.acount() == 1


async def test_a_complete_answer_is_not_continued() -> None:
    async with site(say("One.")) as here:
        run = await here.asked()
        page = await here.socket(await key_of(run))
        await page.says("continue", run=str(run.pk))
        assert "is complete" in await page.read_sentence()


# -- who may --------------------------------------------------------------------------------------


async def test_whoever_is_not_signed_in_is_told_so_and_shown_out() -> None:
    async with site() as here:
        for session in ("", "nonsense"):
            page = await here.socket(uuid4(), session=session)
            assert "signed out" in await page.read_sentence()
            assert await page.closed() == 4401


async def test_a_conversation_of_somebody_else_is_not_ones_own() -> None:
    async with site(say("One.")) as here:
        key = await key_of(await here.asked())
        eve, _ = await sync_to_async(member)("eve", here.project)
        page = await here.socket(key, session=await signed_in(eve))
        assert await page.read_sentence() == "You have no such conversation."
        assert await page.closed() == 4403


async def test_whoever_was_removed_from_the_project_is_told_so() -> None:
    async with site(say("One.")) as here:
        key = await key_of(await here.asked())
        await Membership.objects.all().adelete()
        page = await here.socket(key)
        assert "no longer in the project of this conversation" in await page.read_sentence()
        assert await page.closed() == 4403


async def test_a_deleted_conversation_is_nobodys() -> None:
    async with site(say("One.")) as here:
        key = await key_of(await here.asked())
        await sync_to_async(commands.delete)(await Conversation.objects.aget())
        page = await here.socket(key)
        assert await page.closed() == 4403


async def test_nobody_begins_a_conversation_in_a_project_of_others() -> None:
    async with site() as here:
        eve, _ = await sync_to_async(member)("eve")
        page = await here.socket(uuid4(), session=await signed_in(eve))
        await page.says("submit", question="Why?", client_message_id="m1")
        assert "you are not in it" in await page.read_sentence()
        assert await page.closed() == 4403
        assert await AgentRun.objects.acount() == 0


VERBS: list[dict[str, Any]] = [
    {"verb": "submit", "question": "Q?", "client_message_id": "m", "edits": "X"},
    {"verb": "regenerate", "exchange": "X"},
    {"verb": "continue", "run": "X"},
    {"verb": "switch", "exchange": "X"},
    {"verb": "checkout", "exchange": "X"},
]


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb["verb"]))
@pytest.mark.parametrize("which", ["exchange", "run", "unknown"])
async def test_what_belongs_to_somebody_else_cannot_be_touched(
    verb: dict[str, Any], which: str
) -> None:
    async with site(say("One.")) as here:
        mine = await here.asked()
        theirs = (await sync_to_async(Talk)(name="eve")).first
        named = {"exchange": theirs.pk, "run": theirs.run_id, "unknown": uuid4()}[which]
        page = await here.socket(await key_of(mine))
        await page.sends(json.dumps(verb).replace('"X"', f'"{named}"'))
        assert "no such exchange" in await page.read_sentence()
        head = (await Conversation.objects.aget(pk=await key_of(mine))).head_id
        assert head == mine.exchange.pk
        assert await AgentRun.objects.acount() == 2


@pytest.mark.parametrize(
    "verb",
    VERBS,
    ids=lambda verb: str(verb["verb"]),
)
async def test_what_is_in_another_conversation_of_ones_own_cannot_be_touched(
    verb: dict[str, Any],
) -> None:
    async with site(say("One."), say("Two."), then=say("Three.")) as here:
        other, mine = await here.asked(), await here.asked()
        page = await here.socket(await key_of(mine))
        await page.sends(json.dumps(verb).replace('"X"', f'"{other.exchange.pk}"'))
        assert "in this conversation" in await page.next()
        assert await AgentRun.objects.acount() == 2


@pytest.mark.parametrize("verb", VERBS, ids=lambda verb: str(verb["verb"]))
async def test_what_was_pruned_cannot_be_touched(verb: dict[str, Any]) -> None:
    async with site(say("One."), say("Two."), say("Other.")) as here:
        first = await here.asked()
        key = await key_of(first)
        second = await here.asked(key, "Second?")
        page = await here.socket(key)
        other = {"question": "Other?", "client_message_id": "m9", "edits": str(second.exchange.pk)}
        await page.says("resume")
        await page.says("submit", **other)
        await page.until("Other.")
        await followed(here.runtime, (await AgentRun.objects.aget(client_message_id="m9")).pk)
        await sync_to_async(tree.prune)(await Conversation.objects.aget())
        await page.sends(json.dumps(verb).replace('"X"', f'"{second.exchange.pk}"'))
        assert "pruned" in await page.read_sentence()
        assert await AgentRun.objects.acount() == 3


async def test_stop_stops_nobody_elses_run() -> None:
    async with site(call("wait"), call("wait")) as here:
        theirs = await here.started(await here.socket(uuid4()))
        eve, project = await sync_to_async(member)("eve")
        page = Socket(here.address(uuid4(), project), await signed_in(eve))
        here._sockets.append(await page.open())
        await page.says("stop")
        await page.says("ack", frames=0)
        await page.says("nonsense")
        await page.read_sentence()
        assert (await AgentRun.objects.aget(pk=theirs.pk)).cancel_requested_at is None


async def test_a_title_is_changed_and_shown() -> None:
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))
        await page.says("resume")
        await page.says("rename", title=" Salt\n<b>water</b> ")
        await page.until("Salt &lt;b&gt;water&lt;/b&gt;")


async def test_a_conversation_that_has_not_begun_cannot_be_renamed() -> None:
    async with site() as here:
        page = await here.socket(uuid4())
        await page.says("rename", title="Salt")
        assert await page.read_sentence() == "You have no such conversation."


# -- bad input ------------------------------------------------------------------------------------

BAD = [
    "", "x", "[]", "null", '"submit"', "{}", '{"verb": 1}', '{"verb": "dance"}',
    '{"verb": "stop", "more": 1}', '{"verb": "stop"', '{"verb": "ack", "frames": -1}',
    '{"verb": "ack", "frames": NaN}', '{"verb": "resume", "live": "x"}',
    '{"verb": "submit", "question": {"a": 1}, "client_message_id": "m"}',
    '{"verb": "submit", "question": "", "client_message_id": "m"}',
    '{"verb": "submit", "question": "x", "client_message_id": ""}',
    '{"verb": "submit", "question": "x", "client_message_id": "\\u0000"}',
    '{"verb": "submit", "question": "x", "client_message_id": "m", "tree": "no such"}',
    '{"verb": "\\ud800"}', '{"\\ud800": 1, "verb": "stop"}', "[" * 60_000, '{"a":' * 9_000,
    '{"verb": "checkout", "exchange": "' + "0" * 60_000 + '"}', "1" * 60_000,
]  # fmt: skip


async def test_what_cannot_be_understood_is_answered_with_a_sentence() -> None:
    async with site() as here:
        for text in BAD:
            page = await here.socket(uuid4())
            await page.sends(text)
            assert (await page.read_sentence()).endswith("."), text[:80]
            await page.close()
        here._sockets.clear()
        assert await AgentRun.objects.acount() == 0


async def test_bytes_are_answered_with_a_sentence() -> None:
    async with site() as here:
        page = await here.socket(uuid4())
        await page.sends_bytes(b"\xff\x00")
        assert await page.read_sentence() == "That message could not be read."


async def test_the_documents_of_the_json_suite_do_no_harm(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "BURST", 10_000)
    async with site() as here:
        page = await here.socket(uuid4())
        for document in json_suite():
            await page.sends(document.decode("utf-8", "replace"))
            if len(document) <= 100_000:
                assert await page.next()
        assert page.code is None
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_the_headers_of_htmx_are_dropped() -> None:
    async with site(say("One.")) as here:
        page = await here.socket(uuid4())
        headers = {"X-CSRFToken": "secret", "HX-Request": "true"}
        await page.says("submit", question="Why?", client_message_id="m1", HEADERS=headers)
        await page.until('data-message="m1"')


async def test_what_is_said_about_a_bad_message_is_short() -> None:
    async with site() as here:
        page = await here.socket(uuid4())
        await page.says("<" * 60_000)
        await page.read_sentence()
        assert len(page.frames[-1]) < 1_000


# -- too much -------------------------------------------------------------------------------------


async def test_too_many_messages_are_refused_then_the_socket_is_closed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer, "BURST", 3)
    monkeypatch.setattr(consumer, "PER_SECOND", 0.0)
    monkeypatch.setattr(consumer, "MAX_IGNORED", 2)
    async with site() as here:
        page = await here.socket(uuid4())
        for _ in range(3):
            await page.says("stop")
        for _ in range(2):
            await page.says("stop")
            assert "Too many" in await page.read_sentence()
        await page.says("stop")
        assert await page.closed() == 4429


async def test_acknowledging_frames_takes_nothing_from_what_a_person_may_say(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(consumer, "BURST", 1)
    monkeypatch.setattr(consumer, "PER_SECOND", 0.0)
    monkeypatch.setattr(consumer, "ACK_BURST", 50)
    async with site() as here:
        page = await here.socket(uuid4())
        for number in range(50):
            await page.says("ack", frames=number)
        await page.says("rename", title="x")
        assert "no such conversation" in await page.read_sentence()


async def test_too_many_acknowledgements_close_the_socket(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "ACKS_PER_SECOND", 0.0)
    monkeypatch.setattr(consumer, "MAX_IGNORED", 2)
    async with site() as here:
        page = await here.socket(uuid4())
        for number in range(consumer.ACK_BURST + 3):
            await page.says("ack", frames=number)
        assert await page.closed() == 4429


async def test_nonsense_is_counted_as_messages_are(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(consumer, "BURST", 3)
    monkeypatch.setattr(consumer, "PER_SECOND", 0.0)
    monkeypatch.setattr(consumer, "MAX_IGNORED", 2)
    async with site() as here:
        page = await here.socket(uuid4())
        for _ in range(10):
            await page.sends("nonsense")
        assert await page.closed() == 4429


# -- bad luck -------------------------------------------------------------------------------------


async def test_a_database_that_does_not_answer_is_said_to_be_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))

        def locked(*_: object) -> None:
            raise OperationalError("database is locked")

        monkeypatch.setattr(commands, "rename", locked)
        await page.says("rename", title="Salt")
        assert "does not answer" in await page.read_sentence()


async def test_a_fault_of_ours_is_logged_and_closes_the_socket(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))

        def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr(commands, "rename", broken)
        await page.says("rename", title="Salt")
        assert await page.closed() == 4500
    assert "a chat socket failed" in caplog.text


async def test_a_page_that_cannot_be_followed_is_closed(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))

        async def broken(*_: object) -> None:
            raise ZeroDivisionError

        monkeypatch.setattr("chat.live.follower.ConversationFollower.follow", broken)
        await page.says("resume")
        assert await page.closed() == 4500
    assert "cannot be followed" in caplog.text


async def test_an_address_that_is_nowhere_is_closed_for_good() -> None:
    async with site() as here:
        page = Socket("/ws/nowhere/", here.session)
        await page.open()
        assert await page.closed() == 4404


@pytest.mark.parametrize(
    "origin", ["http://127.0.0.1:8001", "https://127.0.0.1:8000", "http://evil.example", "null"]
)
async def test_a_page_of_another_origin_is_refused(origin: str) -> None:
    async with site() as here:
        page = Socket(here.address(), here.session, origin)
        await page.open()
        assert page.code is not None


async def test_a_page_without_an_origin_is_refused() -> None:
    async with site() as here:
        cookie = [(b"cookie", f"sessionid={here.session}".encode())]
        wire = WebsocketCommunicator(application, here.address(), cookie)
        accepted, _ = await wire.connect(timeout=PATIENCE)
        assert not accepted


# -- leaving --------------------------------------------------------------------------------------


async def test_whoever_signs_out_is_shown_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "POLL_SECONDS", 0.02)
    async with site(say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))
        await page.says("resume")
        await Session.objects.all().adelete()
        assert await page.closed() == 4401
        assert any("signed out" in frame for frame in page.frames)


async def test_whoever_was_shown_out_is_not_obeyed_any_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "POLL_SECONDS", 0.02)
    async with site(then=say("One.")) as here:
        page = await here.socket(await key_of(await here.asked()))
        await Session.objects.all().adelete()
        assert await page.closed() == 4401
        await page.says("submit", question="Still here?", client_message_id="m2")
        for _ in range(100):
            await asyncio.sleep(0.005)
        assert not await AgentRun.objects.filter(client_message_id="m2").aexists()


async def test_random_messages_do_no_harm(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(consumer, "BURST", 10_000)
    chance = random.Random(4)
    async with site(then=say("One.")) as here:
        page = await here.socket(uuid4())
        for _ in range(300):
            await page.sends("".join(chance.choices('{}[]":,verb stop\\ud0\n', k=30)))
            assert await page.next()
        assert page.code is None
        assert await Exchange.objects.acount() == 0
    assert [record for record in caplog.records if record.levelname == "ERROR"] == []


async def test_whoever_is_removed_is_shown_out_at_once_and_their_run_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sessions, "POLL_SECONDS", 600.0)  # the hint alone has to do it
    async with site(call("wait")) as here:
        owner, _ = await sync_to_async(member)("owner", here.project)
        await Membership.objects.filter(user=owner).aupdate(role=Membership.Role.OWNER)
        key = uuid4()
        page, other = await here.socket(key), await here.socket(session=await signed_in(owner))
        await page.says("resume")
        run = await here.started(page)
        await sync_to_async(remove_member)(here.project, here.user, by=owner)
        assert await page.closed() == 4403
        async with asyncio.timeout(PATIENCE):
            await followed(here.runtime, run.pk)
        ended = await AgentRun.objects.aget(pk=run.pk)
        assert (ended.outcome, ended.reason) == ("cancelled", "user_cancelled")
        assert ended.cancel_note == "You are no longer a member of this project."
        again = await here.socket(key)
        assert await again.closed() == 4403
        await Membership.objects.acreate(project=here.project, user=here.user)
        back = await here.socket(key)
        await back.says("resume")
        await back.until("no longer a member")
        await other.says("nonsense")
        assert await other.read_sentence()
