"""A page that follows a conversation: what it is sent, when, and what it never misses."""

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import OperationalError

from agents.core.messages import ReasoningDelta, TextDelta
from agents.ledger import Reader, reader
from agents.models import AgentRun
from chat.conversations import commands, tree
from chat.live import broadcast, follower
from chat.models import Conversation, Exchange
from chat.services.ask import ask, edit_question
from tests.chat.page_client import Chat, Tab, Valve
from tests.support.dom import GROWN
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import Item, Pause

pytestmark = pytest.mark.django_db(transaction=True)
Patch = pytest.MonkeyPatch


def nudged(chat: Chat, run: AgentRun) -> None:
    assert run.conversation_key is not None
    chat.runtime.notify_changed(run.conversation_key)


async def exchange_of(run: AgentRun) -> Exchange:
    return await Exchange.objects.aget(run=run.pk)


# -- following ------------------------------------------------------------------------------------


async def test_a_page_follows_a_run_to_its_end_and_is_then_as_a_new_page() -> None:
    tools = calls(Call("look", {}), Call("look", {"page": 2}), Call("look", {"page": 3}))
    answer = say("# So\n\nIt *is* so.\n\n- one\n- two\n", thinking="Let me see.")
    async with Chat(tools, answer) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.shows("two")
        await tab.is_ready()
        assert tab.dom.missed == []


async def test_a_page_that_was_open_before_sees_the_next_question_and_its_answer() -> None:
    async with Chat(say("One."), say("Two.")) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        assert run.conversation_key is not None
        await chat.ask(run.conversation_key, "And then?")
        await tab.shows("And then?")
        await tab.shows("Two.")
        await tab.is_ready()
        await tab.assert_as_reloaded()


async def test_two_pages_of_one_conversation_show_the_same() -> None:
    valve = Valve("Two", " and a half.")
    async with Chat(say("One."), valve.items()) as chat:
        run = await chat.talked()
        tabs = [await chat.open(run) for _ in range(2)]
        assert run.conversation_key is not None
        await chat.ask(run.conversation_key)
        valve.open(1)
        for tab in tabs:
            await tab.shows("Two")
        tabs.append(await chat.open(run))
        await tabs[-1].until(lambda: tabs[-1].frames)
        valve.open()
        for tab in tabs:
            await tab.shows("and a half.")
            await tab.is_ready()
            await tab.assert_as_reloaded()


async def test_an_empty_page_gets_the_first_exchange() -> None:
    async with Chat(say("One.")) as chat:
        run = await chat.begin()
        await chat.ended(run)
        page = await chat.page(run)
        for element in page.get("thread").elements:
            element.remove()
        tab = Tab(chat, run, page)
        await tab.connect()
        await tab.shows("One.")
        await tab.assert_as_reloaded()


