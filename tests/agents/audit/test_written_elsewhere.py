"""Erasure of what runs wrote into threads, reminders and the memory of rules, played
through the real loop with the real tools."""

from uuid import UUID

import pytest
from asgiref.sync import sync_to_async

from agents.audit.erasure import erase
from agents.core.ports import ChatModel, ToolRunner
from agents.models import AgentRun, NotificationSettings, Reminder, RuleState, ThreadEntry
from agents.rule_service import create_rule
from agents.runtime import RunRequest, Runtime
from agents.runtime.factory import build_world
from agents.search.search import search
from agents.tools.catalogue import TOOLS
from agents.tools.executor import ToolExecutor
from agents.vault.author import Author
from agents.vault.threads import withdraw_entries
from chat.services.run_changes import undo_changes
from tests.agents.runtime.fake_factory import ScriptedRunFactory
from tests.chat.services.test_ask_runs import Chat
from tests.support.script import call, say

pytestmark = pytest.mark.django_db(transaction=True)
TOOL_NAMES = ("thread_push", "notify_self")
RULE = """[rule]
id = "remembers"
trigger = "on_tool_call"
[[action]]
type = "set_state"
key = "{key}"
expression = "{expression}"
"""


class WritingFactory(ScriptedRunFactory):
    """A scripted model with the tools that write into threads and reminders."""

    def tools(self, request: RunRequest, model: ChatModel, run_id: UUID) -> ToolRunner:
        world = build_world(request.project.pk, Author.run(run_id, request.user.pk))
        return ToolExecutor([TOOLS.get(name) for name in TOOL_NAMES], world)


class Writer(Chat):
    """Somebody whose first run writes to a thread and keeps a note, of which the next is told."""

    def __init__(self) -> None:
        super().__init__(
            call("thread_push", thread="pumps", content="Pump qzseven leaks."),
            call("notify_self", message="Ask for qzseven.", when="after_turns:9", keep=True),
            call("notify_self", qzmade=7),
            say("Written."),
            say("Told."),
        )
        self.runtime = Runtime(WritingFactory(self.model))

    async def live(self, expression: str) -> AgentRun:
        await sync_to_async(self._prepare)(expression)
        first = await self.first("What of the pumps?")
        assert (first.outcome, await ThreadEntry.objects.acount()) == ("completed", 1)
        assert await RuleState.objects.aexists()
        return first

    def _prepare(self, expression: str) -> None:
        create_rule(self.user, RULE.format(key="seen", expression=expression))
        NotificationSettings.objects.update_or_create(
            user=self.user, defaults={"keeps_reminders": True}
        )


@pytest.mark.parametrize(
    "expression",
    [
        "event.payload.arguments",
        "len(event.payload.arguments)",
    ],
)
async def test_a_rule_remembers_no_word_of_an_erased_run(expression: str) -> None:
    async with Writer() as writer:
        run = await writer.live(expression)
        await sync_to_async(erase)([run.pk], why="a test")
        kept = [str(row.value) async for row in RuleState.objects.all()]
    assert "qz" not in "".join(kept)
    assert all(value.isdigit() for value in kept)


async def test_a_reminder_goes_with_the_run_that_kept_it_also_when_it_was_used() -> None:
    async with Writer() as writer:
        run = await writer.live("1")
        second = await writer.first("And now?")
        reminder = await Reminder.objects.aget()
        assert reminder.used_by_id == second.pk
        await sync_to_async(erase)([run.pk], why="a test")
        assert not await Reminder.objects.aexists()


async def test_an_entry_stays_when_its_run_is_erased_until_it_is_withdrawn() -> None:
    async with Writer() as writer:
        run = await writer.live("1")
        await sync_to_async(erase)([run.pk], why="a test")
        assert (await ThreadEntry.objects.aget()).text == "Pump qzseven leaks."
        found = await sync_to_async(search)(writer.project.pk, ["qzseven"], limit=5)
        assert len(found.hits) == 1
        assert await sync_to_async(undo_changes)(writer.user, run) == "1 change undone."
    entry = await ThreadEntry.objects.aget()
    assert (entry.text, entry.withdrawn_at is None) == ("", False)


@pytest.mark.parametrize("is_person_deleted", [False, True])
async def test_a_withdrawn_entry_is_erased_with_its_run_and_with_its_author(
    is_person_deleted: bool,
) -> None:
    async with Writer() as writer:
        run = await writer.live("1")
        await sync_to_async(undo_changes)(writer.user, run)
        assert "qzseven" in (await ThreadEntry.objects.aget()).text
        if is_person_deleted:
            await sync_to_async(writer.user.delete)()
        else:
            await sync_to_async(erase)([run.pk], why="a test")
    assert (await ThreadEntry.objects.aget()).text == ""


async def test_an_entry_that_is_withdrawn_after_its_author_was_deleted_is_erased() -> None:
    async with Writer() as writer:
        await writer.live("1")
        await sync_to_async(writer.user.delete)()
        assert "qzseven" in (await ThreadEntry.objects.aget()).text
        await sync_to_async(withdraw_entries)(ThreadEntry.objects.all(), None)
    assert (await ThreadEntry.objects.aget()).text == ""
