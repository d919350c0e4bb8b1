"""Runs played through the real loop and read back as recordings."""

import random
from collections.abc import Iterable, Sequence
from typing import Any

from agents.core.chunks import Done, OracleStreamChunk, to_dict
from agents.core.config import AgentConfig
from agents.core.decisions import build_tree
from agents.core.messages import ModelError, ModelRequest
from agents.core.replay.event_reader import build_recording
from agents.core.replay.recording import Recording
from agents.core.stuck import DEFAULT_STUCK_RULES, ProgressTracker, StuckRules
from tests.agents.core.factories import fresh, play
from tests.support.script import Call, calls, say
from tests.support.scripted_model import Answer, ModelStep, ScriptedModel
from tests.support.tools import FakeTools, Tool, fails, returns, slow
from tests.support.virtual import run_virtual

TOOLS: dict[str, Tool] = {
    "look": lambda **arguments: f"page {arguments.get('page')}",
    "same": returns("same"),
    "fail": fails("broken"),
    "save": returns("saved", writes=True),
    "slow": slow(4),
    "long": lambda **arguments: "word " * (60 * arguments.get("page", 1)),
    "delegate_librarian": returns("summary"),
}


def recording_of(
    chunks: Iterable[OracleStreamChunk], config: AgentConfig, tree: str = "default", **known: Any
) -> Recording:
    """What a run left, as a recording; of one that has not ended too."""
    kept = list(chunks)
    done = next((chunk for chunk in kept if isinstance(chunk, Done)), None)
    ending = {"reason": done.termination_reason, "outcome": done.outcome} if done else {}
    in_force = config.restrict_to(build_tree(tree, config).get_config())
    values = {"id": "run", "config": in_force, "tree": tree, **ending, **known}
    return build_recording(map(to_dict, kept), **values)


def chunks_of(
    steps: Sequence[ModelStep],
    config: AgentConfig,
    *,
    tree: str = "default",
    stuck: StuckRules = DEFAULT_STUCK_RULES,
    then: ModelStep | None = None,
    **how: Any,
) -> list[OracleStreamChunk]:
    """A scripted run in virtual time."""

    async def go() -> list[OracleStreamChunk]:
        with FakeTools(TOOLS) as tools:
            return await play(
                ScriptedModel(steps, then=then),
                tools,
                tree=build_tree(tree, config),
                state=fresh(config, progress=ProgressTracker(rules=stuck)),
                **how,
            )

    return run_virtual(go(), thread_grace=0.002)


def recorded(
    steps: Sequence[ModelStep], config: AgentConfig | None = None, **how: Any
) -> Recording:
    """A scripted run, read back."""
    config = config or AgentConfig()
    return recording_of(chunks_of(steps, config, **how), config, how.get("tree", "default"))


# -- a model that nothing can turn aside ----------------------------------------------------------

HABITS = {
    "steady": ["look"],
    "stuck": ["same", "same", "same", "look"],
    "failing": ["fail", "fail", "fail", "look"],
    "slow": ["slow", "look"],
    "mixed": list(TOOLS),
}


def stubborn(seed: int, habit: str = "") -> ModelStep:
    """A model that does the same whatever it is told; it answers at once when it must."""
    rng = random.Random(seed)
    names = HABITS[habit or rng.choice(list(HABITS))]
    ends_at = rng.choice([3, 6, 10, 20, 60])
    plan = [_reply(rng, names, done=turn >= ends_at) for turn in range(60)]
    if rng.random() < 0.1:
        plan[rng.randrange(12)] = ModelError("down")
    turns = iter(plan)

    def answer(request: ModelRequest) -> Answer:
        planned = next(turns)
        is_last = request.tool_choice == "none" and not isinstance(planned, Exception)
        return say("That is all.") if is_last else planned

    return answer


def _reply(rng: random.Random, names: list[str], *, done: bool) -> Answer:
    pace = rng.choice([0, 0.1, 0.3, 1])
    if done and rng.random() < 0.7:
        return say("It is so. " * rng.choice([1, 20]), piece_delay=pace)
    if rng.random() < 0.03:
        return say("")
    chosen = rng.choices(names, k=rng.choice([1, 1, 1, 2, 4]))
    wanted = [
        Call(name, {} if name in ("same", "save") else {"page": rng.randrange(1, 30)})
        for name in chosen
    ]
    return calls(*wanted, text="hm " * rng.choice([2, 3, 30]), piece_delay=pace)