async def test_a_run_that_ended_while_the_page_was_away_is_shown_when_it_comes_back() -> None:
    valve = Valve("One", " and done.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.shows("One")
        await tab.close()
        valve.open()
        await chat.ended(run)
        await tab.connect()
        await tab.shows("and done.")
        await tab.is_ready()


async def test_a_page_that_comes_back_after_the_end_has_the_meters_of_the_end() -> None:
    valve = Valve("One", " and done.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        await tab.close()
        valve.open()
        await chat.ended(run)
        await tab.connect()
        await tab.is_ready()
        now = await chat.page(run)
        assert tab.dom.get("meters").text == now.get("meters").text


async def test_a_run_that_goes_on_while_the_page_was_away_is_followed_again() -> None:
    valve = Valve("One", " two", " three.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.shows("One")
        await tab.close()
        valve.open(2)
        await chat.stored(run, "two")
        await tab.connect()
        await tab.shows("One two")
        valve.open()
        await tab.shows("One two three.")
        await tab.is_ready()
        await tab.assert_as_reloaded()


async def test_a_stopped_run_is_shown_as_stopped() -> None:
    async with Chat(Valve("One", ends=False).items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        await chat.runtime.cancel(run.pk)
        await tab.is_ready()
        await tab.shows("Stopped")
        await tab.assert_as_reloaded()


async def test_the_meters_are_those_of_the_last_run_that_is_shown() -> None:
    async with Chat(say("One."), say("Two. " * 200)) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        assert run.conversation_key is not None
        ready = await sync_to_async(ask)(chat.user, "And?", conversation_id=run.conversation_key)
        second = await chat.runtime.start(ready.request, ready.attach)
        await chat.ended(second)
        nudged(chat, run)
        await tab.shows("Two.")
        now = await chat.page(run)
        assert tab.dom.get("meters").text == now.get("meters").text


# -- other versions -------------------------------------------------------------------------------


async def test_a_switch_shows_the_other_version_on_every_page() -> None:
    async with Chat(say("One."), say("Two."), say("Other.")) as chat:
        second = await chat.talked(2)
        await chat.ended(await chat.start(edit_question, second.pk, "Second, rather?"))
        tabs = [await chat.open(second) for _ in range(2)]
        conversation = await Conversation.objects.aget()
        was = (await exchange_of(second)).pk
        await sync_to_async(tree.switch)(conversation, was)
        nudged(chat, second)
        for tab in tabs:
            await tab.shows("Two.")
            assert "Other." not in tab.dom.get("thread").text
            await tab.assert_as_reloaded()


async def test_a_checkout_leaves_out_what_comes_after() -> None:
    async with Chat(say("One."), say("Two.")) as chat:
        second = await chat.talked(2)
        tab = await chat.open(second)
        first = await Exchange.objects.aget(parent=None)
        await sync_to_async(tree.checkout)(await Conversation.objects.aget(), first.pk)
        nudged(chat, second)
        await tab.until(lambda: "Two." not in tab.dom.get("thread").text)
        await tab.assert_as_reloaded()


async def test_a_new_title_is_shown() -> None:
    async with Chat(say("One.")) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        await sync_to_async(commands.rename)(await Conversation.objects.aget(), "Salt <b>")
        nudged(chat, run)
        await tab.until(lambda: tab.dom.get("title").text == "Salt <b>")


async def test_a_conversation_that_was_deleted_is_sent_no_more_and_does_no_harm() -> None:
    async with Chat(say("One.")) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        await sync_to_async(commands.delete)(await Conversation.objects.aget())
        nudged(chat, run)
        before = len(tab.frames)
        await sync_to_async(commands.restore)(chat.user, run.conversation_key)  # type: ignore[arg-type]
        nudged(chat, run)
        await tab.until(lambda: len(tab.frames) > before)


# -- what a page says of itself -------------------------------------------------------------------


async def test_resume_with_runs_of_others_reveals_nothing() -> None:
    async with Chat(say("Secret answer."), say("Mine.")) as chat:
        secret = await chat.talked()
        eve = await User.objects.acreate(username="eve")
        tab = Tab(chat, secret, await chat.page(secret))
        tab.user = eve
        tab.dom.get("thread").children = []
        await tab.connect(head=None, live=[secret.pk, uuid4()])
        await tab.close()
        assert tab.frames == []


async def test_resume_with_runs_of_another_conversation_of_ones_own_sends_none_of_them() -> None:
    async with Chat(say("Elsewhere."), say("Here.")) as chat:
        elsewhere = await chat.talked()
        here = await chat.talked()
        tab = Tab(chat, here, await chat.page(here))
        await tab.connect(live=[elsewhere.pk])
        await tab.until(lambda: tab.frames)
        assert not any("Elsewhere" in frame for frame in tab.frames)


@pytest.mark.parametrize("known", [False, True], ids=["unknown", "of another conversation"])
async def test_a_page_that_shows_something_else_is_given_the_whole_thread(known: bool) -> None:
    async with Chat(say("Elsewhere."), say("One."), say("Two.")) as chat:
        elsewhere = await exchange_of(await chat.talked())
        run = await chat.talked(2)
        tab = Tab(chat, run, await chat.page(run))
        tab.dom.get("thread").children = []
        await tab.connect(head=elsewhere.pk if known else uuid4(), live=[])
        await tab.shows("Two.")
        await tab.assert_as_reloaded()


async def test_a_page_that_has_everything_is_not_sent_it_again() -> None:
    async with Chat(say("One.")) as chat:
        tab = await chat.open(await chat.talked())
        await tab.until(lambda: tab.frames)
        assert not any("One." in frame for frame in tab.frames)


# -- how often ------------------------------------------------------------------------------------


async def test_the_first_text_comes_at_once_and_more_of_it_at_the_next_frame(
    monkeypatch: Patch,
) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 600.0)
    valve = Valve("One", " two.", ends=False)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        valve.open(1)
        await tab.shows("One")
        sent = len(tab.frames)
        valve.open()
        await chat.stored(run, "two.")
        assert len(tab.frames) == sent


async def test_text_comes_in_about_ten_frames_a_second() -> None:
    """A busy machine may hand over two at once that were sent apart, so all are timed together."""
    words = [item for n in range(2_000) for item in (Pause(0.01), TextDelta(f"w{n} "))]
    async with Chat(words) as chat:
        run = await chat.begin()
        began = asyncio.get_running_loop().time()
        tab = await chat.open(run)
        await tab.until(lambda: sum(map(bool, map(GROWN.match, tab.frames))) >= 9)
        took = tab.times[-1] - began
    assert took > 8 * 0.09


async def test_thinking_waits_for_the_next_frame_too(monkeypatch: Patch) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 600.0)
    gates = [asyncio.Event() for _ in range(3)]
    thinking: list[Item] = [gates[0], ReasoningDelta("Hm, "), gates[1], ReasoningDelta("so.")]
    async with Chat([*thinking, gates[2]]) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        gates[0].set()
        await tab.shows("Hm,")
        gates[1].set()
        await chat.stored(run, "so.")
        with pytest.raises(TimeoutError):
            await tab.until(lambda: "so." in tab.dom.get("thread").text, 0.5)


@contextmanager
def deaf(monkeypatch: Patch) -> Iterator[None]:
    """Hints are lost."""

    @contextmanager
    def watch(_: Reader, key: UUID, call: Callable[[], None]) -> Iterator[None]:
        yield

    with monkeypatch.context() as patch:
        patch.setattr(Reader, "watch", watch)
        yield


async def test_a_lost_hint_costs_no_more_than_the_time_between_looks(monkeypatch: Patch) -> None:
    monkeypatch.setattr(reader, "POLL_SECONDS", 0.02)
    valve = Valve("One", " two.")
    async with Chat(valve.items()) as chat:
        with deaf(monkeypatch):
            run = await chat.begin()
            tab = await chat.open(run)
            valve.open(1)
            await tab.shows("One")
            valve.open()
            await tab.shows("two.")
            await tab.is_ready()


async def test_a_page_with_nothing_to_show_hears_that_the_connection_lives(
    monkeypatch: Patch,
) -> None:
    monkeypatch.setattr(follower, "IDLE_SECONDS", 0.02)
    async with Chat(say("One."), say("Two.")) as chat:
        run = await chat.talked()
        with deaf(monkeypatch):
            tab = await chat.open(run)
            await tab.until(lambda: tab.dom.get("beat").attributes["data-frames"] != "0")
            assert run.conversation_key is not None
            await chat.ask(run.conversation_key)
            await tab.shows("Two.")  # looked for, though no hint came


# -- slow pages -----------------------------------------------------------------------------------


def quick(monkeypatch: Patch) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 0.001)
    monkeypatch.setattr(follower, "MAX_UNACKED", 4)
    monkeypatch.setattr(follower, "ACK_EVERY", 2)
    monkeypatch.setattr(reader, "POLL_SECONDS", 0.02)


async def test_a_page_that_acknowledges_nothing_is_sent_no_more_until_it_does(
    monkeypatch: Patch,
) -> None:
    quick(monkeypatch)
    words = [f"w{n} " for n in range(12)]
    valve = Valve(*words)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run, slow=True)
        for number, word in enumerate(words, start=1):
            valve.open(number)
            await chat.stored(run, word)
        await chat.ended(run)
        assert len(tab.frames) <= follower.MAX_UNACKED + 1
        assert "w11" not in tab.dom.get("thread").text
        tab.slow = False
        tab.live.ack(len(tab.frames))
        await tab.shows("w11")
        await tab.is_ready()
        await tab.assert_as_reloaded()


