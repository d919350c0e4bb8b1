"""Requests that fail for good under a behaviour: by the real client, from a scripted endpoint."""

import random
from collections.abc import Sequence

import httpx
import pytest

from agents.core.behaviours import read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts
from agents.core.chunks import Decision, Error, OracleStreamChunk, Turn
from agents.core.control.event_stream import list_events
from agents.core.loop import Control
from agents.core.loop.engine import MAX_FAILED_REQUESTS
from agents.core.replay.engine import replay
from agents.core.run_record import RunRecord
from agents.llm import OpenAIChatModel
from tests.agents.core.factories import done, limits, notices, own, play, reason
from tests.agents.core.recorded_runs import recording_of
from tests.support.script import Fault, Reply, Script, Step, call, say
from tests.support.tools import FakeTools, returns
from tests.support.transport import ScriptedTransport
from tests.support.virtual import VirtualClock, virtual_time

TWO_BRANCHES = '(selector (turn) (turn :say "again"))'
FAILED: dict[str, tuple[Sequence[Step], str]] = {
    "bad request": ([Fault("status_400")], "provider_error"),
    "three overloaded": ([Fault("status_503")] * 3, "provider_error"),
    "broken stream": ([say("Half of", fault=Fault("half_close", after=2))], "provider_error"),
    "filter": ([say("", finish="content_filter")], "content_filter"),
    "truncation": ([say("Half of", finish="length")], "output_truncated"),
}
"""Ways to fail for good: what the endpoint answers, and the reason if nothing else is tried."""
PERMANENT = ("status_400", "status_401", "status_402", "status_404")


class Played:
    """A run of a behaviour, and the requests that arrived."""

    def __init__(self, chunks: list[OracleStreamChunk], bodies: list[dict[str, object]]) -> None:
        self.chunks, self.bodies = chunks, bodies
        self.record = RunRecord()
        for chunk in chunks:
            self.record.add(chunk)

    @property
    def reason(self) -> str:
        return reason(self.chunks)


async def drive(node: str, *steps: Step, then: Step | None = None, turns: int = 15) -> Played:
    behaviour = read_behaviour(
        f'(tree "mine" :blackboard-schema {{:draft "" :n [1 2 3]}} {node})'
        if not node.startswith("(tree")
        else node
    )
    script = Script(steps, then=then, unused_ok=True)
    transport = ScriptedTransport({"main": script})
    async with transport, httpx.AsyncClient(transport=transport) as http:
        clock, rng = VirtualClock(), random.Random(1)
        model = OpenAIChatModel(http, transport.base_url, "main", clock=clock, rng=rng)
        config = limits(max_iterations=turns, timeout_seconds=600)
        tools = FakeTools({"look": returns("found")})
        chunks = await play(model, tools, config=config, control=Control(behaviour=behaviour))
    again = replay(recording_of(chunks, config, "default"))
    assert (again.kind, again.why_unknown) == ("same", "")
    return Played(chunks, [one.body for one in transport.requests if one.body])


@virtual_time
@pytest.mark.parametrize("failed", FAILED)
async def test_a_failed_request_fails_its_node_and_another_branch_is_tried(failed: str) -> None:
    steps, _ = FAILED[failed]
    played = await drive(TWO_BRANCHES, *steps, say("So."))
    assert played.reason == "completed"
    assert played.record.answer.endswith("So.")
    assert len(played.bodies) == len(steps) + 1
    assert "again" in str(played.bodies[-1]["messages"])
    (told,) = [one for one in notices(played.chunks, "provider") if "attempt" not in one.metadata]
    assert told.system_message.endswith("The model is asked again.")
    names = [event.name for event in list_events(played.chunks)]
    assert names.count("provider.failed") == 1
    assert [one.path.split()[0] for one in own(played.chunks, Decision)[1:]] == ["2-", "3+"]


@virtual_time
@pytest.mark.parametrize("failed", FAILED)
async def test_where_no_branch_is_left_the_run_ends_with_the_failure(failed: str) -> None:
    steps, ended = FAILED[failed]
    played = await drive("(selector (turn) (fail))", *steps)
    assert played.reason == ended
    assert len(played.bodies) == len(steps)
    plain = await drive("(turn)", *steps)
    shipped = await drive(load_shipped_texts()["oracle-agent"], *steps)
    assert {plain.reason, shipped.reason} == {ended}
    assert len(shipped.bodies) == len(steps)


@virtual_time
async def test_what_is_asked_by_itself_under_a_checkpoint_fails_as_well() -> None:
    one = "(decorator budget-check (llm-call))"
    steps, _ = FAILED["filter"]
    played = await drive(f"(sequence {one} (turn))", *steps)
    assert played.reason == "content_filter"
    played = await drive(f'(selector {one} (turn :say "again"))', *steps, say("So."))
    assert (played.reason, played.record.answer) == ("completed", "So.")


CUT_OFF = {
    "ask-first": (1, "needs_approval"),
    "checked-answer": (3, "output_truncated"),
    "deep-research": (2, "behaviour_ended"),
    "oracle-agent": (1, "output_truncated"),
    "plan-then-do": (2, "output_truncated"),
}
"""The requests and the end of each shipped behaviour if all answers are cut off: interim text that
is cut off serves, and without librarians `deep-research` gives its last answer then."""


