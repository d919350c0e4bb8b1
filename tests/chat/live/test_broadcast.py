"""One rendering of a run for all pages of a process: shared, in slices, and gone with the last."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from agents.core.messages import Finished, TextDelta
from chat.live import broadcast, follower
from chat.rendering import fragments
from chat.rendering.answer import AnswerView
from tests.chat.page_client import Chat, Tab, Valve
from tests.support.script import say
from tests.support.shapes import SHAPES

pytestmark = pytest.mark.django_db(transaction=True)
Patch = pytest.MonkeyPatch


@pytest.fixture(autouse=True)
async def nothing_is_left() -> AsyncIterator[None]:
    yield
    assert broadcast._broadcasts == {}


async def test_ten_pages_of_one_run_render_it_once(monkeypatch: Patch) -> None:
    taken: list[int] = []
    take = AnswerView.apply

    def counted(self: AnswerView, chunk: Any) -> None:
        taken.append(chunk.seq)
        take(self, chunk)

    valve = Valve(*(f"word{n} *so*\n\n" for n in range(8)))
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tabs = [await chat.open(run) for _ in range(10)]
        for tab in tabs:
            await tab.until(lambda tab=tab: tab.live.active_run_id)  # type: ignore[misc]
        monkeypatch.setattr(AnswerView, "apply", counted)
        valve.open()
        for tab in tabs:
            await tab.shows("word7")
        monkeypatch.undo()
        for tab in tabs:
            await tab.is_ready()
            await tab.assert_as_reloaded()
        assert len(taken) > 2
        assert len(taken) == len(set(taken)), "a chunk was rendered twice"


async def test_a_page_that_comes_in_the_middle_shows_what_the_others_show() -> None:
    valve = Valve("One *two*", " three.\n\n- four", "\n- five\n")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tabs = [await chat.open(run)]
        for number, word in enumerate(("two", "four", "five"), start=1):
            valve.open(number)
            await tabs[0].shows(word)
            tabs.append(await chat.open(run))
        for tab in tabs:
            await tab.is_ready()
            await tab.assert_as_reloaded()
            assert tab.dom.missed == []


async def test_a_page_that_is_too_far_behind_is_sent_the_whole_answer(monkeypatch: Patch) -> None:
    monkeypatch.setattr(broadcast, "FRAME_SECONDS", 0.001)
    monkeypatch.setattr(broadcast, "MAX_FRAMES", 2)
    monkeypatch.setattr(follower, "MAX_UNACKED", 3)
    words = [f"w{n}\n\n" for n in range(9)]
    valve = Valve(*words, ends=False)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        quick, slow = await chat.open(run), await chat.open(run)
        slow.slow = True
        for number in range(1, 10):
            valve.open(number)
            await quick.shows(f"w{number - 1}")
            quick.live.ack(len(quick.frames))
        assert "w8" not in slow.dom.get("thread").text
        slow.live.ack(len(slow.frames))
        await slow.shows("w8")
        assert slow.dom.get("thread").text.split() == quick.dom.get("thread").text.split()


@pytest.mark.ci
async def test_a_dear_answer_is_rendered_in_slices(monkeypatch: Patch) -> None:
    """Others have their turn between them: here, a task that counts its turns."""
    text = SHAPES["headings"](40_000)
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    valve = Valve("So:\n\n", text)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.shows("So:")
        longest = since = 0
        take = AnswerView.apply

        def watched(self: AnswerView, chunk: Any) -> None:
            nonlocal longest, since, turns
            since = (0 if turns else since) + len(getattr(chunk, "content", ""))
            longest, turns = max(longest, since), 0
            take(self, chunk)

        monkeypatch.setattr(AnswerView, "apply", watched)
        counting = asyncio.create_task(others())
        valve.open()
        await tab.is_ready()
        counting.cancel()
        assert 0 < longest <= 2_000


async def test_a_run_that_cannot_be_rendered_ends_its_pages_and_not_the_next(
    monkeypatch: Patch,
) -> None:
    valve = Valve("One", " two.")
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tab = await chat.open(run)
        valve.open(1)
        await tab.shows("One")

        def broken(self: AnswerView, chunk: Any) -> None:
            raise LookupError

        with monkeypatch.context() as patch:
            patch.setattr(AnswerView, "apply", broken)
            valve.open()
            with pytest.raises(RuntimeError, match="cannot be rendered"):
                await tab.shows("two.")
        tab._following = None
        again = await chat.open(run)
        await again.is_ready()
        assert "One two." in again.dom.get("thread").text


async def test_the_last_page_that_leaves_ends_the_rendering() -> None:
    valve = Valve("One", " two.", ends=False)
    async with Chat(valve.items()) as chat:
        run = await chat.begin()
        tabs = [await chat.open(run) for _ in range(2)]
        valve.open(1)
        for tab in tabs:
            await tab.shows("One")
        (going,) = broadcast._broadcasts.values()
        await tabs[0].close()
        assert list(broadcast._broadcasts.values()) == [going]
        await tabs[1].close()
        assert broadcast._broadcasts == {}
        assert going._task is not None
        assert going._task.done()


@pytest.mark.parametrize("name", ["open brackets", "headings", "table", "citations", "items"])
async def test_a_dear_answer_is_live_what_it_is_on_a_reload(name: str, monkeypatch: Patch) -> None:
    """Whether the page is there before the answer ends or not: only what is opened is paged."""
    monkeypatch.setattr(fragments, "PAGE_CHARS", 10**9)
    text = SHAPES[name](30_000)
    async with Chat([*(TextDelta(text[at : at + 700]) for at in range(0, 30_000, 700)),
                     Finished()]) as chat:  # fmt: skip
        run = await chat.begin()
        tab: Tab = await chat.open(run)
        await tab.is_ready(30.0)
        await tab.assert_as_reloaded()


async def test_an_ended_run_leaves_nothing_behind() -> None:
    async with Chat(say("One.")) as chat:
        tab = await chat.open(await chat.begin())
        await tab.shows("One.")
        await tab.is_ready()
        assert broadcast._broadcasts == {}