async def test_a_page_whose_run_is_silent_hears_that_the_connection_lives(
    monkeypatch: Patch,
) -> None:
    quick(monkeypatch)
    monkeypatch.setattr(follower, "IDLE_SECONDS", 0.05)
    valve = Valve("One", " and the end.")
    async with Chat(valve.items()) as chat:
        tab = await chat.open(await chat.begin())
        valve.open(1)
        await tab.shows("One")
        before = len(tab.frames)
        await tab.until(lambda: any('id="beat"' in frame for frame in tab.frames[before + 4 :]))
        valve.open(2)
        await tab.shows("One and the end.")


async def test_a_page_that_acknowledges_gets_everything(monkeypatch: Patch) -> None:
    quick(monkeypatch)
    words = [f"w{n} " for n in range(12)]
    valve = Valve(*words)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        for number, word in enumerate(words, start=1):
            valve.open(number)
            await tab.shows(word.strip())
        await tab.is_ready()


@pytest.mark.parametrize("frames", [-1, 0, 10**30])
async def test_acknowledging_what_was_never_sent_is_worth_nothing(frames: int) -> None:
    async with Chat(say("One.")) as chat:
        tab = await chat.open(await chat.talked())
        await tab.until(lambda: tab.frames)
        tab.live.ack(frames)
        assert 0 <= tab.live._acked <= len(tab.frames)


