"""Who is handed the events of the runs that this process drives, and who speaks of them."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from agents import ledger
from agents.core.chunks import SystemMessage
from agents.core.config import AgentConfig
from agents.core.control import observers
from agents.core.control.event_stream import list_events
from agents.core.control.events import AgentEvent
from agents.core.control.observers import ObservedRun
from agents.core.ports import ChatModel
from agents.core.registry import Registry
from agents.models import RuleState, StoredRule
from agents.runtime import RunRequest, Runtime
from tests.agents.models.factories import engine
from tests.agents.runtime.fake_factory import ScriptedRunFactory, asked, followed
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, fails, hangs

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def site_observers(monkeypatch: pytest.MonkeyPatch) -> Registry[observers.SiteObserver]:
    """The observers of packages: none yet."""
    registry: Registry[observers.SiteObserver] = Registry("observer")
    monkeypatch.setattr(observers, "OBSERVERS", registry)
    return registry


Told = list[tuple[str, int, object]]


def tell(events: Iterable[AgentEvent]) -> Told:
    return [(event.name, event.seq, dict(event.payload)) for event in events]


@sync_to_async
def stored_events(run_id: UUID) -> Told:
    return tell(list_events(ledger.load_chunks(run_id)))


@sync_to_async
def request_of(name: str) -> RunRequest:
    user = User.objects.create_user(name)
    return RunRequest(user=user, project=engine(user), question="Why?", config=AgentConfig())


class OwnModels(ScriptedRunFactory):
    """Each run has a model of its own, which calls a tool as its person is called."""

    def __init__(self) -> None:
        super().__init__(ScriptedModel([]))

    def model(self, request: RunRequest) -> ChatModel:
        return ScriptedModel([call(request.user.username), say("It is so.")])


def scripted() -> ScriptedRunFactory:
    return ScriptedRunFactory(ScriptedModel([call("look"), say("It is so.")]))


async def test_e2e_9_an_observer_asserts_the_events_of_a_run_in_order() -> None:
    """QUERY_START, TOOL_CALL_SUCCESS and SESSION_END are emitted, in this order."""
    seen: list[AgentEvent] = []
    request = await asked(observer=seen.append)
    async with Runtime(scripted()) as runtime:
        row = await runtime.start(request)
        await followed(runtime, row.pk)
    names = [event.name.upper().replace(".", "_") for event in seen]
    wanted = ["QUERY_START", "TOOL_CALL_SUCCESS", "SESSION_END"]
    assert [name for name in names if name in wanted] == wanted
    assert (names[0], names[-1]) == ("QUERY_START", "SESSION_END")
    assert tell(seen) == await stored_events(row.pk)


async def test_a_run_that_continues_another_says_so() -> None:
    seen: list[AgentEvent] = []
    request = await asked()
    async with Runtime(scripted()) as runtime:
        first = await runtime.start(request)
        await followed(runtime, first.pk)
    more = replace(request, continued_from=first.pk, observer=seen.append)
    async with Runtime(scripted()) as runtime:
        await followed(runtime, (await runtime.start(more)).pk)
    assert [event.name for event in seen[:2]] == ["query.start", "session.resumed"]
    assert seen[1].payload["continued"] is True


async def test_an_observer_is_told_of_the_end_that_a_stopping_server_gives_a_run() -> None:
    seen: list[AgentEvent] = []
    factory = ScriptedRunFactory(ScriptedModel([call("wait")]), FakeTools({"wait": hangs()}))
    request = await asked(observer=seen.append)
    async with Runtime(factory) as runtime:
        row = await runtime.start(request)
        async for chunk in runtime.follow(row.pk):
            if chunk.type == "tool_call":
                break
    assert seen[-1].name == "session.end"
    assert seen[-1].payload["reason"] == "interrupted"
    assert tell(seen) == await stored_events(row.pk)


async def test_an_observer_of_the_site_is_handed_each_event_with_its_run(
    site_observers: Registry[observers.SiteObserver],
) -> None:
    seen: dict[ObservedRun, list[AgentEvent]] = defaultdict(list)
    site_observers.register("mine", lambda event, run: seen[run].append(event))
    requests = [await request_of(name) for name in ("ada", "bob", "cleo")]
    async with Runtime(OwnModels()) as runtime:
        rows = await asyncio.gather(*map(runtime.start, requests))
        await asyncio.gather(*(followed(runtime, row.pk) for row in rows))
    assert len(seen) == 3
    for row, request in zip(rows, requests, strict=True):
        events = seen[ObservedRun(str(row.pk), str(request.user.pk), str(request.project.pk))]
        assert tell(events) == await stored_events(row.pk)
        tools = {event.payload["tool"] for event in events if "tool" in event.payload}
        assert tools == {request.user.username}


async def test_a_failing_observer_of_the_site_is_named_and_breaks_nothing(
    site_observers: Registry[observers.SiteObserver], caplog: pytest.LogCaptureFixture
) -> None:
    def spoil(event: AgentEvent, run: ObservedRun) -> None:
        raise RuntimeError("spoilt")

    site_observers.register("spoiler", spoil)
    seen: list[AgentEvent] = []
    request = await asked(observer=seen.append)
    async with Runtime(scripted()) as runtime:
        row = await runtime.start(request)
        chunks = await followed(runtime, row.pk)
    assert chunks[-1].type == "done"
    assert tell(seen) == await stored_events(row.pk)
    assert f"observer spoiler failed at query.start of run {row.pk}" in caplog.text


async def test_what_comes_with_oracle_speaks_in_every_run() -> None:
    """The run ends before the window of the failed call does: people are told at its end."""
    model = ScriptedModel([call("look"), say("It is so.")])
    factory = ScriptedRunFactory(model, FakeTools({"look": fails("It broke.")}))
    async with Runtime(factory) as runtime:
        row = await runtime.start(await asked())
        chunks = await followed(runtime, row.pk)
    (notice,) = [chunk for chunk in chunks if isinstance(chunk, SystemMessage)]
    assert notice.system_message == "`look` failed: `It broke.`"
    assert notice.metadata["subscriber"] == "tool-failures"


COUNTING_RULE = """[rule]
id = "counting"
name = "Counting"
trigger = "on_tool_complete"
[[action]]
type = "set_state"
key = "looks"
expression = "(state.looks or 0) + 1"
[[action]]
type = "set_state"
key = "last"
expression = "result.tool_name"
"""
STOPPING_RULE = """[rule]
id = "stopping"
name = "No tools"
trigger = "on_query_start"
[[action]]
type = "stop"
message = "Answer from what you know"
"""


async def test_what_rules_remember_is_stored_with_the_end_of_the_run() -> None:
    request = await asked()
    await StoredRule.objects.acreate(
        name="counting", text=COUNTING_RULE, level="own", user=request.user
    )
    for looks in (1, 2):
        async with Runtime(scripted()) as runtime:  # another process, as it were
            row = await runtime.start(request)
            await followed(runtime, row.pk)
        found = RuleState.objects.filter(user=request.user, project=request.project)
        values = [each async for each in found.values_list("rule", "key", "value")]
        assert sorted(values) == [
            ("own:counting", "last", "look"),
            ("own:counting", "looks", looks),
        ]


async def test_a_rule_of_somebody_else_never_takes_part() -> None:
    request, other = await asked(), await request_of("eve")
    await StoredRule.objects.acreate(
        name="stopping", text=STOPPING_RULE, level="own", user=other.user
    )
    for each, reason in ((request, "completed"), (other, "rule_stopped")):
        async with Runtime(scripted()) as runtime:
            row = await runtime.start(each)
            await followed(runtime, row.pk)
        await row.arefresh_from_db()
        assert row.reason == reason
    assert "The rule `No tools` stopped the run: Answer from what you know." in row.explanation
    assert row.wrapped_up


async def test_a_run_records_which_rules_and_subscribers_it_had() -> None:
    digests = []
    request = await asked()
    for mode in ("off", "on", "off"):
        await StoredRule.objects.aupdate_or_create(
            name="counting",
            level="own",
            user=request.user,
            defaults={"text": COUNTING_RULE, "mode": mode},
        )
        async with Runtime(scripted()) as runtime:
            row = await runtime.start(request)
            chunks = await followed(runtime, row.pk)
        digests.append(list_events(chunks)[0].payload["control"])
    assert all(digests)
    assert digests[0] == digests[2] != digests[1]
