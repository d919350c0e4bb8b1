"""The librarian within its parent's run, with both models scripted.

Its limits against the real endpoint are in `test_librarian_limits.py`.
"""

import asyncio
from collections.abc import Iterable
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from agents.core.answer_sources import AnswerSources
from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Content,
    ContextUpdate,
    Done,
    Error,
    OracleStreamChunk,
    SourceRef,
    ToolCalled,
    ToolResult,
    Turn,
)
from agents.core.loop import Control
from agents.core.messages import (
    Finished,
    ModelError,
    ModelRequest,
    TextDelta,
    TokenUsage,
    ToolCall,
    ToolOutcome,
)
from agents.core.rules.reader import read_rule
from agents.core.tasks import abandoned_tasks
from agents.tools import registry
from agents.tools.executor import ToolExecutor
from agents.tools.librarian import TOKEN_SHARE, Librarian, LibrarianReport
from tests.agents.core.factories import done, ends, limits, own, play, reason, results, text
from tests.agents.tools.factories import context
from tests.support.script import Call, Reply, call, calls, say
from tests.support.scripted_model import Answer, Item, Pause, ScriptedModel
from tests.support.tools import FakeTools, fails, hangs, returns, slow, swallows_cancellation
from tests.support.virtual import virtual_time

LOOK = {"look": returns("found")}
TASK = "Summarise the engine."
DELEGATE = call("delegate_librarian", task=TASK)


def now() -> float:
    return asyncio.get_running_loop().time()


def delegating(model: ScriptedModel, tools: FakeTools | None = None, **how: Any) -> ToolExecutor:
    """The parent's tools: the librarian alone."""
    librarian = Librarian(model=model, tools=tools or FakeTools(LOOK), **how)
    return ToolExecutor([registry.get("delegate_librarian")], [librarian])


async def report(
    model: ScriptedModel, tools: FakeTools | None = None, seconds: float = 1_200, **facts: Any
) -> ToolOutcome:
    """What a librarian hands back, without a parent's run."""
    librarian = Librarian(model=model, tools=tools or FakeTools(LOOK), seconds=seconds)
    return await librarian.run_task(TASK, context(**facts))


def of_subagents(chunks: list[OracleStreamChunk]) -> list[OracleStreamChunk]:
    return [chunk for chunk in chunks if chunk.parent]


# -- what it hands back ---------------------------------------------------------------------------


@virtual_time
async def test_it_hands_back_its_last_reply_only() -> None:
    first = Reply(text="Let me look.", calls=(Call("look", {}),))
    tools = FakeTools({"look": returns("found in a.md")})
    with ScriptedModel([first, say("The engine has two rings [a.md].")]) as model:
        outcome = await report(model, tools)
    assert outcome == ToolOutcome(ok=True, content="The engine has two rings [a.md].")


@virtual_time
async def test_it_names_every_document_that_it_read() -> None:
    """At the end, those that its reply does not cite; not what a search found and nobody read."""
    places = (
        SourceRef("plan/a.md", "vault", 3),
        SourceRef("plan/b.md", "vault", 1),
        SourceRef("plan/b.md", "vault", 9),
        SourceRef("talk", "thread", 2),
        SourceRef("plan/c.md", "vault", 1, score=0.5),
    )
    look = FakeTools({"look": lambda: ToolOutcome(True, "It is high.", sources=places)})
    outcome = await report(ScriptedModel([call("look"), say("High [plan/a.md:3].")]), look)
    assert outcome.content == "High [plan/a.md:3].\n\nAlso read: [plan/b.md], [thread:talk]"


@virtual_time
async def test_what_it_cites_and_never_saw_is_dropped_and_told() -> None:
    """Seen is what its task names and what its tools returned."""
    steps = [call("look"), say("So [a.md:2] [plan/b.md], or so [made/up.md:1].")]
    librarian = Librarian(ScriptedModel(steps), FakeTools({"look": returns("1. a.md:2 (score 1)")}))
    outcome = await librarian.run_task("Read plan/b.md.", context())
    assert outcome.content.startswith("So [a.md:2] [plan/b.md], or so.")
    assert "1 citation was dropped" in outcome.content


@virtual_time
async def test_it_is_given_the_task_and_nothing_else() -> None:
    model = ScriptedModel([say("So.")])
    await report(model)
    roles = [(message["role"], message["content"]) for message in model.requests[0].messages][:2]
    assert roles[0][0] == "system"
    assert "librarian" in roles[0][1]
    assert roles[1] == ("user", TASK)