# -- bad moments ----------------------------------------------------------------------------------


async def test_a_rename_as_the_run_ends_does_not_lose_the_end_of_the_answer(
    monkeypatch: Patch,
) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 0.3)
    valve = Valve("One", " and the end.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        valve.open(1)
        await tab.shows("One")
        valve.open()
        await chat.ended(run)  # stored, while the page waits for its next frame
        tab.live.invalidate()
        await tab.until(lambda: tab.controls == "no")
        assert "and the end." in tab.dom.get("thread").text


async def test_a_slow_page_gets_the_rest_though_its_conversation_was_renamed(
    monkeypatch: Patch,
) -> None:
    quick(monkeypatch)
    monkeypatch.setattr(follower, "MAX_UNACKED", 0)
    valve = Valve("One", " and the end.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run, slow=True)
        await tab.until(lambda: tab.frames)
        valve.open()
        await chat.ended(run)
        nudged(chat, run)
        await tab.until(lambda: tab.controls == "no")
        tab.slow = False
        tab.live.ack(len(tab.frames))
        assert "and the end." in tab.dom.get("thread").text


async def test_a_run_that_ends_just_as_a_page_comes_back_is_shown_to_its_end(
    monkeypatch: Patch,
) -> None:
    valve = Valve("One.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        page = await chat.page(run)
        tab = Tab(chat, run, page)

        async def end_it() -> None:
            valve.open()
            await chat.ended(run)

        work = chat.runtime.run_db

        async def then_it_ends(job: Callable[[], Any], person: int | None = None) -> Any:
            found = await work(job, person)
            if not valve.gates[0].is_set():
                await end_it()
            return found

        monkeypatch.setattr(chat.runtime, "run_db", then_it_ends)
        await tab.connect()
        await tab.is_ready(2.0)


async def test_a_run_that_ends_while_a_page_reads_it_leaves_the_page_ready(
    monkeypatch: Patch,
) -> None:
    valve = Valve("One.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        page = await chat.page(run)
        real = Reader.read

        async def ends_meanwhile(rows: Reader, run_id: UUID, after: int) -> Any:
            monkeypatch.setattr(Reader, "read", real)
            valve.open()
            await chat.ended(run)
            return await real(rows, run_id, after)

        monkeypatch.setattr(Reader, "read", ends_meanwhile)
        tab = Tab(chat, run, page)
        await tab.connect()
        await tab.is_ready(2.0)


async def test_a_database_that_is_away_for_a_while_ends_no_page(monkeypatch: Patch) -> None:
    monkeypatch.setattr(reader, "RETRY_SECONDS", 0.02)
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 0.01)
    real = Reader.read
    failures: list[int] = []
    is_away = asyncio.Event()

    async def read(rows: Reader, run_id: UUID, after: int) -> Any:
        found = await real(rows, run_id, after)  # one that has begun before fails too
        if is_away.is_set() and len(failures) < 3:
            failures.append(after)
            raise OperationalError("database is locked")
        return found

    monkeypatch.setattr(Reader, "read", read)
    valve = Valve("One", " two.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.shows("One")
        is_away.set()
        valve.open()
        await tab.shows("two.")
        assert len(failures) == 3


async def test_a_database_that_is_away_when_a_page_looks_is_asked_again(
    monkeypatch: Patch,
) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 0.01)
    async with Chat(say("One."), say("Two.")) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        real = tab.live._load_snapshot
        failures: list[int] = []

        def scene(*shown: Any) -> Any:
            if len(failures) < 3:
                failures.append(1)
                raise OperationalError("database is locked")
            return real(*shown)

        monkeypatch.setattr(tab.live, "_load_snapshot", scene)
        assert run.conversation_key is not None
        await chat.ask(run.conversation_key)
        await tab.shows("Two.")


async def test_what_is_going_on_is_said_once_per_change() -> None:
    valve = Valve(*["One. "] * 40)
    async with Chat(call("look"), valve.items()) as chat:
        tab = await chat.open(await chat.begin())
        await tab.until(lambda: tab.frames)
        valve.open()
        await tab.is_ready()
        said = [frame for frame in tab.frames if 'id="announce"' in frame]
    assert tab.dom.get("announce").text == "Answer complete"
    assert len(said) <= 3


async def test_a_run_that_is_over_before_a_page_looks_is_said_to_be_complete() -> None:
    async with Chat(say("One."), say("Two.")) as chat:
        run = await chat.talked()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        assert tab.dom.get("announce").text == "", "nothing has happened on this page yet"
        assert run.conversation_key is not None
        ready = await sync_to_async(ask)(chat.user, "And?", conversation_id=run.conversation_key)
        await chat.ended(await chat.runtime.start(ready.request, ready.attach))
        nudged(chat, run)
        await tab.shows("Two.")
        assert tab.dom.get("announce").text == "Answer complete"


async def test_a_page_that_comes_back_after_the_end_does_not_say_that_it_goes_on() -> None:
    valve = Valve("One", " and done.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.until(lambda: tab.dom.get("announce").text)
        await tab.close()
        valve.open()
        await chat.ended(run)
        await tab.connect()
        await tab.is_ready()
        assert tab.dom.get("announce").text == "Answer complete"


async def test_every_answer_is_said_to_be_complete(monkeypatch: Patch) -> None:
    monkeypatch.setattr(follower, "ANNOUNCE_SECONDS", 600.0)
    valves = Valve("One."), Valve("Two.")
    async with Chat(*(valve.items() for valve in valves)) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        await tab.until(lambda: tab.frames)
        valves[0].open()
        await tab.is_ready()
        assert run.conversation_key is not None
        await chat.ask(run.conversation_key)
        valves[1].open()
        await tab.shows("Two.")
        await tab.is_ready()
        said = [frame for frame in tab.frames if ">Answer complete<" in frame]
    assert len(said) == 2


async def test_announcements_do_not_come_in_a_rush(monkeypatch: Patch) -> None:
    monkeypatch.setattr(follower, "ANNOUNCE_SECONDS", 600.0)
    async with Chat(call("look"), call("look", at=2), say("One. " * 40, piece_delay=0.01)) as chat:
        tab = await chat.open(await chat.begin())
        await tab.is_ready()
        said = [frame for frame in tab.frames if 'id="announce"' in frame]
    assert len(said) == 2, "the first, and the end, which does not wait"
    assert tab.dom.get("announce").text == "Answer complete"
