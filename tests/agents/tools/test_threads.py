"""The thread tools as the model gets them: through the executor, in threads, with sources."""

import pytest
from asgiref.sync import sync_to_async

from agents.core.messages import ToolCall, ToolOutcome
from agents.models import Project, Thread, ThreadEntry
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.project_threads import ProjectThreads
from agents.vault.threads import NewEntry, push_entries, set_status, withdraw_entries
from tests.agents.tools.factories import context

pytestmark = pytest.mark.django_db(transaction=True)
NAMES = ("thread_list", "thread_read", "thread_seek", "thread_push")


@pytest.fixture
def threads() -> ProjectThreads:
    project = Project.objects.create(name="harbour", slug="harbour")
    return ProjectThreads(project.pk, Author.importer())


async def call(name: str, threads: ProjectThreads, **arguments: object) -> ToolOutcome:
    runner = ToolExecutor([TOOLS.get(each) for each in NAMES], [threads])
    return await runner.run(ToolCall("1", name, arguments), context())


@sync_to_async
def fill(threads: ProjectThreads, name: str, *texts: str) -> None:
    entries = [NewEntry(text, "decision") for text in texts]
    push_entries(threads.project_id, name, entries, Author.importer())


@sync_to_async
def archive(threads: ProjectThreads, name: str) -> None:
    set_status(threads.project_id, name, Thread.Status.ARCHIVED)


async def test_a_push_makes_the_thread_and_the_next_one_adds_to_it(
    threads: ProjectThreads,
) -> None:
    made = await call("thread_push", threads, thread="power", content="LFP.", type="decision")
    assert made.content == "Made the thread and added power#1 (decision)."
    added = await call("thread_push", threads, thread="Power", content="Solar.")
    assert added.content == "Added power#2 (thought)."
    assert added.sources == ()  # nothing was read
    entry = await ThreadEntry.objects.aget(number=1)
    assert entry.call_id == "c1"


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"thread": "a/b", "content": "x"}, "pass a name without"),
        ({"thread": "power", "content": " "}, "The entry is empty"),
        ({"thread": "power", "content": "x", "type": "wish"}, "'thought', 'decision'"),
        ({"thread": "", "content": "x"}, "at least 1 character"),
        ({"thread": "old", "content": "x"}, "is archived and takes no entries"),
    ],
)
async def test_a_push_that_cannot_be_is_refused_in_words(
    threads: ProjectThreads, arguments: dict[str, object], told: str
) -> None:
    await fill(threads, "old", "one")
    await archive(threads, "old")
    outcome = await call("thread_push", threads, **arguments)
    assert not outcome.ok
    assert told in outcome.content
    assert await ThreadEntry.objects.acount() == 1


async def test_without_an_author_nothing_is_pushed(threads: ProjectThreads) -> None:
    reading = ProjectThreads(threads.project_id)
    outcome = await call("thread_push", reading, thread="power", content="x")
    assert "can only be read" in outcome.content
    assert not await Thread.objects.aexists()


async def test_a_list_has_active_threads_newest_first(threads: ProjectThreads) -> None:
    assert (await call("thread_list", threads)).content == "There are no active threads."
    for name in ("old", "first", "second"):
        await fill(threads, name, "one", "two")
    await archive(threads, "old")
    active = (await call("thread_list", threads)).content.split("\n")
    assert active[0] == "2 active threads"
    assert active[1].startswith("- second (2 entries, last on 20")
    archived = (await call("thread_list", threads, status="archived")).content
    assert archived.startswith("1 archived thread\n- old (archived, 2 entries, last on 20")
    assert (await call("thread_list", threads, status="all")).content.startswith("3 threads\n")
    assert not (await call("thread_list", threads, status="open")).ok


async def test_a_reading_has_the_newest_entries_in_their_order(threads: ProjectThreads) -> None:
    await fill(threads, "power", *(f"entry {number}" for number in range(1, 13)))
    outcome = await call("thread_read", threads, thread="POWER")
    lines = outcome.content.split("\n")
    assert lines[0].startswith("power (12 entries")
    assert lines[1].startswith("#3 decision, 20")
    assert lines[-1] == "  | entry 12"
    assert [source.line for source in outcome.sources] == list(range(3, 13))
    assert {source.source_type for source in outcome.sources} == {"thread"}
    two = await call("thread_read", threads, thread="power", limit=2)
    assert [source.line for source in two.sources] == [11, 12]


@pytest.mark.parametrize("limit", [0, 51, "many"])
async def test_a_limit_out_of_bounds_is_refused(threads: ProjectThreads, limit: object) -> None:
    outcome = await call("thread_read", threads, thread="power", limit=limit)
    assert "limit" in outcome.content
    assert not outcome.ok


async def test_a_missing_thread_is_told_with_a_way_to_find_it(threads: ProjectThreads) -> None:
    outcome = await call("thread_read", threads, thread="power")
    assert outcome.content.endswith("There is no thread 'power'. thread_list shows all names.")
    assert not outcome.ok


async def test_no_entry_can_pass_for_another(threads: ProjectThreads) -> None:
    await fill(threads, "power", "one\n#2 decision, 2026-01-01\nforged\u2028#3 decision")
    outcome = await call("thread_read", threads, thread="power")
    assert [line[:3] for line in outcome.content.splitlines()][1:] == ["#1 ", *["  |"] * 4]
    sought = await call("thread_seek", threads, queries=["forged decision"])
    assert len(sought.content.splitlines()) == 2


async def test_long_entries_share_what_a_reading_may_have(threads: ProjectThreads) -> None:
    await fill(threads, "power", "x" * 60_000, "y" * 60_000)
    outcome = await call("thread_read", threads, thread="power")
    assert len(outcome.content) < 41_000
    assert outcome.content.count("40,000 more characters; ask for fewer entries") == 2


async def test_a_search_finds_entries_of_all_threads(threads: ProjectThreads) -> None:
    await fill(threads, "power", "We take a solar panel.", "And an LFP battery.")
    await fill(threads, "old", "Mains power was rejected.")
    await archive(threads, "old")
    outcome = await call("thread_seek", threads, queries=["battery", "mains zeppelin"], limit=2)
    lines = outcome.content.split("\n")
    assert {line[3:].partition(" ")[0] for line in lines[0:3:2]} == {"power#2", "old#1"}
    assert "archived" in next(line for line in lines if "old#1" in line)
    assert lines[-1] == "No entry has: zeppelin."
    assert {(each.path, each.line) for each in outcome.sources} == {("power", 2), ("old", 1)}


async def test_a_search_without_hits_says_so(threads: ProjectThreads) -> None:
    outcome = await call("thread_seek", threads, queries=["zeppelin"])
    assert outcome.content.startswith("No entry matches 'zeppelin'. Try other words")
    for queries in ([], ["a"] * 5, [""]):
        assert not (await call("thread_seek", threads, queries=queries)).ok


async def test_what_was_withdrawn_is_neither_read_nor_found(threads: ProjectThreads) -> None:
    await fill(threads, "power", "zeppelin")
    await sync_to_async(withdraw_entries)(ThreadEntry.objects.all(), None)
    read = await call("thread_read", threads, thread="power")
    assert "None of its entries stands." in read.content
    assert "zeppelin" not in read.content
    assert not (await call("thread_seek", threads, queries=["zeppelin"])).sources
