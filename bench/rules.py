"""`python -m bench.rules`: a rule tried on 1,000 stored runs, beside a replay of the same runs.

Runs of a scripted model, played through the loop and stored by the ledger. The machine is noisy,
so both are timed in turns, and the ratio counts.
"""

import statistics
import sys
import time
from collections.abc import Callable

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.core.management import call_command

from agents.core.config import AgentConfig
from agents.core.replay.engine import replay, summarize
from agents.core.rules.dry_run import summarize_trials
from agents.core.rules.reader import read_rule
from agents.models import AgentRun, RunEvent
from agents.replay_source import load_recordings
from agents.rule_trials import try_rule_on_runs
from tests.agents.audit.stored_runs import kept
from tests.agents.core.recorded_runs import chunks_of, stubborn

RUNS, DIFFERENT_RUNS, ROUNDS = 1_000, 40, 5
RULE = """
[rule]
id = "same-tool-fails"
trigger = "on_tool_complete"
[condition]
expression = "history.failures[result.tool_name] >= 3 and turn.token_usage < 0.9"
[[action]]
type = "notify"
message = "{tool} has failed three times."
"""


def main() -> int:
    call_command("migrate", verbosity=0)
    config = AgentConfig()
    played = [chunks_of([], config, then=stubborn(seed)) for seed in range(DIFFERENT_RUNS)]
    for number in range(RUNS):
        kept(played[number % DIFFERENT_RUNS])
    rule = read_rule(RULE)

    def try_rule() -> int:
        trials = try_rule_on_runs(rule, AgentRun.objects.all(), writes=lambda _: False)
        return summarize_trials(trials).fired

    def replay_runs() -> int:
        recordings = load_recordings(AgentRun.objects.all())
        return summarize(replay(recording) for recording in recordings).runs

    seconds: dict[str, list[float]] = {"rule": [], "replay": []}
    for _ in range(ROUNDS):
        seconds["rule"].append(measure(try_rule))
        seconds["replay"].append(measure(replay_runs))
    tried, control = (statistics.median(seconds[name]) for name in ("rule", "replay"))
    print(
        f"rules: one rule over {RUNS:,} stored runs ({RunEvent.objects.count():,} events) in "
        f"{tried:.2f} s, fired in {try_rule():,}; a replay of them {control:.2f} s; "
        f"{tried / control:.2f} times"
    )
    return 0


def measure(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


if __name__ == "__main__":
    sys.exit(main())
