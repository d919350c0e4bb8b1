"""Forecasts of a run's beginning, which the settings and the loop share."""

from hypothesis import given
from hypothesis import strategies as st

from agents.core.loop import ConversationInput
from agents.core.loop.forecast import MinimumBudgets, minimum_budgets
from agents.core.state import AgentState
from agents.core.tokens import MIN_ANSWER_TOKENS, schema_chars
from tests.agents.core.factories import limits, play
from tests.support.script import call, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, returns

WINDOW = 64_000


def needs(question: str, tools: FakeTools, window: int = WINDOW) -> MinimumBudgets:
    prompt = ConversationInput(system="Be brief.", question=question).build_prompt([])
    return minimum_budgets(prompt.chars, schema_chars(tools.schemas()), window)


def state_with(budget: int) -> AgentState:
    return AgentState(user_id="ada", project_id="engine", config=limits(), token_limit=budget)


async def test_the_loop_offers_tools_from_the_smallest_budget_on_and_not_below() -> None:
    tools = FakeTools({"look": returns("found")})
    smallest = needs("What is it?", tools).tools
    assert smallest is not None
    model = ScriptedModel([call("look"), say("So.")])
    await play(model, tools, state=state_with(smallest))
    assert model.requests[0].tools
    assert tools.started == 1
    model = ScriptedModel([say("So.")])
    await play(model, tools, state=state_with(smallest - 1))
    assert [request.tools for request in model.requests] == [()]


async def test_the_loop_asks_from_the_smallest_answer_on_and_not_below() -> None:
    tools = FakeTools({"look": returns("found")})
    smallest = needs("What is it?", tools).answer
    assert smallest is not None
    model = ScriptedModel([say("So.")])
    await play(model, tools, state=state_with(smallest))
    assert len(model.requests) == 1
    model = ScriptedModel([])
    await play(model, tools, state=state_with(smallest - 1))
    assert model.requests == []


@given(st.integers(0, 200_000), st.integers(0, 100_000), st.integers(1_000, 200_000))
def test_tools_need_more_than_an_answer_and_a_small_window_has_room_for_neither(
    prompt: int, tools: int, window: int
) -> None:
    found = minimum_budgets(prompt, tools, window)
    if found.answer is not None:
        assert found.answer <= window
    if found.tools is not None and found.answer is not None:
        assert found.tools >= found.answer + MIN_ANSWER_TOKENS
    larger = minimum_budgets(prompt, tools, 10**9)
    assert larger.tools is not None
    assert found in (
        larger,
        MinimumBudgets(found.answer, None),
        MinimumBudgets(None, found.tools),
    )
