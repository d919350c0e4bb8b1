"""One request to the model: what came of it is kept, whatever the model does."""

import asyncio
import json

import pytest

from agents.core.cancellation import Cancellation
from agents.core.chunks import (
    Content,
    Error,
    SystemMessage,
    to_dict,
)
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.messages import (
    CallProgress,
    Finished,
    ModelError,
    RawCall,
    Retrying,
    TextDelta,
    TokenUsage,
)
from agents.core.state import AgentState
from tests.agents.core.factories import (
    LOOK,
    done,
    ends,
    limits,
    notices,
    now,
    own,
    play,
    reason,
    results,
    text,
)
from tests.support.script import Call, Reply, call, say
from tests.support.scripted_model import Hold, Item, Pause, ScriptedModel
from tests.support.tools import (
    FakeTools,
)
from tests.support.virtual import virtual_time


@virtual_time
async def test_text_with_a_lone_surrogate_can_be_stored() -> None:
    """As when an emoji's two escapes are split between two deltas."""
    script: list[Item] = [
        TextDelta("\ud83d"),
        TextDelta("\ude00"),
        Finished((), "stop", TokenUsage(1, 1)),
    ]
    chunks = await play(ScriptedModel([script]), FakeTools(LOOK))
    assert own(chunks, Content)
    for chunk in own(chunks, Content):
        json.dumps(to_dict(chunk), ensure_ascii=False).encode()


@virtual_time
async def test_text_held_back_when_a_run_is_stopped_is_kept() -> None:
    cancellation = Cancellation()
    asyncio.get_running_loop().call_later(5, cancellation.request)
    model = ScriptedModel([[TextDelta("Seen. "), Hold("<tool_call"), Pause(100), Finished()]])
    chunks = await play(model, FakeTools(LOOK), cancellation=cancellation)
    assert reason(chunks) == "user_cancelled"
    assert text(chunks) == "Seen. <tool_call"
    assert (model.open, model.aborted) == (0, 1)
    assert now() < 5.5


@virtual_time
async def test_text_held_back_at_the_deadline_is_kept() -> None:
    model = ScriptedModel([[TextDelta("Seen. "), Hold("held"), Pause(1_000), Finished()]])
    chunks = await play(model, FakeTools(LOOK), config=limits(timeout_seconds=10))
    assert reason(chunks) == "timeout"
    assert text(chunks) == "Seen. held"


@virtual_time
async def test_text_before_a_broken_stream_is_kept_and_the_error_told() -> None:
    model = ScriptedModel([[TextDelta("Half "), Hold("an "), ModelError("It is down.")]])
    chunks = await play(model, FakeTools(LOOK))
    assert reason(chunks) == "provider_error"
    assert text(chunks) == "Half an "
    (error,) = own(chunks, Error)
    assert error.error == "It is down."
    assert done(chunks).turns_used == 1


@virtual_time
async def test_a_request_that_fails_before_any_answer_is_no_turn_and_costs_nothing() -> None:
    chunks = await play(ScriptedModel([ModelError("It is down.")]), FakeTools(LOOK))
    assert (done(chunks).turns_used, done(chunks).tokens_used) == (0, 0)


@virtual_time
async def test_a_client_that_breaks_is_a_provider_error_without_its_details() -> None:
    chunks = await play(ScriptedModel([[ZeroDivisionError("secret")]]), FakeTools(LOOK))
    assert reason(chunks) == "provider_error"
    (error,) = own(chunks, Error)
    assert "secret" not in error.error


@virtual_time
async def test_a_retry_is_told() -> None:
    script: list[Item] = [Retrying(2, 1.5, "Busy."), TextDelta("So."), Finished((), "stop")]
    chunks = await play(ScriptedModel([script]), FakeTools(LOOK))
    (notice,) = notices(chunks, "provider")
    assert notice.system_message == "Busy. Trying again in 1.5 s."


@virtual_time
async def test_a_stream_that_ends_without_an_end_is_not_asked_for_ever() -> None:
    """The port forbids it; still, N is N."""
    model = ScriptedModel([], then=[])
    chunks = await play(model, FakeTools(LOOK), config=limits(max_iterations=5))
    assert done(chunks).outcome in ("failed", "limited")
    assert len(model.requests) <= 5