@virtual_time
async def test_a_limited_report_says_that_it_stopped_early() -> None:
    def step(request: ModelRequest) -> Answer:
        return say("As far as I got.") if request.tool_choice == "none" else call("look")

    outcome = await report(ScriptedModel([], then=step))
    assert outcome.ok
    assert outcome.content.startswith("As far as I got.")
    assert "stopped early" in outcome.content


@pytest.mark.parametrize(
    "steps",
    [
        [ModelError("It is down.")],
        [[TextDelta("Half of it"), ModelError("It is down.")]],
        [say(""), say("")],
        [[TextDelta("Half"), Finished((), "content_filter")]],
        [Reply(text="Let me look.", calls=(Call("look", {}),)), ModelError("It is down.")],
    ],
    ids=["down", "broken", "empty", "filtered", "down later"],
)
@virtual_time
async def test_what_it_did_not_finish_is_never_part_of_the_result(steps: list[Any]) -> None:
    outcome = await report(ScriptedModel(steps))
    assert (outcome.ok, outcome.refused) == (False, False)
    assert "no answer" in outcome.content
    assert "Half" not in outcome.content
    assert "Let me look" not in outcome.content


@virtual_time
async def test_a_reply_cut_by_the_time_is_never_part_of_the_result() -> None:
    script: list[Item] = [TextDelta("Half of it"), Pause(1_000), Finished((), "stop")]
    outcome = await report(ScriptedModel([script]), seconds=20)
    assert not outcome.ok
    assert "Half" not in outcome.content


@virtual_time
async def test_it_does_not_delegate_to_another_librarian() -> None:
    tools = FakeTools({"delegate_librarian": returns("deeper"), **LOOK})
    model = ScriptedModel([DELEGATE, say("Alone, then.")])
    assert (await report(model, tools)).content == "Alone, then."
    assert tools.started == 0
    offered = [tool["function"]["name"] for tool in model.requests[0].tools]
    assert offered == ["look"]


# -- tokens ---------------------------------------------------------------------------------------


@virtual_time
async def test_it_gets_half_of_what_its_parent_has_left() -> None:
    model = ScriptedModel([say("So.")], max_output=10**6, window=10**6)
    await report(model, tokens_left=9_000)
    assert TOKEN_SHARE == 0.5
    prompt = 4_500 - model.requests[0].max_tokens
    assert 0 < prompt < 400


@virtual_time
async def test_with_no_tokens_left_it_asks_nothing() -> None:
    outcome = await report(ScriptedModel([]), tokens_left=0)
    assert not outcome.ok


@virtual_time
async def test_its_tokens_are_charged_to_the_parents_turn_and_run() -> None:
    sub = ScriptedModel(
        [
            Reply(calls=(Call("look", {}),), usage=TokenUsage(300, 30)),
            say("So.", usage=TokenUsage(400, 40)),
        ]
    )
    main = ScriptedModel(
        [
            Reply(calls=(Call("delegate_librarian", {"task": TASK}),), usage=TokenUsage(100, 10)),
            say("Good.", usage=TokenUsage(200, 20)),
        ]
    )
    chunks = await play(main, delegating(sub))
    assert [turn.subagent_tokens for turn in ends(chunks)] == [770, 0]
    assert done(chunks).tokens_used == 110 + 770 + 220
    assert done(chunks).turns_used == 2


@virtual_time
async def test_what_it_used_is_not_left_for_the_parents_next_answer() -> None:
    sub = ScriptedModel([say("So.", usage=TokenUsage(4_000, 100))])
    delegation = Reply(
        calls=(Call("delegate_librarian", {"task": TASK}),), usage=TokenUsage(100, 10)
    )
    main = ScriptedModel([delegation, say("Good.")], max_output=10**6, window=10**6)
    await play(main, delegating(sub), config=limits(token_budget=10_000))
    assert main.requests[1].max_tokens < 10_000 - 4_100 - 110


@virtual_time
async def test_an_estimate_of_its_tokens_makes_the_runs_usage_mixed() -> None:
    sub = ScriptedModel([say("So.", usage=None)])
    main = ScriptedModel(
        [
            Reply(calls=(Call("delegate_librarian", {"task": TASK}),), usage=TokenUsage(100, 10)),
            say("Good.", usage=TokenUsage(200, 20)),
        ]
    )
    chunks = await play(main, delegating(sub))
    assert done(chunks).usage_source == "mixed"


