"""Reminders from one run to a later one: told once, whoever starts or dies in between."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connection
from django.utils import timezone

from agents.core.chunks import (
    CallView,
    EventRecord,
    Hint,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    ToolResult,
)
from agents.core.config import AgentConfig
from agents.core.control.events import AgentEvent, describe_event
from agents.core.notify.reminders import ReminderLog
from agents.core.notify.shipped import SHIPPED
from agents.core.notify.words import ToldEvent, build_notification
from agents.ledger import queries
from agents.models import AgentRun, NotificationSettings, Project, Reminder
from agents.runtime import RunRequest, Runtime, load_control, switch_subscriber
from agents.runtime.control import MAX_REMINDERS
from agents.runtime.recovery import Sweeper
from agents.runtime.reminders import (
    GONE_AFTER,
    MAX_TOLD_CHARS,
    MAX_WAITING,
    claim_reminders,
    settle_reminders,
)
from tests.agents.models.factories import ada, dead_process, engine, run_of
from tests.agents.runtime.fake_factory import ScriptedRunFactory, followed
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns

pytestmark = pytest.mark.django_db(transaction=True)
NOTE = call("notify_self", message="Check the valves.", when="after_turns:9", keep=True)
TOOLS = FakeTools({"notify_self": returns("Noted."), "look": returns("found")})


@pytest.fixture
def user() -> User:
    user = ada()
    NotificationSettings.objects.create(user=user, keeps_reminders=True)
    return user


@pytest.fixture
def project(user: User) -> Project:
    return engine(user)


def remind(user: User, project: Project | None, **values: Any) -> Reminder:
    usual = {"text": "Check it.", "expires_at": timezone.now() + timedelta(hours=1)}
    return Reminder.objects.create(user=user, project=project, **{**usual, **values})


def start(user: User, project: Project) -> tuple[AgentRun, list[int]]:
    """A run that has begun, and which reminders it is told."""
    row = run_of(user, project, config=AgentConfig().model_dump())
    return row, [one.id for one in claim_reminders(load_control(user, project), row).reminders]


def note_chunks(seq: int = 1, **arguments: Any) -> list[OracleStreamChunk]:
    given = {"message": "Check it.", "keep": True, **arguments}
    view = CallView("c1", "notify_self", given, "pending")
    result = ToolResult(
        seq=seq + 1, tool_call_id="c1", tool_result="Noted.", ok=True, duration_ms=1, order=0
    )
    return [ToolCalled(seq=seq, tool_call=view), result]


def remind_chunks(reminder: int, *, hint: bool) -> list[OracleStreamChunk]:
    about = {"reminder": reminder, "message": "m", "category": "", "priority": "normal"}
    told: list[OracleStreamChunk] = [Hint(seq=2, text="m", events=(1,))] if hint else []
    return [EventRecord(seq=1, **describe_event("agent.self.remind", about)), *told]


def read_log(chunks: list[OracleStreamChunk]) -> ReminderLog:
    log = ReminderLog()
    for chunk in chunks:
        log.add(chunk)
    return log


# -- through real runs ----------------------------------------------------------------------------


async def test_what_a_run_keeps_reaches_the_next_one_once(user: User, project: Project) -> None:
    model = ScriptedModel([NOTE, say("So."), say("So."), say("So.")])
    told = []
    async with Runtime(ScriptedRunFactory(model, TOOLS)) as runtime:
        for _ in range(3):
            request = RunRequest(user=user, project=project, question="?", config=AgentConfig())
            row = await runtime.start(request)
            chunks = await followed(runtime, row.pk)
            told.append(
                [
                    chunk.system_message
                    for chunk in chunks
                    if isinstance(chunk, SystemMessage) and chunk.system_type == "notification"
                ]
            )
    assert told == [
        ["Kept for a later run: `Check the valves.`"],
        ["Reminder from an earlier run: `Check the valves.`"],
        [],
    ]
    reminder = await Reminder.objects.aget()
    assert reminder.used_at is not None
    assert reminder.used_by_id != reminder.source_run_id


async def test_nothing_is_kept_where_it_was_not_switched_on(user: User, project: Project) -> None:
    await NotificationSettings.objects.filter(user=user).aupdate(keeps_reminders=False)
    model = ScriptedModel([NOTE, say("So.")])
    async with Runtime(ScriptedRunFactory(model, TOOLS)) as runtime:
        request = RunRequest(user=user, project=project, question="?", config=AgentConfig())
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    assert not await Reminder.objects.aexists()


async def test_what_a_rule_keeps_reaches_the_next_run_of_its_conversation(
    user: User, project: Project
) -> None:
    here, config = uuid4(), AgentConfig(max_iterations=2)
    model = ScriptedModel([call("look"), say("So far."), say("Else."), say("Now.")])
    hints = []
    async with Runtime(ScriptedRunFactory(model, TOOLS)) as runtime:
        for key in (here, uuid4(), here):
            request = RunRequest(
                user=user, project=project, question="?", config=config, conversation_key=key
            )
            row = await runtime.start(request)
            chunks = await followed(runtime, row.pk)
            told = "".join(chunk.text for chunk in chunks if isinstance(chunk, Hint))
            hints.append("Kept in an earlier run" in told)
    assert hints == [False, False, True]
    reminder = await Reminder.objects.aget()
    assert reminder.conversation_key == here
    assert reminder.text.startswith("The run before this one was ended by a limit")


async def test_where_notes_are_switched_off_the_model_cannot_write_any(
    user: User, project: Project
) -> None:
    await sync_to_async(switch_subscriber)(user, "self-notes", is_on=False)
    model = ScriptedModel([NOTE, say("So.")])
    async with Runtime(ScriptedRunFactory(model, TOOLS)) as runtime:
        request = RunRequest(user=user, project=project, question="?", config=AgentConfig())
        row = await runtime.start(request)
        chunks = await followed(runtime, row.pk)
    (result,) = [chunk for chunk in chunks if isinstance(chunk, ToolResult)]
    assert result.cause == "refused"


# -- to whom --------------------------------------------------------------------------------------


def test_a_reminder_is_for_its_person_project_and_conversation(
    user: User, project: Project
) -> None:
    eve, other = User.objects.create_user("eve"), Project.objects.create(name="x", slug="x")
    NotificationSettings.objects.create(user=eve, keeps_reminders=True)
    own, anywhere = remind(user, project), remind(user, None)
    remind(user, other)
    remind(eve, project)
    remind(user, project, conversation_key=uuid4())
    remind(user, project, expires_at=timezone.now())
    remind(user, project, used_at=timezone.now())
    assert start(user, project)[1] == [own.pk, anywhere.pk]


def test_no_more_are_taken_than_one_hint_can_hold(user: User, project: Project) -> None:
    ids = [remind(user, project, text="x" * 300).pk for _ in range(3)]
    assert [start(user, project)[1] for _ in range(4)] == [ids[:1], ids[1:2], ids[2:], []]


# -- exactly once ---------------------------------------------------------------------------------


def test_of_runs_that_start_at_once_one_is_told(user: User, project: Project) -> None:
    reminder = remind(user, project)
    rows = [run_of(user, project, config={}) for _ in range(6)]
    loaded = load_control(user, project)

    def claim(row: AgentRun) -> int:
        try:
            return len(claim_reminders(loaded, row).reminders)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as threads:
        assert sum(threads.map(claim, rows)) == 1
    reminder.refresh_from_db()
    assert reminder.used_by in rows


@pytest.mark.parametrize("hint", [True, False])
def test_it_is_used_when_the_model_was_told_and_else_given_back(
    user: User, project: Project, hint: bool
) -> None:
    reminder = remind(user, project)
    row, ids = start(user, project)
    assert ids == [reminder.pk]
    for _ in range(2):
        settle_reminders(row, read_log(remind_chunks(reminder.pk, hint=hint)))
    assert start(user, project)[1] == ([] if hint else [reminder.pk])


def test_a_run_settles_nothing_of_anothers(user: User, project: Project) -> None:
    reminder = remind(user, project)
    row, _ = start(user, project)
    other = run_of(user, project, config={})
    settle_reminders(other, read_log(remind_chunks(reminder.pk, hint=True)))
    reminder.refresh_from_db()
    assert (reminder.used_by, reminder.used_at) == (row, None)


def store(row: AgentRun, chunks: list[OracleStreamChunk]) -> None:
    """Store chunks of a run whose process is gone."""
    claim = queries.Claim(row.pk, row.fence)
    numbered = [replace(chunk, at=1e9) for chunk in chunks]
    queries.write([queries.Commit(claim, numbered)])
    AgentRun.objects.filter(pk=row.pk).update(owner=dead_process())


@pytest.mark.parametrize("hint", [True, False])
def test_the_process_may_die_before_the_model_is_told_or_after(
    user: User, project: Project, hint: bool
) -> None:
    reminder = remind(user, project)
    row, _ = start(user, project)
    store(row, remind_chunks(reminder.pk, hint=hint))
    assert Sweeper("own", lambda run_id: False).sweep() == 1
    assert start(user, project)[1] == ([] if hint else [reminder.pk])


def test_what_was_to_be_kept_is_kept_once_when_the_process_dies(
    user: User, project: Project
) -> None:
    row = run_of(user, project, config=AgentConfig().model_dump())
    store(row, note_chunks(category="valves", priority="high"))
    assert Sweeper("own", lambda run_id: False).sweep() == 1
    settle_reminders(row, read_log(note_chunks()))
    reminder = Reminder.objects.get()
    assert (reminder.text, reminder.category, reminder.priority) == ("Check it.", "valves", "high")
    assert (reminder.source_run, reminder.source_seq) == (row, 2)
    assert timedelta(hours=23) < reminder.expires_at - timezone.now() <= timedelta(hours=24)


def test_of_more_than_may_wait_the_oldest_give_way(user: User, project: Project) -> None:
    waiting = [remind(user, project) for _ in range(MAX_WAITING)]
    log = read_log(note_chunks(message="The newest."))
    settle_reminders(run_of(user, project, config={}), log)
    assert Reminder.objects.count() == MAX_WAITING
    assert Reminder.objects.filter(text="The newest.").exists()
    assert not Reminder.objects.filter(pk=waiting[0].pk).exists()


def test_words_that_no_column_takes_are_made_to_fit(user: User, project: Project) -> None:
    words = note_chunks(message="\x00" + "x" * 999, category="c" * 99, priority="urgent")
    settle_reminders(run_of(user, project, config={}), read_log(words))
    reminder = Reminder.objects.get()
    assert (len(reminder.text), len(reminder.category), reminder.priority) == (300, 40, "normal")
    assert "\x00" not in reminder.text


async def test_a_deleted_person_has_no_reminders(user: User, project: Project) -> None:
    await sync_to_async(remind)(user, project)
    await user.adelete()
    assert not await Reminder.objects.aexists()


def test_one_hint_has_room_for_all_that_a_run_takes(user: User, project: Project) -> None:
    text = "x" * (MAX_TOLD_CHARS // MAX_REMINDERS)
    for _ in range(MAX_REMINDERS):
        remind(user, project, text=text)
    _, taken = start(user, project)
    about = {"message": text, "category": "", "priority": "normal"}
    events = [AgentEvent("agent.self.remind", n, 0.0, {"reminder": n, **about}) for n in taken]
    (subscriber,) = (one for one in SHIPPED if one.id == "reminders")
    said = build_notification(subscriber, [ToldEvent(event) for event in events])
    assert said.events == tuple(taken)
    assert len(taken) == MAX_REMINDERS


def test_what_has_long_expired_goes_when_another_is_kept(user: User, project: Project) -> None:
    long_ago = timezone.now() - GONE_AFTER - timedelta(days=1)
    remind(user, project, text="Old.", expires_at=long_ago)
    remind(user, project, text="Used.", expires_at=long_ago, used_at=long_ago)
    remind(user, project, text="Lately.", expires_at=timezone.now() - timedelta(days=1))
    row, _ = start(user, project)
    settle_reminders(row, read_log(note_chunks()))
    assert {one.text for one in Reminder.objects.all()} == {"Lately.", "Check it."}
