"""`python -m bench.flood`: a run of 100,000 events, with those that listen and without.

The model asks for a thousand calls in each turn, and one of twenty fails: each is an event when it
is asked for and another when it has ended. With the real client, as runs are, and with a model in
the process that costs nothing. The runs are played in turns, and the least CPU time of each counts.
"""

import asyncio
import sys
import time

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip

from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import PLAIN, Control, ConversationInput, run
from agents.core.ports import ChatModel
from agents.core.state import AgentState
from agents.llm import OpenAIChatModel
from bench.control import EVERYTHING, open_client
from tests.support.script import Call, Reply, say
from tests.support.scripted_model import ScriptedModel
from tests.support.tools import FakeTools, fails

TURNS, CALLS, FAILS_EACH, ROUNDS = 50, 1_000, 20, 3
CASES = {
    "nobody": PLAIN,
    "subscribers": Control(subscribers=EVERYTHING.subscribers),
    "subscribers and rules": EVERYTHING,
}


class FloodConfig(AgentConfig):
    """More of everything than anybody may ask for."""

    max_iterations: int = TURNS + 10
    token_budget: int = 1_000_000_000
    timeout_seconds: int = 3_600
    max_tool_calls_per_turn: int = CALLS


class WideClient(OpenAIChatModel):
    """The real client of a model that takes whatever it is sent."""

    window = 1_000_000_000


def main() -> int:
    for where, measure in (("real client", measure_with_client), ("in process", measure_alone)):
        least: dict[str, float] = {}
        for _ in range(ROUNDS):
            for name, control in CASES.items():
                seconds = asyncio.run(measure(control))
                least[name] = min(least.get(name, seconds), seconds)
        floor = least["nobody"]
        found = ", ".join(
            f"{name} {seconds:.1f} s ({seconds / floor:.3f} times)"
            for name, seconds in least.items()
        )
        print(f"flood, {2 * TURNS * CALLS:,} events in a run, {where}: {found}")
    return 0


async def measure_with_client(control: Control) -> float:
    async with open_client([*map(build_step, range(TURNS))], WideClient) as model:
        return await measure_run(model, control)


async def measure_alone(control: Control) -> float:
    steps = [*map(build_step, range(TURNS))]
    model = ScriptedModel(steps, window=WideClient.window, then=say("So."))
    return await measure_run(model, control)


async def measure_run(model: ChatModel, control: Control) -> float:
    """Return the seconds of CPU that a run takes."""
    config = FloodConfig()
    with FakeTools({"look": lambda n: f"found {n}", "fail": fails("broken")}) as tools:
        began = time.process_time()
        async for _ in run(
            AgentState(user_id="1", project_id="1", config=config),
            ConversationInput(system="Be brief.", question="What is it?"),
            tree=DefaultDecisionTree(config),
            model=model,
            tools=tools,
            clock=LoopClock(),
            control=control,
        ):
            pass
        return time.process_time() - began


def build_step(turn: int) -> Reply:
    return Reply(
        calls=tuple(
            Call("look" if number % FAILS_EACH else "fail", {"n": turn * CALLS + number})
            for number in range(CALLS)
        )
    )


if __name__ == "__main__":
    sys.exit(main())