@virtual_time
async def test_librarians_side_by_side_do_not_get_more_than_there_is() -> None:
    """Three at once, each with half of what was left when it began, would take half as much
    again as the run has."""

    def long_answer(request: ModelRequest) -> Reply:
        return say("word " * 50, usage=TokenUsage(200, request.max_tokens - 1), finish="stop")

    sub = ScriptedModel([], then=long_answer, max_output=10**6, window=10**6)
    three = calls(*[Call("delegate_librarian", {"task": f"{TASK} {n}"}) for n in range(3)])
    main = ScriptedModel([three], then=say("Good."))
    config = limits(token_budget=20_000, max_parallel_tools=3)
    chunks = await play(main, delegating(sub), config=config)
    assert done(chunks).tokens_used <= 20_000 + 1_000


@virtual_time
async def test_one_that_is_at_work_obeys_a_rule_at_its_next_call() -> None:
    """Another call of its parent has ended meanwhile, and with that a rule takes a tool away."""

    def answer(request: ModelRequest) -> Reply:
        looks = sum(message["role"] == "tool" for message in request.messages)
        is_long = request.messages[1]["content"] == "long"
        return call("look", n=looks) if is_long and looks < 2 else say("So.")

    rule = read_rule(
        '[rule]\nid = "mine"\ntrigger = "on_tool_complete"\n'
        '[[action]]\ntype = "withhold"\ntool = "look"'
    )
    both = calls(*[Call("delegate_librarian", {"task": task}) for task in ("short", "long")])
    with FakeTools({"look": slow(5)}) as tools:
        librarians = delegating(ScriptedModel([], then=answer), tools)
        main = ScriptedModel([both, say("Good.")])
        chunks = await play(main, librarians, control=Control(rules=(rule,)))
    looked = [one for one in of_subagents(chunks) if isinstance(one, ToolResult)]
    assert [one.ok for one in looked] == [True, False]
    assert looked[1].tool_result == "Refused: look is not available in this run."


@virtual_time
async def test_a_rule_that_holds_a_call_binds_it_however_often_it_tries() -> None:
    rule = read_rule(
        '[rule]\nid = "mine"\ntrigger = "on_tool_call"\n'
        "[condition]\nexpression = \"event.payload.tool == 'look'\"\n"
        '[[action]]\ntype = "hold"\nmessage = "May it look?"\n'
        '[[action]]\ntype = "log"\nmessage = "It looks."'
    )
    tries = [calls(*(Call("look", {"n": (turn, n)}) for n in range(5))) for turn in range(5)]
    with FakeTools(LOOK) as tools:
        librarian = delegating(ScriptedModel([*tries, say("Nothing.")]), tools)
        chunks = await play(
            ScriptedModel([DELEGATE, say("Good.")]), librarian, control=Control(rules=(rule,))
        )
    looked = [one for one in of_subagents(chunks) if isinstance(one, ToolResult)]
    assert len(looked) == 25
    assert {one.cause for one in looked} == {"refused"}
    assert reason(chunks) == "completed"


# -- what the parent shows ------------------------------------------------------------------------


@virtual_time
async def test_its_chunks_are_shown_under_the_call_that_started_it() -> None:
    sub = ScriptedModel([call("look"), say("So.")])
    main = ScriptedModel([calls(Call("delegate_librarian", {"task": TASK}, "d1")), say("Good.")])
    chunks = await play(main, delegating(sub))
    shown = of_subagents(chunks)
    assert {chunk.parent for chunk in shown} == {"d1"}
    kinds = {type(chunk) for chunk in shown}
    assert {Turn, Content, ToolCalled, ToolResult} <= kinds
    assert not kinds & {Done, Error, ContextUpdate}
    assert [chunk.seq for chunk in chunks] == list(range(1, len(chunks) + 1))
    assert results(chunks) == {"d1": "So."}
    assert text(chunks) == "Good."


@virtual_time
async def test_a_failed_librarian_is_a_failed_call_and_the_run_goes_on() -> None:
    main = ScriptedModel([DELEGATE, say("Without it, then.")])
    chunks = await play(main, delegating(ScriptedModel([ModelError("It is down.")])))
    assert reason(chunks) == "completed"
    (result,) = own(chunks, ToolResult)
    assert not result.ok
    assert "It is down." in result.tool_result


