"""Events: chunks seen by their names, the same while a run goes on and from what was stored."""

import asyncio
import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import count

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    CallView,
    Decision,
    EventRecord,
    OracleStreamChunk,
    SystemMessage,
    ToolCalled,
    ToolResult,
    from_dict,
    to_dict,
)
from agents.core.control.event_stream import list_events
from agents.core.control.events import (
    EVENT_TYPES,
    AgentEvent,
    EventType,
    describe_event,
    describe_own_event,
)
from agents.core.control.kinds import fits, kind_of
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import Control, HeldCall, KeptReminder, Resume
from agents.core.messages import (
    Finished,
    Message,
    ModelError,
    Retrying,
    TextDelta,
    ToolCall,
    ToolOutcome,
)
from agents.core.ports import ToolContext
from agents.core.rules.reader import read_rule
from agents.core.state import AgentState
from agents.tools.definition import define
from agents.tools.executor import ToolExecutor
from tests.agents.core.factories import Counting, limits, looking, play, working_until_told
from tests.agents.core.notify.factories import subscribe
from tests.support import scenarios
from tests.support.script import Call, call, calls, say
from tests.support.scripted_model import Item, ScriptedModel
from tests.support.seeds import in_slices
from tests.support.tools import FakeTools, fails, hangs, returns, with_context
from tests.support.virtual import run_virtual, virtual_time

EARLIER: list[Message] = [
    {"role": "user", "content": "Who?"},
    {"role": "assistant", "content": "Ada."},
]
SEEDS = 150
LONG_SEEDS = 10_000


def store(chunks: Sequence[OracleStreamChunk]) -> list[OracleStreamChunk]:
    """The chunks as they come back from where they are stored."""
    read = [from_dict(json.loads(json.dumps(to_dict(chunk)))) for chunk in chunks]
    return [chunk for chunk in read if chunk is not None]


def tell(events: Sequence[AgentEvent]) -> list[tuple[str, int, object]]:
    return [(event.name, event.seq, dict(event.payload)) for event in events]


def play_scenario(seed: int) -> tuple[list[OracleStreamChunk], list[AgentEvent]]:
    chunks: list[OracleStreamChunk] = []
    seen: list[AgentEvent] = []
    run_virtual(scenarios.play(seed, chunks, seen.append), thread_grace=0.002)
    return chunks, seen


def assert_alike(seeds: Sequence[int]) -> None:
    for seed in seeds:
        chunks, seen = play_scenario(seed)
        assert tell(seen) == tell(list_events(chunks)) == tell(list_events(store(chunks))), seed
        assert [event.name for event in seen].count("query.start") == 1, seed
        assert seen[-1].name == "session.end", seed


def test_live_and_stored_runs_have_the_same_events() -> None:
    assert_alike(range(SEEDS))


@pytest.mark.long
@in_slices(LONG_SEEDS)
def test_ten_thousand_live_and_stored_runs_have_the_same_events(seeds: range) -> None:
    assert_alike(seeds)


def test_the_events_of_a_subagent_are_not_those_of_the_run() -> None:
    view = CallView("a", "look", {}, "pending")
    assert list_events([ToolCalled(tool_call=view, parent="call-1")]) == []


def test_a_result_from_before_causes_were_recorded_is_a_failure() -> None:
    view = CallView("a", "look", {}, "running")
    result = ToolResult(tool_call_id="a", tool_result="No.", ok=False, duration_ms=1, order=0)
    (event,) = list_events([ToolCalled(tool_call=view), result])
    assert (event.name, event.payload["error"]) == ("tool.call.failure", "No.")


def test_a_limit_that_a_tree_stopped_short_of_was_not_exceeded() -> None:
    notice = SystemMessage(
        system_type="limit_reached",
        system_message="The decision tree mine stopped the run.",
        severity="error",
        metadata={"limit_type": "iterations", "tree": "mine"},
    )
    assert list_events([notice]) == []


def test_a_run_from_before_its_start_was_recorded_has_one_all_the_same() -> None:
    decision = Decision(checkpoint="start", goes_on=True, reason="", tree="mine", checks=())
    later = replace(decision, checkpoint="turn", seq=2)
    (event,) = list_events([decision, later])
    assert (event.name, event.payload) == ("query.start", {"tree": "mine", "control": ""})


def test_an_event_whose_texts_were_erased_keeps_the_rest() -> None:
    fields = describe_event("agent.turn.repeated", {"count": 2, "digest": "9f", "action": "look"})
    assert fields["texts"] == {"action": "look"}
    (event,) = list_events([EventRecord(**{**fields, "texts": {}})])
    assert event.payload == {"count": 2, "digest": "9f", "action": ""}


