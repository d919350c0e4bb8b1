"""`python -m bench.control`: what events, subscribers and rules cost a turn, in CPU time.

A run of a scripted model with a tool call in every turn is played once; its chunks are then fed
through what a live run has, part by part. The least of many rounds counts, beside a control: the
reading of the same chunks into a record, which every run does. At last whole runs are played with
the real client over a transport in the process, with everything switched on and without, in turns.
"""

import asyncio
import gc
import sys
import time
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip

import httpx

from agents.core.chunks import OracleStreamChunk, Turn
from agents.core.clock import LoopClock
from agents.core.config import AgentConfig
from agents.core.control.facts import Facts, RunBackground
from agents.core.decisions.trees.default import DefaultDecisionTree
from agents.core.loop import Control, ConversationInput, run
from agents.core.notify import NotificationBus, Subscriber
from agents.core.notify.shipped import SHIPPED
from agents.core.ports import ChatModel
from agents.core.rules.engine import RuleEngine
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.shipped import load_shipped_rules, read_shipped_texts
from agents.core.run_record import RunRecord
from agents.core.state import AgentState
from agents.llm import OpenAIChatModel
from tests.agents.core.recorded_runs import chunks_of
from tests.support.script import Reply, Script, call, say
from tests.support.tools import FakeTools
from tests.support.transport import ScriptedTransport

TURNS, ROUNDS, RUN_ROUNDS = 40, 60, 40
SUBSCRIBERS: tuple[Subscriber, ...] = tuple(
    replace(each, id=f"{each.id}-{copy}") for copy in (1, 2) for each in SHIPPED
)
"""Twelve that listen."""
RULE = """[rule]
id = "rule-{number}"
trigger = "{trigger}"
[condition]
expression = "{condition}"
[[action]]
type = "log"
message = "so"
"""
CONDITIONS = (
    ("on_tool_complete", "result.duration_ms > 20000"),
    ("on_turn_end", "history.total_tool_calls >= 800 and turn.token_usage > 0.5"),
    ("on_tool_failure", "history.failures[result.tool_name] >= 3"),
    ("on_turn_start", "turn.context_usage > 0.9"),
)


def main() -> int:
    config = AgentConfig(max_iterations=TURNS, token_budget=200_000)
    chunks = chunks_of(build_steps(TURNS), config, then=say("So."))
    turns = sum(isinstance(chunk, Turn) and chunk.phase == "end" for chunk in chunks)
    record = measure(lambda: read(chunks), turns)
    facts = measure(lambda: feed(chunks, config), turns)
    bus = measure(lambda: feed(chunks, config, subscribed=True), turns)
    few, many = build_rules(10), build_rules(100)
    ten = measure(lambda: feed(chunks, config, few), turns)
    hundred = measure(lambda: feed(chunks, config, many), turns)
    whole = measure(lambda: feed(chunks, config, EVERYTHING.rules, subscribed=True), turns)
    texts = read_shipped_texts()
    reading = measure(lambda: list(map(read_rule, texts)), len(texts))
    plain, full = asyncio.run(measure_runs(config, EVERYTHING))
    print(
        f"control, a turn: events and facts {facts:.1f} µs, with {len(SUBSCRIBERS)} subscribers "
        f"{bus:.1f} µs; ten rules {ten - facts:.1f} µs, a hundred {hundred - facts:.1f} µs; "
        f"everything {whole:.1f} µs (the record of it {record:.1f} µs, "
        f"{whole / record:.2f} times); to read a rule {reading:.0f} µs; a turn with the real "
        f"client {plain:.0f} µs, with everything by this {1 + whole / plain:.3f} times as much, "
        f"in whole runs {full / plain:.3f} times"
    )
    return 0


async def measure_runs(config: AgentConfig, control: Control) -> tuple[float, float]:
    """Return the microseconds that a turn takes in whole runs, without all of it and with: the
    least of each, in turns. What is in memory before is frozen, as `serve` does."""
    gc.collect()
    gc.freeze()
    plain = whole = float("inf")
    for _ in range(RUN_ROUNDS):
        plain = min(plain, await measure_run(config, Control()))
        whole = min(whole, await measure_run(config, control))
    return 1_000_000 * plain / TURNS, 1_000_000 * whole / TURNS


async def measure_run(config: AgentConfig, control: Control) -> float:
    async with open_client(build_steps(TURNS)) as model:
        began = time.process_time()
        await play_run(model, config, control)
        return time.process_time() - began


@asynccontextmanager
async def open_client(
    steps: Sequence[Reply], client: type[OpenAIChatModel] = OpenAIChatModel
) -> AsyncIterator[ChatModel]:
    """Give the real client, over a transport in the process that answers with these steps."""
    script = Script(steps, then=say("So."), unused_ok=True)
    async with (
        ScriptedTransport(script) as transport,
        httpx.AsyncClient(transport=transport) as http,
    ):
        yield client(http, transport.base_url, "scripted", api_key="sk", clock=LoopClock())


def build_steps(turns: int) -> list[Reply]:
    """Return the calls of a run of so many turns, which an answer ends."""
    return [call("look", n=n) for n in range(turns - 1)]


async def play_run(model: ChatModel, config: AgentConfig, control: Control) -> None:
    async for _ in run(
        AgentState(user_id="1", project_id="1", config=config),
        ConversationInput(system="Be brief.", question="What is it?"),
        tree=DefaultDecisionTree(config),
        model=model,
        tools=FakeTools({"look": lambda n: f"found {n}"}),
        clock=LoopClock(),
        control=control,
    ):
        pass


def build_rules(count: int) -> list[Rule]:
    """Return rules that look and do not fire, as most do."""
    return [
        read_rule(RULE.format(number=number, trigger=trigger, condition=condition))
        for number in range(count)
        for trigger, condition in [CONDITIONS[number % len(CONDITIONS)]]
    ]


def read(chunks: Sequence[OracleStreamChunk]) -> None:
    record = RunRecord()
    for chunk in chunks:
        record.add(chunk)


def feed(
    chunks: Sequence[OracleStreamChunk],
    config: AgentConfig,
    rules: Sequence[Rule] = (),
    *,
    subscribed: bool = False,
) -> None:
    facts = Facts(RunBackground(config=config))
    bus = NotificationBus(SUBSCRIBERS, facts) if subscribed else None
    engine = RuleEngine(rules) if rules else None
    for chunk in chunks:
        for event in facts.feed(chunk):
            if bus is not None:
                bus.emit(event, chunk.at)
            if engine is not None:
                engine.feed(facts, event)


def measure(work: Callable[[], object], parts: int) -> float:
    """Return the microseconds of CPU that a part of the work takes."""
    least = float("inf")
    for _ in range(ROUNDS):
        began = time.process_time()
        work()
        least = min(least, time.process_time() - began)
    return 1_000_000 * least / parts


EVERYTHING = Control(subscribers=SUBSCRIBERS, rules=(*load_shipped_rules(), *build_rules(4)))

if __name__ == "__main__":
    sys.exit(main())
