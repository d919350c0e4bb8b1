"""Runs that go on from a decision: what was approved comes first, exactly as it was shown."""

from typing import Any

from agents.core.chunks import EventRecord, OracleStreamChunk, ToolCalled
from agents.core.loop import Control, HeldCall, Resume
from agents.core.rules.reader import read_rule
from tests.agents.core.factories import done, limits, own, play, results
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns
from tests.support.virtual import run_virtual


def decided(call_id: str, decision: Any, words: str = "", **arguments: Any) -> HeldCall:
    return HeldCall(id=call_id, name="write", arguments=arguments, decision=decision, words=words)


def resume(*calls: HeldCall, steps: Any = None, **values: Any) -> tuple[Any, Any, Any]:
    """Return the chunks, the tools and the model of a run that goes on from this decision."""
    tools = values.pop("tools", None) or FakeTools({"write": returns("Written.", writes=True)})
    model = ScriptedModel(steps or [say("It is done.")])
    config = values.pop("config", None)
    control = Control(
        resume=Resume(decision="approved", calls=calls), asks={"write": "always"}, **values
    )

    async def start() -> list[OracleStreamChunk]:
        with tools:
            return await play(model, tools, control=control, config=config, is_continued=True)

    return run_virtual(start()), tools, model


def test_approved_calls_run_first_and_nobody_is_asked_again() -> None:
    chunks, tools, model = resume(decided("c1", "approved", path="a"))
    assert [made.arguments for made in tools.calls] == [{"path": "a"}]
    assert results(chunks) == {"c1": "Written."}
    assert done(chunks).outcome == "completed"
    roles = [message["role"] for message in model.requests[0].messages]
    assert roles == ["system", "user", "assistant", "tool"]


def test_each_call_gets_its_one_result_as_it_was_decided() -> None:
    chunks, tools, _ = resume(
        decided("c1", "approved", path="a"),
        decided("c2", "refused", path="b"),
        decided("c3", "differently", "Shorter, please.", path="c"),
    )
    assert len(tools.calls) == 1
    assert results(chunks) == {
        "c1": "Written.",
        "c2": "Not run: the user said no.",
        "c3": "Not run: the user wants it done differently. They said: Shorter, please.",
    }


def test_the_same_call_is_run_once_unless_it_writes() -> None:
    tools = FakeTools({"write": returns("Written.", writes=True), "look": returns("Found.")})
    names = ["look", "look", "write", "write", "look"]
    held = [
        HeldCall(id=f"c{at}", name=name, arguments={}, decision="approved")
        for at, name in enumerate(names)
    ]
    chunks, _, _ = resume(*held, tools=tools)
    assert sorted(made.name for made in tools.calls) == ["look", "write", "write"]
    assert list(results(chunks)) == ["c0", "c1", "c4", "c2", "c3"]


def test_a_yes_does_not_go_round_a_rule_that_takes_the_tool_away() -> None:
    rule = read_rule("""[rule]
id = "no-writing"
trigger = "on_query_start"
[[action]]
type = "withhold"
tool = "write"
""")
    chunks, tools, _ = resume(decided("c1", "approved"), rules=(rule,))
    assert tools.calls == []
    assert results(chunks) == {"c1": "Refused: write is not available in this run."}
    assert done(chunks).outcome == "completed"


def test_a_new_call_of_the_same_id_is_another_call() -> None:
    chunks, _, _ = resume(decided("c1", "approved"), steps=[call("write")])
    ids = {chunk.tool_call.id for chunk in own(chunks, ToolCalled)}
    assert len(ids) == 2
    assert done(chunks).outcome == "paused"


def test_what_was_approved_is_done_also_where_no_request_fits() -> None:
    chunks, tools, _ = resume(
        decided("c1", "approved", text="x" * 9_000), config=limits(token_budget=1_000)
    )
    assert len(tools.calls) == 1
    assert done(chunks).termination_reason == "token_budget"


def test_the_record_tells_what_was_decided() -> None:
    chunks, _, _ = resume(decided("c1", "approved"), decided("c2", "refused"))
    (told,) = [c for c in own(chunks, EventRecord) if c.name == "approval.answered"]
    assert told.payload == {"decision": "approved", "approved": 1, "calls": 2}