@virtual_time
async def test_it_works_with_the_parents_user_project_and_limits() -> None:
    tools = FakeTools(LOOK)
    await report(ScriptedModel([call("look"), say("So.")]), tools, user_id="bob", project_id="p9")
    assert [(c.user_id, c.project_id) for c in tools.contexts] == [("bob", "p9")]


# -- time -----------------------------------------------------------------------------------------


@virtual_time
async def test_its_own_time_ends_it_before_the_parents() -> None:
    main = ScriptedModel([DELEGATE, say("Without it, then.")])
    sub = ScriptedModel([[Pause(1_000)]])
    chunks = await play(main, delegating(sub, seconds=60), config=limits(timeout_seconds=300))
    assert reason(chunks) == "completed"
    assert 60 <= now() < 61
    assert sub.open == 0


@virtual_time
async def test_the_parents_time_ends_it_before_its_own() -> None:
    main = ScriptedModel([DELEGATE, say("Without it, then.")])
    sub = ScriptedModel([[Pause(1_000)]])
    chunks = await play(main, delegating(sub, seconds=3_600), config=limits(timeout_seconds=100))
    assert reason(chunks) == "timeout"
    assert text(chunks) == "Without it, then."
    assert now() < 86
    assert sub.open == 0


@virtual_time
async def test_it_ends_by_itself_when_its_parents_time_for_work_is_over() -> None:
    outcome = await report(ScriptedModel([[Pause(1_000)]]), seconds=3_600, deadline=30.0)
    assert not outcome.ok
    assert 30 <= now() < 30.5


@virtual_time
async def test_it_keeps_time_for_a_last_answer_of_its_own() -> None:
    """Its tool hangs; it is cut, and the model still sums up before the librarian's deadline."""
    sub = ScriptedModel([call("look"), say("What I have.")])
    outcome = await report(sub, FakeTools({"look": hangs()}), seconds=60)
    assert outcome.ok
    assert outcome.content.startswith("What I have.")
    assert now() < 60


# -- cancellation ---------------------------------------------------------------------------------


async def cancelled_after(
    seconds: float, sub: ScriptedModel, tools: FakeTools
) -> list[OracleStreamChunk]:
    cancellation = Cancellation()
    asyncio.get_running_loop().call_later(seconds, cancellation.request)
    return await play(ScriptedModel([DELEGATE]), delegating(sub, tools), cancellation=cancellation)


@virtual_time
async def test_a_cancel_ends_its_model_stream_and_its_work_is_dropped() -> None:
    sub = ScriptedModel([[TextDelta("Half of it"), Pause(1_000), Finished((), "stop")]])
    chunks = await cancelled_after(5, sub, FakeTools(LOOK))
    assert reason(chunks) == "user_cancelled"
    assert now() < 5.5
    assert (sub.open, sub.aborted) == (0, 1)
    assert all("Half" not in result for result in results(chunks).values())
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_what_it_used_before_a_cancel_is_charged() -> None:
    sub = ScriptedModel([[TextDelta("x" * 700), Pause(1_000), Finished((), "stop")]])
    chunks = await cancelled_after(5, sub, FakeTools(LOOK))
    (turn,) = ends(chunks)
    assert turn.subagent_tokens > 200


@pytest.mark.parametrize("tool", [hangs(), swallows_cancellation(50), slow(50)])
@virtual_time
async def test_a_cancel_ends_it_while_its_tool_hangs(tool: Any) -> None:
    tools = FakeTools({"look": tool})
    chunks = await cancelled_after(5, ScriptedModel([call("look")]), tools)
    assert reason(chunks) == "user_cancelled"
    assert now() < 5.5
    await asyncio.sleep(60)
    assert (tools.in_flight, abandoned_tasks()) == (0, 0)
    assert len(asyncio.all_tasks()) == 1


@virtual_time
async def test_its_last_chunks_do_not_come_after_the_parents_done() -> None:
    sub = ScriptedModel([call("look")])
    chunks = await cancelled_after(5, sub, FakeTools({"look": fails("x"), "deaf": hangs()}))
    assert isinstance(chunks[-1], Done)
    assert not chunks[-1].parent


@virtual_time
async def test_a_cancelled_call_leaves_no_task_behind() -> None:
    emitted: list[OracleStreamChunk] = []
    librarian = Librarian(model=ScriptedModel([[Pause(1_000)]]), tools=FakeTools(LOOK))
    working = asyncio.create_task(librarian.run_task(TASK, context(emitted)))
    await asyncio.sleep(5)
    working.cancel()
    await asyncio.wait([working])
    assert working.cancelled()
    assert now() < 5.5
    assert len(asyncio.all_tasks()) == 1
    assert not [chunk for chunk in emitted if isinstance(chunk, Done | Error)]