def test_an_event_of_another_name_is_as_grave_as_it_was_recorded() -> None:
    own = EventType("critical", "rule", {})
    fields = describe_own_event("x.spilt", {"where": "a\x00b", "wh\x00o": 1}, own)
    (event,) = list_events([EventRecord(**fields)])
    assert (event.name, event.severity, event.source) == ("x.spilt", "critical", "rule")
    assert event.payload == {"where": "a\ufffdb", "wh\ufffdo": 1}


def test_the_name_of_an_event_that_a_rule_emits_is_erased_with_what_it_tells() -> None:
    fields = describe_own_event("x.spilt", {"where": "here"}, EventType("info", "rule", {}))
    assert (fields["name"], fields["payload"]) == ("x.*", {})
    (event,) = list_events([EventRecord(**{**fields, "texts": {}})])
    assert (event.name, event.payload) == ("x.*", {})


def test_an_event_of_a_rule_is_read_as_it_was_recorded_before_its_name_could_be_erased() -> None:
    earlier = EventRecord(
        name="x.spilt", severity="info", source="rule", payload={}, texts={"event": "spilt"}
    )
    (event,) = list_events([earlier])
    assert (event.name, event.payload) == ("x.spilt", {"event": "spilt"})


def test_the_key_of_an_own_rule_is_somebodys_word_and_that_of_others_is_not() -> None:
    about = {"event": "turn.end", "at_seq": 1, "turn": 1, "mode": "on"}
    for key, is_own in (("own:mine", True), ("project:ours", False), ("shipped:slow-tool", False)):
        fields = describe_event("rule.fired", {"rule": key, **about})
        assert ("rule" in fields["texts"]) is is_own
        assert EventRecord(**fields).told["rule"] == key
    heard = describe_event("rule.fired", {"rule": "site:one", **about, "event": "x.spilt"})
    assert heard["texts"] == {"event": "x.spilt"}


@virtual_time
async def test_a_run_begins_before_anything_else_is_done() -> None:
    chunks = await play(ScriptedModel([say("So.")]), looking(), history=EARLIER)
    assert [event.name for event in list_events(chunks[:2])] == ["query.start", "session.resumed"]
    assert [chunk.type for chunk in chunks[:4]] == ["event", "event", "context_update", "decision"]


@virtual_time
async def test_a_run_without_a_request_has_begun_too() -> None:
    cancellation = Cancellation()
    cancellation.request()
    chunks = await play(ScriptedModel([]), looking(), cancellation=cancellation)
    assert [event.name for event in list_events(chunks)] == ["query.start", "session.end"]


@pytest.mark.parametrize(
    ("history", "is_continued", "told"),
    [
        ((), False, []),
        ((), True, [{"messages": 0, "continued": True}]),
        (EARLIER, False, [{"messages": 2, "continued": False}]),
    ],
)
def test_a_session_is_resumed_where_there_is_something_to_go_on_from(
    history: Sequence[Message], is_continued: bool, told: list[object]
) -> None:
    async def ask() -> list[OracleStreamChunk]:
        model = ScriptedModel([say("So.")])
        return await play(model, looking(), history=history, is_continued=is_continued)

    events = list_events(run_virtual(ask()))
    assert [event.payload for event in events if event.name == "session.resumed"] == told


@virtual_time
async def test_what_is_repeated_is_recorded_once_for_each_action() -> None:
    script = [call("look"), call("look"), call("peek"), call("peek"), say("So.")]
    tools = FakeTools({"look": returns("page"), "peek": returns("page")})
    events = list_events(await play(ScriptedModel(script), tools))
    repeated = [event.payload for event in events if event.name == "agent.turn.repeated"]
    assert [(about["count"], about["action"]) for about in repeated] == [
        (2, "look:{}"),
        (2, "peek:{}"),
    ]


# -- every event through the real loop ------------------------------------------------------------


class StopsEarly(DefaultDecisionTree):
    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return (False, "max_iterations") if state.turn >= 2 else super().should_continue(state)


@virtual_time
async def test_a_tree_that_stops_early_exceeds_no_budget() -> None:
    config = limits(max_iterations=10)
    model = ScriptedModel([], then=working_until_told)
    chunks = await play(model, looking(), tree=StopsEarly(config), config=config)
    assert "budget.iteration.exceeded" not in {event.name for event in list_events(chunks)}


async def too_slow() -> str:
    """Wait."""
    await asyncio.sleep(60)
    return "late"