IMPATIENT = [call("look")] * 3


@virtual_time
async def test_a_wrap_up_after_no_progress_that_never_begins_is_given_up() -> None:
    model = ScriptedModel([*IMPATIENT, [Pause(60), TextDelta("late"), Finished((), "stop")]])
    chunks = await play(model, FakeTools(LOOK))
    assert reason(chunks) == "no_progress"
    assert now() < 5


@virtual_time
async def test_a_retry_is_not_the_first_token_of_a_wrap_up() -> None:
    script: list[Item] = [
        Pause(1),
        Retrying(2, 1.0, "Busy."),
        Pause(60),
        TextDelta("late"),
        Finished(),
    ]
    chunks = await play(ScriptedModel([*IMPATIENT, script]), FakeTools(LOOK))
    assert reason(chunks) == "no_progress"
    assert now() < 5


@virtual_time
async def test_an_empty_delta_is_not_the_first_token_of_a_wrap_up() -> None:
    drip: list[Item] = [item for _ in range(20) for item in (Pause(3), TextDelta(""))]
    chunks = await play(ScriptedModel([*IMPATIENT, [*drip, Finished()]]), FakeTools(LOOK))
    assert reason(chunks) == "no_progress"
    assert now() < 5


@virtual_time
async def test_a_wrap_up_beyond_its_limit_has_four_and_a_half_seconds_in_all() -> None:
    drip: list[Item] = [item for n in range(10) for item in (Pause(1), TextDelta(f"{n} "))]
    chunks = await play(ScriptedModel([*IMPATIENT, [*drip, Finished((), "stop")]]), FakeTools(LOOK))
    assert text(chunks) == "0 1 2 3 "
    (told,) = notices(chunks, "no_progress")
    assert 4 <= done(chunks).at - told.at <= 4.5


@virtual_time
async def test_a_wrap_up_inside_its_limit_may_stream_on() -> None:
    """Turns are counted, not timed: the limit is reached, and said, when the answer has ended."""
    slow: list[Item] = [Pause(30), TextDelta("In time."), Finished((), "stop")]
    model = ScriptedModel([call("look"), slow])
    chunks = await play(model, FakeTools(LOOK), config=limits(max_iterations=2))
    assert text(chunks) == "In time."
    (reached,) = notices(chunks, "limit_reached")
    assert chunks[-2:] == [reached, done(chunks)]
    assert done(chunks).at == reached.at


@virtual_time
async def test_a_stuck_run_stays_stuck_though_its_last_answer_fails_or_only_calls_tools() -> None:
    tools = FakeTools(LOOK)
    silent: list[Item] = [Pause(60), TextDelta("late")]
    failures = ModelError("down"), silent
    others = call("look"), [Finished((), "content_filter")], say("")
    for last in (*failures, *others):
        chunks = await play(ScriptedModel([*IMPATIENT, last]), tools)
        assert reason(chunks) == "no_progress"
        assert done(chunks).explanation
        assert ("provider_error" in done(chunks).also_triggered) is (last in failures)
    assert tools.started == 5 * 3


class Satisfied(DefaultDecisionTree):
    """A tree that stops after one turn, for a reason that no measured limit has."""

    def should_continue(self, state: AgentState) -> tuple[bool, str]:
        return (False, "no_progress") if state.turn == 1 else super().should_continue(state)


@virtual_time
async def test_a_last_answer_cut_by_its_own_seconds_is_the_endpoints_failure() -> None:
    """No limit is reached, so it is the reason; what the tree said is kept beside it."""
    model = ScriptedModel([call("look"), [Pause(60), TextDelta("late")]])
    chunks = await play(model, FakeTools(LOOK), tree=Satisfied(limits()))
    assert (done(chunks).outcome, reason(chunks)) == ("failed", "provider_error")
    assert "no_progress" in done(chunks).also_triggered
    assert 4 <= now() < 5
    (error,) = own(chunks, Error)
    assert error.error == "The model took too long for its last answer. Continue to try again."