# -- putting a folder in order --------------------------------------------------------------------


@virtual_time
async def test_to_organise_it_has_a_tool_that_writes_an_index() -> None:
    index = FakeTools({"vault_create_index": returns("Created plan/Index.md.")})
    model = ScriptedModel([call("vault_create_index", folder="plan"), say("Done: plan/Index.md.")])
    librarian = Librarian(model, FakeTools(LOOK), organising_tools=index)
    outcome = await librarian.organise("The folder plan.", context())
    assert outcome == ToolOutcome(ok=True, content="Done: plan/Index.md.")
    assert [made.name for made in index.calls] == ["vault_create_index"]
    assert "Change nothing else" in str(model.requests[0].messages[1]["content"])


@virtual_time
async def test_where_nothing_may_be_written_nothing_is_organised() -> None:
    model = ScriptedModel([])
    tools = ToolExecutor([registry.get("delegate_librarian")], [Librarian(model, FakeTools(LOOK))])
    made = ToolCall("c1", "delegate_librarian", {"task": "plan", "job": "organise"})
    outcome = await tools.run(made, context())
    assert not outcome.ok
    assert outcome.content.startswith("Refused: Nothing may be written here")


# -- what it has summarised before ----------------------------------------------------------------


class Shelf:
    """A store that keeps everything, and accounts."""

    def __init__(self) -> None:
        self.kept: dict[str, LibrarianReport] = {}

    def find(self, task: str) -> LibrarianReport | None:
        return self.kept.get(task)

    def store(self, task: str, text: str, sources: Iterable[SourceRef]) -> None:
        self.kept[task] = LibrarianReport(text, tuple(sources), datetime(2026, 11, 17, tzinfo=UTC))


@virtual_time
async def test_the_same_task_again_is_answered_from_the_cache_unless_it_is_to_be_fresh() -> None:
    model = ScriptedModel([say("One."), say("Two.")])
    librarian = Librarian(model, FakeTools(LOOK), cache=Shelf())
    assert (await librarian.run_task(TASK, context())).content == "One."
    again = await librarian.run_task(TASK, context())
    assert again.content == "[From the cache, written on 17 November 2026.]\n\nOne."
    assert len(model.requests) == 1
    fresh = await librarian.run_task(TASK, context(), force_refresh=True)
    assert fresh.content == "Two."


@virtual_time
async def test_a_report_from_the_cache_brings_its_sources_to_the_run() -> None:
    """Those that it read count for the answer, as they did when it read them."""
    place = SourceRef("plan/a.md", "vault", 3, "High.", end_line=9, heading="Tide")
    look = FakeTools({"look": lambda: ToolOutcome(True, "It is high.", sources=(place,))})
    librarian = Librarian(ScriptedModel([call("look"), say("High [plan/a.md:3].")]), look)
    tools = ToolExecutor([registry.get("delegate_librarian")], [replace(librarian, cache=Shelf())])
    for _ in range(2):
        chunks = await play(ScriptedModel([DELEGATE, say("So.")]), tools)
        used = AnswerSources()
        for chunk in chunks:
            used.apply(chunk)
        assert list(used) == [place]
    assert not of_subagents(chunks)


@virtual_time
async def test_what_was_cut_by_a_limit_is_not_kept() -> None:
    shelf = Shelf()
    model = ScriptedModel([], then=call("look"))
    librarian = Librarian(model, FakeTools(LOOK), cache=shelf)
    await librarian.run_task(TASK, context())
    assert shelf.kept == {}


@virtual_time
async def test_a_librarian_asks_nobody_and_its_calls_that_need_a_yes_are_refused() -> None:
    task = call("delegate_librarian", task="Tidy up.")
    model = ScriptedModel([task, call("write"), say("I could not write."), say("So.")])
    tools = FakeTools({"write": returns("Written.", writes=True)})
    control = Control(asks={"write": "always"})
    chunks = await play(model, delegating(model, tools), control=control)
    (refused,) = [c for c in chunks if isinstance(c, ToolResult) and c.parent]
    assert refused.cause == "refused"
    assert "a subagent cannot ask" in refused.tool_result
    assert tools.calls == []
    assert done(chunks).outcome == "completed"