async def play_limits() -> list[OracleStreamChunk]:
    """Runs that meet their limits: iterations, tokens, window, time, errors, repetition."""
    endless = ScriptedModel([], then=working_until_told)
    chunks = await play(endless, looking(), config=limits(max_iterations=5), history=EARLIER)
    broke = ScriptedModel([], then=working_until_told)
    numbers = count()
    pages = FakeTools({"look": lambda: f"page {next(numbers)} " * 400})
    chunks += await play(broke, pages, config=limits(token_budget=4_000, max_iterations=30))
    cramped = ScriptedModel([], then=working_until_told, window=6_000)
    chunks += await play(cramped, pages, config=limits(max_iterations=30))
    late = ScriptedModel([], then=lambda request: call("wait"))
    chunks += await play(late, FakeTools({"wait": hangs()}), config=limits(timeout_seconds=20))
    failing = ScriptedModel([call("look", page=n) for n in range(3)], then=say("No."))
    chunks += await play(failing, FakeTools({"look": fails()}))
    again = ScriptedModel([], then=working_until_told)
    return chunks + await play(again, FakeTools({"look": returns("same")}))


async def read_anew(made: ToolCall, context: ToolContext) -> ToolOutcome:
    """Find a note in another state each time."""
    return ToolOutcome(ok=True, content="x", versions=((made.arguments["path"], made.id),))


async def play_calls() -> list[OracleStreamChunk]:
    """Runs whose calls are refused, too slow, or a subagent's; and an endpoint that fails."""
    greedy = ScriptedModel(
        [calls(Call("look", {"page": 1}), Call("look", {"page": 2})), say("So.")]
    )
    tools = FakeTools({"look": Counting()})
    chunks = await play(greedy, tools, config=limits(max_tool_calls_per_turn=1))
    slow = ToolExecutor([define(too_slow, timeout=1)])
    chunks += await play(ScriptedModel([call("too_slow"), say("So.")]), slow)
    for librarian in (returns("A report."), fails()):
        model = ScriptedModel([call("delegate_librarian", task="x"), say("So.")])
        chunks += await play(model, FakeTools({"delegate_librarian": librarian}))
    changing = ScriptedModel([call("read", path="a.md"), call("read", path="A.md"), say("So.")])
    chunks += await play(changing, FakeTools({"read": with_context(read_anew)}))
    retried: list[Item] = [Retrying(2, 1.5, "Busy."), TextDelta("So."), Finished((), "stop")]
    chunks += await play(ScriptedModel([retried]), looking())
    return chunks + await play(ScriptedModel([[ModelError("It is gone.")]]), looking())


RULE = """[rule]
id = "{name}"
trigger = "on_turn_end"
[condition]
expression = "{condition}"
[[action]]
type = "notify"
message = "so"
"""


async def play_rules() -> list[OracleStreamChunk]:
    """A run with a rule that fires, one that cannot be answered, and one that does not fire."""
    conditions = {"fires": "true", "fails": "1 / (turn.number * 0) > 1", "waits": "turn.number > 9"}
    rules = [read_rule(RULE.format(name=name, condition=c)) for name, c in conditions.items()]
    model, control = ScriptedModel([say("So.")]), Control(rules=tuple(rules))
    return await play(model, FakeTools({}), control=control)


async def play_notes() -> list[OracleStreamChunk]:
    """A run with a reminder, a note to itself, and more to say than there is room for."""
    model = ScriptedModel([call("notify_self", message="Check it."), say("So.")])
    long = [subscribe(types='["turn.*"]', message="x" * 290, id=f"long-{n}") for n in range(5)]
    control = Control(subscribers=tuple(long), reminders=(KeptReminder(7, "Check it."),))
    return await play(model, FakeTools({"notify_self": returns("Noted.")}), control=control)


async def play_approvals() -> list[OracleStreamChunk]:
    """A run that asks, and one that goes on from it."""
    tools = FakeTools({"write": returns("Written.", writes=True)})
    asking = await play(
        ScriptedModel([call("write")]), tools, control=Control(asks={"write": "once"})
    )
    held = HeldCall(id="c1", name="write", arguments={}, decision="approved")
    resume = Resume(decision="approved", calls=(held,))
    model = ScriptedModel([say("So.")])
    return asking + await play(model, tools, control=Control(resume=resume))


@virtual_time
async def test_every_event_happens_in_a_run_with_what_it_is_said_to_tell() -> None:
    chunks = [*await play_limits(), *await play_calls(), *await play_notes(), *await play_rules()]
    chunks += await play_approvals()
    events = list_events(chunks)
    assert {event.name for event in events} == set(EVENT_TYPES)
    for event in events:
        fields = EVENT_TYPES[event.name].fields
        assert set(event.payload) == set(fields), event
        for name, value in event.payload.items():
            assert value is not None
            assert fits(kind_of(value), fields[name].kind), (event, name)


def test_every_example_is_of_the_kind_of_its_field() -> None:
    for about in EVENT_TYPES.values():
        for field in about.fields.values():
            assert fits(kind_of(field.example), field.kind)