@virtual_time
@pytest.mark.parametrize("failed", FAILED)
@pytest.mark.parametrize("name", load_shipped_texts())
async def test_no_shipped_behaviour_repeats_a_failed_request(name: str, failed: str) -> None:
    steps, ended = FAILED[failed]
    played = await drive(load_shipped_texts()[name], then=steps[0])
    answered = 1
    if failed == "truncation":
        answered, ended = CUT_OFF[name]
    assert (len(played.bodies), played.reason) == (answered * len(steps), ended)
    assert "The model is asked again." not in str(notices(played.chunks, "provider"))


@virtual_time
@pytest.mark.parametrize("status", PERMANENT)
async def test_a_second_failure_of_the_same_permanent_cause_ends_the_run(status: str) -> None:
    played = await drive("(decorator retry :times 9 (turn))", then=Fault(status))  # type: ignore[arg-type]
    assert (played.reason, len(played.bodies)) == ("provider_error", 2)
    (error,) = own(played.chunks, Error)
    assert error.cause in ("bad_request", "auth", "quota", "not_found")


@virtual_time
@pytest.mark.parametrize("failed", FAILED)
@pytest.mark.parametrize(
    ("node", "tries"),
    [
        ("(repeater :until-success (turn))", 1),
        ("(repeater :max-iterations 5 (repeater (turn)))", 1),
        ("(repeater :until-success (decorator budget-check (llm-call)))", 1),
        ("(repeater :until-success (subtree part (sequence (turn) (succeed))))", 1),
        ("(repeater :until-success (for-each (blackboard :n) (turn)))", 1),
        ("(repeater :until-success (selector (turn) (turn)))", 2),
        ("(selector (repeater :until-success (turn)) (turn))", 2),
        ("(sequence (repeater :until-failure (turn)) (turn))", 2),
        ("(repeater :max-iterations 3 (sequence (selector (turn) (succeed)) (fail)))", 3),
    ],
)
async def test_a_repeater_repeats_a_failed_request_only_after_another_branch(
    node: str, tries: int, failed: str
) -> None:
    steps, ended = FAILED[failed]
    played = await drive(node, then=steps[0])
    if failed == "bad request":
        tries = min(tries, 2)  # it says that it stays
    assert (played.reason, len(played.bodies)) == (ended, tries * len(steps))


@virtual_time
async def test_another_permanent_cause_is_no_second_failure() -> None:
    steps: list[Step] = [Fault("status_400"), Fault("status_402"), say("So.")]
    played = await drive("(decorator retry :times 9 (turn))", *steps)
    assert (played.reason, played.record.answer) == ("completed", "So.")


@virtual_time
@pytest.mark.parametrize(
    ("node", "tries"),
    [
        ("(repeater :max-iterations 3 (decorator always-succeed (turn)))", 3),
        ("(repeater :max-iterations 4 (selector (turn) (turn) (succeed)))", 4),
        (
            "(repeater :max-iterations 30 (selector (decorator retry :times 20 (turn)) (succeed)))",
            40,
        ),
        ("(for-each (blackboard :n) (decorator always-succeed (turn)))", 3),
    ],
)
async def test_every_failed_request_counts_towards_the_rounds_around_it(
    node: str, tries: int
) -> None:
    """Each breaks after content, so that it is not tried again by the client."""
    broken = say("Half", fault=Fault("half_close", after=1))
    played = await drive(node, then=broken, turns=50)
    assert (played.reason, len(played.bodies)) == ("provider_error", tries)


@virtual_time
async def test_no_behaviour_makes_more_than_fifty_failing_requests() -> None:
    retries = "(decorator retry :times 20 " * 4 + "(turn)" + ")" * 4
    played = await drive(retries, then=Fault("status_503"), turns=50)
    begun = [one for one in own(played.chunks, Turn) if one.phase == "start"]
    assert (played.reason, len(begun)) == ("provider_error", MAX_FAILED_REQUESTS)


@virtual_time
async def test_a_failed_request_does_not_start_the_plain_string() -> None:
    """Also where the behaviour breaks directly after it."""
    spins = "(repeater :max-iterations 1000 (repeater :max-iterations 1000 (fail)))"
    for steps, ended in FAILED.values():
        played = await drive(f"(selector (turn) {spins})", *steps)
        assert played.reason == ended
        assert len(played.bodies) == len(steps)


@virtual_time
async def test_a_behaviour_that_stops_the_run_after_a_failed_request_has_the_last_word() -> None:
    played = await drive("(selector (turn) (stop no_progress))", Fault("status_400"), say("So."))
    assert (played.reason, played.record.answer) == ("no_progress", "So.")


@virtual_time
async def test_a_plan_that_is_cut_off_serves_as_far_as_it_goes() -> None:
    node = '(sequence (turn :interim "Draft" :into :draft) (turn :say "{draft}"))'
    played = await drive(node, Reply(text="Half of it", finish="length"), say("So."))
    assert (played.reason, played.record.answer) == ("completed", "So.")


@virtual_time
async def test_a_shipped_behaviour_goes_on_after_a_plan_that_was_cut_off() -> None:
    plan = [say("1. Lo", finish="length"), call("look")]
    played = await drive(load_shipped_texts()["plan-then-do"], *plan, say("So."))
    assert (played.reason, played.record.answer) == ("completed", "So.")
    assert done(played.chunks).turns_used == 3
