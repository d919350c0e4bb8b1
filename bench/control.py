"""`python -m bench.control`: what events, subscribers and rules cost a turn, in CPU time.

A run of a scripted model with a tool call in every turn is played once; its chunks are then fed
through what a live run has, part by part. The least of many rounds counts, beside a control: the
reading of the same chunks into a record, which every run does.
"""

import sys
import time
from collections.abc import Callable, Sequence

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip

from agents.core.chunks import OracleStreamChunk, Turn
from agents.core.config import AgentConfig
from agents.core.control.facts import Facts, RunBackground
from agents.core.notify import NotificationBus
from agents.core.notify.shipped import SHIPPED
from agents.core.rules.engine import RuleEngine
from agents.core.rules.reader import read_rule
from agents.core.rules.rule import Rule
from agents.core.rules.shipped import load_shipped_rules, read_shipped_texts
from agents.core.run_record import RunRecord
from tests.agents.core.recorded_runs import chunks_of
from tests.support.script import call, say

TURNS, ROUNDS = 40, 60
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
    chunks = chunks_of([call("look", n=n) for n in range(TURNS - 1)], config, then=say("So."))
    turns = sum(isinstance(chunk, Turn) and chunk.phase == "end" for chunk in chunks)
    record = measure(lambda: read(chunks), turns)
    facts = measure(lambda: feed(chunks, config), turns)
    bus = measure(lambda: feed(chunks, config, subscribed=True), turns)
    few, many = build_rules(10), build_rules(100)
    ten = measure(lambda: feed(chunks, config, few), turns)
    hundred = measure(lambda: feed(chunks, config, many), turns)
    everything = [*load_shipped_rules(), *build_rules(4)]
    whole = measure(lambda: feed(chunks, config, everything, subscribed=True), turns)
    texts = read_shipped_texts()
    reading = measure(lambda: list(map(read_rule, texts)), len(texts))
    print(
        f"control, a turn: events and facts {facts:.1f} µs, with {len(SHIPPED)} subscribers "
        f"{bus:.1f} µs; ten rules {ten - facts:.1f} µs, a hundred {hundred - facts:.1f} µs; "
        f"everything {whole:.1f} µs (the record of it {record:.1f} µs, "
        f"{whole / record:.2f} times); to read a rule {reading:.0f} µs"
    )
    return 0


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
    bus = NotificationBus(SHIPPED, facts) if subscribed else None
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


if __name__ == "__main__":
    sys.exit(main())
