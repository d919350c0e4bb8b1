"""What a run owes at its end, with prompts that grow and models that are slow, clumsy or done."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from agents.core.behaviours import read_behaviour
from agents.core.chunks import Content, ContextUpdate, Hint, OracleStreamChunk, SystemMessage, Turn
from agents.core.config import AgentConfig
from agents.core.control.event_stream import list_events
from agents.core.decisions.protocol import TREES
from agents.core.decisions.trees.default import DefaultDecisionTree
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
from agents.core.ports import ToolContext
from agents.core.replay.engine import replay
from agents.core.state import AgentState
from agents.tools.definition import ToolRefused, define
from agents.tools.executor import ToolExecutor
from tests.agents.core.factories import (
    LOOK,
    decisions,
    done,
    ends,
    fresh,
    limits,
    looking,
    notices,
    own,
    play,
    reason,
    text,
    working_until_told,
)
from tests.agents.core.recorded_runs import recording_of
from tests.support.runs import drive, served
from tests.support.script import Call, Reply, Script, call, calls, say
from tests.support.scripted_model import Answer, Item, Pause, ScriptedModel
from tests.support.tools import FakeTools, fails, returns, with_context
from tests.support.virtual import virtual_time

# -- the token warning gives time to act ----------------------------------------------------------


def reading(chars: int, others: int = 0) -> FakeTools:
    """Notes of a size, each different, so that every prompt is larger than the one before."""

    async def read(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content=f"{call.arguments['note']} " + "word " * (chars // 5))

    idle = {f"look_{number}": returns("x") for number in range(others)}
    return FakeTools({"read": with_context(read), **idle})


def two_notes_a_turn() -> Callable[[Any], Reply]:
    numbers = iter(range(10_000))

    def step(body: dict[str, Any]) -> Reply:
        if body.get("tool_choice") == "none" or not body.get("tools"):
            return say("So far.")
        return calls(*(Call("read", {"note": next(numbers)}) for _ in range(2)))

    return step


def positions(chunks: list[OracleStreamChunk], phase: str) -> list[int]:
    return [
        n
        for n, chunk in enumerate(chunks)
        if isinstance(chunk, SystemMessage)
        and chunk.metadata.get("limit_type") == "tokens"
        and chunk.metadata.get("phase") == phase
    ]


def working_turns(chunks: list[OracleStreamChunk]) -> list[Turn]:
    return [c for c in chunks if isinstance(c, Turn) and c.phase == "start" and c.wrap_up is None]


@pytest.mark.parametrize("budget", [8_000, 20_000, 50_000, 200_000])
@pytest.mark.parametrize("chars", [400, 2_500, 9_000, 60_000])
async def test_a_working_turn_lies_between_the_token_warning_and_the_last_answer(
    budget: int, chars: int
) -> None:
    config = {"token_budget": budget, "max_iterations": 50, "timeout_seconds": 600}
    async with served(Script(then=two_notes_a_turn())) as bench:
        ran = await drive(bench.model(), reading(chars), config=config)
    if ran.reason != "token_budget":
        assert (chars, ran.reason) == (400, "max_iterations")
        return
    (warned,), (wrapped,) = positions(ran.chunks, "approach"), positions(ran.chunks, "wrap_up")
    warning = ran.chunks[warned]
    assert isinstance(warning, SystemMessage)
    assert warning.system_message.startswith("Approaching token limit (")
    assert warning.metadata["at_once"] is False
    between = [c for c in ran.chunks[warned:wrapped] if isinstance(c, Turn) and c.phase == "end"]
    assert between, "the model was not given a turn to act on the warning"
    hint = next(c for c in ran.chunks[warned:] if isinstance(c, Hint))
    assert warning.system_message in hint.text
    heard = [r for r in bench.endpoint.requests if warning.system_message in str(r.body)]
    assert not heard[0].tool_free
    reached = ran.notices("limit_reached", "tokens")
    assert ran.chunks[-2:] == [*reached, ran.record.done]
    assert ran.record.done is not None
    assert ran.record.done.tokens_used <= budget


@virtual_time
async def test_one_answer_that_takes_the_rest_is_told_as_such() -> None:
    greedy = ScriptedModel(
        [replace(call("look"), text="word " * 1_000)], then=working_until_told, window=64_000
    )
    chunks = await play(greedy, FakeTools(LOOK), config=limits(token_budget=3_000))
    assert reason(chunks) == "token_budget"
    warning = notices(chunks, "limit_warning")[0]
    assert warning.metadata["at_once"] is True
    assert warning.system_message.startswith("One iteration used the rest of the token budget (")
    assert not any("Approaching" in c.system_message for c in own(chunks, SystemMessage))


@pytest.mark.parametrize("tree", ["default", "quick"])
@virtual_time
async def test_a_budget_of_a_thousand_says_that_there_is_no_room_for_tools(tree: str) -> None:
    config = limits(token_budget=1_000)
    model = ScriptedModel([], then=working_until_told)
    many = FakeTools({f"look_{number}": returns("x") for number in range(40)})
    chosen: Any = TREES.get(tree)
    chunks = await play(model, many, tree=chosen(config), config=config)
    assert (reason(chunks), text(chunks)) == ("token_budget", "That is all.")
    words = [c.system_message for c in own(chunks, SystemMessage)]
    assert words[0].startswith(
        "The prompt alone leaves the token budget no room for tools (0/1,000"
    )
    assert words[1].startswith("The token budget has no room for another iteration (0/1,000")
    assert words[2].startswith("The token budget has no room for another iteration:")


# -- what is said of a budget ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("used", "told"),
    [(9_990, ("spent", 0)), (9_400, ("forecast", None))],
)
@virtual_time
async def test_an_exceeded_budget_says_whether_it_is_spent_or_cannot_hold_the_next_request(
    used: int, told: tuple[str, int | None]
) -> None:
    """Ten tokens are left, or six hundred: too few for an iteration and an answer."""
    steps = [replace(call("look"), usage=TokenUsage(used, 10)), say("So.")]
    chunks = await play(ScriptedModel(steps), looking(), config=limits(token_budget=10_000))
    assert reason(chunks) == "token_budget"
    (exceeded,) = (e for e in list_events(chunks) if e.name == "budget.token.exceeded")
    cause, needed = exceeded.payload["cause"], exceeded.payload["needed"]
    assert cause == told[0]
    if told[1] is None:
        (last,) = notices(chunks, "limit_reached")
        assert f"{needed:,}" in last.system_message
        assert needed > 10_000 - done(chunks).tokens_used
        assert "reached" not in last.system_message
    else:
        assert needed == told[1]


# -- no warning comes too late --------------------------------------------------------------------


def warned(chunks: list[OracleStreamChunk]) -> list[str]:
    return [c.metadata["limit_type"] for c in notices(chunks, "limit_warning")]


@virtual_time
async def test_a_last_answer_that_takes_most_of_the_budget_is_not_followed_by_a_warning() -> None:
    def step(request: ModelRequest) -> Reply:
        if request.tool_choice == "none":
            return replace(say("So."), usage=TokenUsage(8_200, 50))
        return replace(call("look"), usage=TokenUsage(500, 50))

    config = limits(max_iterations=2, token_budget=10_000)
    chunks = await play(ScriptedModel([], then=step), looking(), config=config)
    assert reason(chunks) == "max_iterations"
    assert done(chunks).tokens_used == 8_800
    assert warned(chunks) == ["iterations"]


@virtual_time
async def test_the_time_of_a_last_answer_is_not_warned_of() -> None:
    """Nine of ten seconds pass while it is written."""
    slow_answer: list[Item] = [Pause(9), TextDelta("So."), Finished((), "stop")]
    model = ScriptedModel([call("look"), slow_answer])
    config = limits(max_iterations=2, timeout_seconds=10)
    chunks = await play(model, looking(), config=config)
    assert (reason(chunks), text(chunks)) == ("max_iterations", "So.")
    assert warned(chunks) == ["iterations"]
    told = [check for check in decisions(chunks)[-1].checks if check.rule == "timeout"]
    assert told[0].fired


@virtual_time
async def test_an_answer_that_the_model_cut_off_is_not_followed_by_a_warning() -> None:
    cut = replace(say("So it", finish="length"), usage=TokenUsage(45_000, 50))
    chunks = await play(ScriptedModel([cut]), looking())
    assert reason(chunks) == "output_truncated"
    assert warned(chunks) == []


# -- a finished answer is not a failure -----------------------------------------------------------


async def test_an_empty_stop_after_text_with_a_call_completes_with_that_text() -> None:
    answered = replace(call("look", page=1), text="The full answer is 42.")
    async with served(Script([answered, Reply()])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.outcome, ran.reason) == ("completed", "completed")
    assert ran.answer == "The full answer is 42."
    assert len(bench.endpoint.requests) == 2
    assert [t.finish_reason for t in ran.record.turns] == ["tool_calls", "stop"]


async def test_an_empty_stop_after_calls_without_text_is_asked_again() -> None:
    async with served(Script([call("look", page=1), Reply(), say("Here.")])) as bench:
        ran = await drive(bench.model(), looking())
    assert (ran.reason, ran.answer) == ("completed", "Here.")
    assert len(bench.endpoint.requests) == 3


# -- the model is told of a loop ------------------------------------------------------------------


async def test_the_model_is_told_of_a_loop_that_is_not_in_a_row() -> None:
    """A B A C A, with other results each time: no progress rule fires."""
    fresh_words = iter(["one", "two", "three", "four", "five", "six", "seven"])

    async def look(call: ToolCall, context: ToolContext) -> ToolOutcome:
        return ToolOutcome(ok=True, content=next(fresh_words))

    steps = [call("look", page=page) for page in (1, 2, 1, 3, 1)]
    async with served(Script([*steps, say("Done.")])) as bench:
        ran = await drive(bench.model(), FakeTools({"look": with_context(look)}))
    (notice,) = ran.notices("loop_warning")
    assert "3 times in the last 6 iterations (a loop from 3 on)" in notice.system_message
    note = "You made the same calls 3 times in the last 6 iterations."
    assert note in bench.endpoint.requests[5].body["messages"][-1]["content"]
    assert note not in str(bench.endpoint.requests[4].body)
    assert any(note in hint for hint in ran.hints)


# -- errors are counted call by call --------------------------------------------------------------


async def guarded_read(path: str) -> str:
    """Read a note."""
    raise ToolRefused(f"{path!r} is outside the vault; pass a path relative to its root.")


async def test_arguments_that_a_tool_refuses_are_errors() -> None:
    """Nine turns of paths outside the vault ran on to the iteration limit."""
    paths = iter(range(100))

    def step(body: dict[str, Any]) -> Reply:
        if body.get("tool_choice") == "none":
            return say("Nothing can be read.")
        return call("guarded_read", path=f"../secret{next(paths)}.md")

    async with served(Script(then=step)) as bench:
        ran = await drive(bench.model(), ToolExecutor([define(guarded_read)]))
    assert (ran.outcome, ran.reason) == ("limited", "error_limit")
    assert len(bench.endpoint.requests) == 4
    assert "outside the vault" in ran.explanation
    (notice,) = ran.notices("error_limit")
    assert notice.system_message.startswith("Tools failed 3 times in a row (limit 3).")
    assert notice.severity == "error"


def batches(*turns: str) -> Script:
    """Turns of calls: x fails, o does well; all of them differ."""
    numbers = iter(range(1_000))
    steps = [
        calls(*(Call("bad" if c == "x" else "good", {"n": next(numbers)}) for c in turn))
        for turn in turns
    ]
    return Script([*steps, say("Done.")])


@pytest.mark.parametrize(
    ("turns", "ended", "asked"),
    [
        (["xxx", "o"], "completed", 3),
        (["xxx", "x"], "error_limit", 3),
        (["ox", "x", "x"], "error_limit", 4),
        (["x", "x", "xo"], "completed", 4),
        (["xx", "ox", "x", "o"], "completed", 5),
        (["xxxxx", "xxxxx"], "error_limit", 3),
    ],
)
async def test_three_errors_in_a_row_end_a_run_call_by_call(
    turns: list[str], ended: str, asked: int
) -> None:
    tools = FakeTools({"bad": fails("no"), "good": returns("yes")})
    async with served(batches(*turns)) as bench:
        ran = await drive(bench.model(), tools)
    assert ran.reason == ended
    assert len(bench.endpoint.requests) == asked


async def test_calls_that_share_a_result_count_once() -> None:
    same = calls(*[Call("bad", {"n": 1})] * 3)
    tools = FakeTools({"bad": fails("no"), "good": returns("yes")})
    async with served(Script([same, call("bad", n=2), say("Done.")])) as bench:
        ran = await drive(bench.model(), tools)
    assert ran.reason == "completed"
    assert [turn.errors for turn in ran.record.turns] == [1, 1, 0]


async def test_what_a_limit_refuses_neither_counts_nor_resets() -> None:
    one_too_many = calls(Call("bad", {"n": 1}), Call("good", {"n": 2}))
    tools = FakeTools({"bad": fails("no"), "good": returns("yes")})
    steps = [one_too_many, call("bad", n=3), call("bad", n=4), say("Done.")]
    async with served(Script(steps)) as bench:
        ran = await drive(bench.model(), tools, config={"max_tool_calls_per_turn": 1})
    assert ran.reason == "error_limit"
    (notice,) = ran.notices("tool_limit")
    assert notice.system_message == (
        "The model asked for 2 tool calls in one iteration (limit 1); 1 was not run. "
        "It may ask for them again; raise the limit if it often does."
    )


# -- what a tree says counts ----------------------------------------------------------------------


class Stopping(DefaultDecisionTree):
    """A tree that never says no, and sets a reason in one of its methods on the second turn."""

    def __init__(self, config: AgentConfig, method: str, why: str) -> None:
        super().__init__(config)
        self.method, self.why = method, why

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return True, ""

    def on_turn_start(self, state: AgentState) -> AgentState:
        return self._stop(super().on_turn_start(state), "on_turn_start")

    def on_tool_result(self, state: AgentState, result: Mapping[str, Any]) -> AgentState:
        return self._stop(super().on_tool_result(state, result), "on_tool_result")

    def _stop(self, state: AgentState, method: str) -> AgentState:
        if method == self.method and state.turn == 1:
            return replace(state, termination_reason=self.why)
        return state


@pytest.mark.parametrize("method", ["on_turn_start", "on_tool_result"])
@pytest.mark.parametrize(
    ("why", "turns", "answer"),
    [("no_progress", 3, "That is all."), ("output_truncated", 2, ""), ("internal_error", 2, "")],
)
@virtual_time
async def test_a_reason_that_a_tree_sets_ends_the_run_at_the_next_checkpoint(
    method: str, why: str, turns: int, answer: str
) -> None:
    config = limits()
    model = ScriptedModel([], then=working_until_told)
    chunks = await play(model, looking(), tree=Stopping(config, method, why), config=config)
    assert reason(chunks) == why
    assert done(chunks).turns_used == turns
    assert text(chunks) == answer


@pytest.mark.parametrize(
    ("why", "used"),
    [
        ("token_budget", r" \([\d,]+/50,000 tokens\)"),
        ("timeout", r" \(0/120 s\)"),
        ("error_limit", ""),
    ],
)
@virtual_time
async def test_a_tree_that_stops_short_of_a_limit_is_named_as_what_stopped_the_run(
    why: str, used: str
) -> None:
    """It was neither reached nor near, and nobody is told so."""
    config = limits()
    model = ScriptedModel([], then=working_until_told)
    tree = Stopping(config, "on_turn_start", why)
    chunks = await play(model, looking(), tree=tree, config=config)
    told = [c.system_message for c in own(chunks, SystemMessage)]
    words = f"The decision tree Stopping stopped the run{used}"
    *_, last = told
    assert all(re.match(words, message) for message in told), told
    assert re.fullmatch(f"{words}. What was found is kept; continue to go on.", last)
    assert "The decision tree Stopping stopped the run." in done(chunks).explanation


def answering_last(last: Answer) -> Callable[[ModelRequest], Answer]:
    return lambda request: last if request.tool_choice == "none" else call("look")


STOPS = '(tree "mine" (sequence (repeater :max-iterations 1 (turn)) (stop {})))'


@pytest.mark.parametrize("by", ["tree", "behaviour"])
@pytest.mark.parametrize("why", ["no_progress", "error_limit", "token_budget", "timeout"])
@virtual_time
async def test_a_stop_that_no_figures_bear_out_is_said_only_if_its_last_answer_succeeds(
    by: str, why: str
) -> None:
    config = limits()
    for last, ended in ((say("So."), why), (ModelError("The endpoint is down."), "provider_error")):
        tree = Stopping(config, "on_turn_start", why) if by == "tree" else None
        behaviour = read_behaviour(STOPS.format(why)) if by == "behaviour" else None
        model = ScriptedModel([], then=answering_last(last))
        control = Control(behaviour=behaviour)
        chunks = await play(model, looking(), tree=tree, config=config, control=control)
        assert reason(chunks) == ended
        assert ended == why or why in done(chunks).also_triggered
        told = [c for c in own(chunks, SystemMessage) if c.system_type in (why, "limit_reached")]
        assert len(told) == (ended == why)
        assert ended != why or told[0].seq > own(chunks, Content)[-1].seq
        assert replay(recording_of(chunks, config, "default")).kind == "same" or by == "tree"


@virtual_time
async def test_a_model_that_has_answered_is_not_asked_again_because_a_tree_stops() -> None:
    config = limits()
    model = ScriptedModel([call("look"), say("The answer.")])
    tree = Stopping(config, "on_turn_start", "no_progress")
    chunks = await play(model, FakeTools(LOOK), tree=tree, config=config)
    assert (reason(chunks), text(chunks)) == ("no_progress", "The answer.")
    assert "completed" in done(chunks).also_triggered


@pytest.mark.parametrize("turns", [1, 2])
@virtual_time
async def test_a_reason_that_a_tree_sets_on_the_last_iteration_is_kept_beside_the_limits(
    turns: int,
) -> None:
    config = limits(max_iterations=turns)

    class Late(DefaultDecisionTree):
        def on_turn_start(self, state: AgentState) -> AgentState:
            is_last = state.turn == turns - 1
            return replace(state, termination_reason="no_progress") if is_last else state

    model = ScriptedModel([], then=working_until_told)
    chunks = await play(model, looking(), tree=Late(config), config=config)
    assert reason(chunks) == "max_iterations"
    assert set(done(chunks).also_triggered) == {"completed", "no_progress"}


@pytest.mark.parametrize("why", ["completed", "user_cancelled"])
@virtual_time
async def test_a_reason_that_is_no_trees_is_put_right_and_reported_once(why: str) -> None:
    config = limits(max_iterations=4)
    model = ScriptedModel([], then=working_until_told)
    chunks = await play(
        model, looking(), tree=Stopping(config, "on_turn_start", why), config=config
    )
    assert reason(chunks) == "max_iterations"
    (report,) = notices(chunks, "notification")
    assert report.metadata["corrected"] == ["termination_reason"]


@pytest.mark.parametrize("raises", [False, True], ids=["unknown", "sets one and raises"])
@virtual_time
async def test_a_tree_that_sets_nonsense_is_replaced_from_the_state_before(raises: bool) -> None:
    class Wild(DefaultDecisionTree):
        def on_turn_start(self, state: AgentState) -> AgentState:
            state = replace(state, termination_reason="timeout" if raises else "bored")
            if raises:
                raise RuntimeError("after all")
            return state

    model = ScriptedModel([call("look"), say("Done.")])
    chunks = await play(model, FakeTools(LOOK), tree=Wild(limits()))
    assert reason(chunks) == "completed"
    (report,) = notices(chunks, "notification")
    assert "the run goes on with the default one" in report.system_message


# -- the last answer ------------------------------------------------------------------------------


@virtual_time
async def test_a_wrap_up_that_stopped_by_itself_is_completed_beside_its_limit() -> None:
    model = ScriptedModel([call("look"), say("So.")])
    chunks = await play(model, FakeTools(LOOK), config=limits(max_iterations=2))
    assert reason(chunks) == "max_iterations"
    assert "completed" in done(chunks).also_triggered


@virtual_time
async def test_a_limit_makes_one_notice_at_its_last_answer_and_one_at_the_end() -> None:
    model = ScriptedModel([], then=working_until_told)
    chunks = await play(model, looking(), config=limits(max_iterations=10))
    about = [c for c in own(chunks, SystemMessage) if c.metadata["limit_type"] == "iterations"]
    assert [c.system_message for c in about] == [
        "Approaching iteration limit (7/10). Consider wrapping up.",
        "Last iteration (10/10): answering now. Raise the limit for longer work.",
        "Maximum iterations reached. 10/10 used. What was found is kept; continue or "
        "raise the limit.",
    ]
    assert [c.severity for c in about] == ["warning", "warning", "error"]
    assert chunks[-2] is about[-1]


@pytest.mark.parametrize(
    ("budget", "others", "about"), [(8_000, 0, "tokens"), (50_000, 20, "context")]
)
@virtual_time
async def test_the_limit_at_the_end_is_the_one_that_its_last_answer_told_of(
    budget: int, others: int, about: str
) -> None:
    """A long last answer may fill a small context up: that is not what stopped the work."""

    def step(request: ModelRequest) -> Reply:
        last = request.tool_choice == "none"
        return say("word " * 200) if last else call("read", note=len(request.messages))

    model = ScriptedModel([], then=step, window=1_500)
    config = limits(token_budget=budget, max_iterations=50)
    chunks = await play(model, reading(400, others=others), config=config)
    assert reason(chunks) == "token_budget"
    told = [c for c in own(chunks, SystemMessage) if c.metadata.get("phase") == "wrap_up"]
    (reached,) = notices(chunks, "limit_reached")
    assert [c.metadata["limit_type"] for c in (*told, reached)] == [about, about]


# -- the context meter ----------------------------------------------------------------------------


@virtual_time
async def test_the_context_meter_moves_after_a_batch_and_at_the_end() -> None:
    def step(request: ModelRequest) -> Reply:
        size = len(request.messages)
        return say("word " * 600) if size > 8 else call("read", note=size)

    chunks = await play(ScriptedModel([], then=step, window=64_000), reading(3_000))
    shown = own(chunks, ContextUpdate)
    turns = len(ends(chunks))
    assert len(shown) == 1 + turns
    assert [type(chunks[c.seq - 2]) for c in shown[1:]] == [Turn] * turns
    assert [c.context_tokens for c in shown] == sorted(c.context_tokens for c in shown)


@virtual_time
async def test_a_change_too_small_to_see_does_not_move_the_meter() -> None:
    steps: Iterator[Reply] = iter([call("look"), call("look", page=2), say("So.")])
    chunks = await play(ScriptedModel(list(steps), window=64_000), looking())
    assert len(own(chunks, ContextUpdate)) == 1


@virtual_time
async def test_in_a_small_window_the_meter_moves_by_its_share() -> None:
    """700 characters are some 200 tokens: less than 500, but more than 2 % of 8,000."""
    model = ScriptedModel([call("read", note=1), say("So.")], window=8_000)
    shown = own(await play(model, reading(700)), ContextUpdate)
    assert len(shown) == 2
    assert 160 <= shown[1].context_tokens - shown[0].context_tokens < 500


def test_a_state_may_be_built_for_a_tree_by_hand() -> None:
    """As the data model of the first document has it: no loop, no clock."""
    tree = DefaultDecisionTree(AgentConfig())
    state = AgentState(user_id="ada", project_id="engine", config=AgentConfig())
    assert tree.should_continue(state) == (True, "")
    assert tree.should_continue(replace(state, turn=15)) == (False, "max_iterations")
    late = replace(state, start_time=state.start_time - 1_000)
    assert tree.should_continue(late) == (False, "timeout")
    assert fresh().elapsed_seconds == 0


@virtual_time
async def test_a_long_conversation_is_not_warned_before_it_has_used_a_token() -> None:
    history = [
        {"role": role, "content": "word " * 400}
        for _ in range(60)
        for role in ("user", "assistant")
    ]
    chunks = await play(ScriptedModel([say("Yes.")], window=128_000), looking(), history=history)
    assert reason(chunks) == "completed"
    assert own(chunks, SystemMessage) == []