@virtual_time
async def test_a_tree_that_stops_for_no_progress_is_not_said_to_repeat() -> None:
    model = ScriptedModel([call("look"), say("So.")])
    chunks = await play(model, FakeTools(LOOK), tree=Satisfied(limits()))
    assert reason(chunks) == "no_progress"
    notes = [notice.system_message for notice in own(chunks, SystemMessage)]
    told = " ".join([done(chunks).explanation, *notes])
    told += " ".join(str(m["content"]) for m in model.requests[-1].messages)
    assert "epeat" not in told


@virtual_time
async def test_tokens_are_the_providers_and_summed() -> None:
    steps = [
        Reply(calls=(Call("look", {}),), usage=TokenUsage(100, 10)),
        Reply(text="So.", usage=TokenUsage(200, 20)),
    ]
    chunks = await play(ScriptedModel(steps), FakeTools(LOOK))
    assert (done(chunks).tokens_used, done(chunks).usage_source) == (330, "provider")


@virtual_time
async def test_absent_usage_is_estimated_and_labelled() -> None:
    steps = [
        Reply(calls=(Call("look", {}),), usage=TokenUsage(100, 10)),
        Reply(text="So.", usage=None),
    ]
    chunks = await play(ScriptedModel(steps), FakeTools(LOOK))
    assert [turn.usage_source for turn in ends(chunks)] == ["provider", "estimate"]
    assert ends(chunks)[1].prompt_tokens > 0
    assert done(chunks).usage_source == "mixed"


@virtual_time
async def test_a_stopped_stream_is_estimated_from_what_was_sent_and_streamed() -> None:
    cancellation = Cancellation()
    asyncio.get_running_loop().call_later(5, cancellation.request)
    script: list[Item] = [TextDelta("x" * 350), Pause(100), Finished((), "stop", TokenUsage(1, 1))]
    chunks = await play(ScriptedModel([script]), FakeTools(LOOK), cancellation=cancellation)
    (turn,) = ends(chunks)
    assert (turn.usage_source, turn.completion_tokens) == ("estimate", 100)
    assert turn.prompt_tokens > 0


@virtual_time
async def test_an_unknown_finish_reason_with_text_is_a_stop_and_calls_always_count() -> None:
    calling: list[Item] = [Finished((RawCall("c", "look", "{}"),), "stop", TokenUsage(1, 1))]
    talking: list[Item] = [TextDelta("So."), Finished((), None, TokenUsage(1, 1))]
    chunks = await play(ScriptedModel([calling, talking]), FakeTools(LOOK))
    assert reason(chunks) == "completed"
    assert results(chunks) == {"c": "found"}


@virtual_time
async def test_calls_that_arrive_in_pieces_are_estimated_once() -> None:
    wanted = RawCall("c", "look", '{"q": "' + "x" * 689 + '"}')
    pieces: list[Item] = [CallProgress(400), CallProgress(302), Finished((wanted,), "tool_calls")]
    whole: list[Item] = [Finished((wanted,), "tool_calls")]
    costs = []
    for script in (pieces, whole):
        chunks = await play(ScriptedModel([script, say("So.")]), FakeTools(LOOK))
        costs.append(ends(chunks)[0].completion_tokens)
    assert costs == [201, 201]


@virtual_time
async def test_a_broken_stream_of_calls_costs_what_had_arrived() -> None:
    script: list[Item] = [CallProgress(350), ModelError("It is down.")]
    chunks = await play(ScriptedModel([script]), FakeTools(LOOK))
    (turn,) = ends(chunks)
    assert (turn.usage_source, turn.completion_tokens) == ("estimate", 100)


@pytest.mark.parametrize("written", ["\u200b\u200b\ufeff", "\u3164\u2060", "\x07\x1b"])
@virtual_time
async def test_an_answer_that_nobody_can_see_is_an_empty_one(written: str) -> None:
    chunks = await play(ScriptedModel([say(written), say("Here.")]), FakeTools(LOOK))
    assert (reason(chunks), text(chunks)) == ("completed", f"{written}Here.")
    assert [turn.finish_reason for turn in ends(chunks)] == ["empty", "stop"]
    chunks = await play(ScriptedModel([say(written), say(written)]), FakeTools(LOOK))
    assert reason(chunks) == "empty_answer"
