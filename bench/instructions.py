"""`python -m bench.instructions`: what drives and watches a run, in instructions a turn.

CPU time depends on the neighbours; instructions, as valgrind's callgrind counts them, do not. Every
case has a process of its own: some runs that are not counted, then twenty of ten turns and five of
forty that are, without what is set up for them. Name cases to count only those.
"""

import argparse
import asyncio
import gc
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import AsyncExitStack
from pathlib import Path

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip

from agents.core.config import AgentConfig
from agents.core.loop import PLAIN, Control
from agents.core.ports import ChatModel
from bench.control import EVERYTHING, build_steps, open_client, play_run
from tests.support.script import say
from tests.support.scripted_model import ScriptedModel

ROOT = Path(__file__).resolve().parent.parent
LENGTHS = ((10, 20), (40, 5))
"""Turns of a run, and how many such runs are counted."""
MAX_TURNS = 50
"""More than are made: an answer ends each run, and no limit."""
CASES = {
    "plain": "in process, plain string of turns",
    "driver": "in process, the shipped behaviour as driver",
    "client-plain": "real client, plain string",
    "client-driver": "real client, driver",
    "client-everything": "real client, driver, every subscriber and rule switched on",
}
RATIOS = (
    ("driver", "plain", "driver against plain string"),
    ("client-driver", "client-plain", "driver against plain string"),
    ("client-everything", "client-driver", "everything against none of it"),
)
_TOTAL = re.compile(r"^(?:summary|totals): (\d+)", re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=", ".join(CASES))
    parser.add_argument("--play", action="store_true", help="be the process that is counted")
    options = parser.parse_args()
    if options.play:
        asyncio.run(play_case(options.cases[0]))
        return 0
    found = {case: count_case(case) for case in options.cases}
    for case, counts in found.items():
        print(f"{CASES[case]}: {' and '.join(f'{count:,.0f}' for count in counts)} thousand a turn")
    for case, floor, label in RATIOS:
        if case in found and floor in found:
            both = zip(found[case], found[floor], strict=True)
            print(f"{label}: {' and '.join(f'{ours / other:.3f}' for ours, other in both)}")
    return 0


def count_case(case: str) -> list[float]:
    """Return the thousands of instructions a turn, in runs of each length."""
    driver = "plain" if case.endswith("plain") else "oracle-agent"
    environment = {**os.environ, "PYTHONHASHSEED": "0", "ORACLE_DRIVER": driver}
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "counts"
        command = [
            *("valgrind", "--tool=callgrind", "--instr-atstart=no"),
            *("-q", f"--callgrind-out-file={output}"),
            *(sys.executable, "-m", "bench.instructions", case, "--play"),
        ]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
        dumps = [output.with_suffix(f".{number}").read_text() for number in (1, 2)]
    totals = [int(_TOTAL.findall(dump)[-1]) for dump in dumps]
    return [
        total / turns / runs / 1000 for total, (turns, runs) in zip(totals, LENGTHS, strict=True)
    ]


async def play_case(case: str) -> None:
    """Play the runs of a case, and have those counted that come after the first ones."""
    control = EVERYTHING if case.endswith("everything") else PLAIN
    for turns, runs in LENGTHS:
        await play_runs(case, control, turns, runs)
    gc.collect()
    gc.freeze()
    for turns, runs in LENGTHS:
        await play_runs(case, control, turns, runs, is_counted=True)


async def play_runs(
    case: str, control: Control, turns: int, runs: int, *, is_counted: bool = False
) -> None:
    config = AgentConfig(max_iterations=MAX_TURNS, token_budget=200_000)
    async with AsyncExitStack() as stack:
        models: list[ChatModel] = [
            await stack.enter_async_context(open_client(build_steps(turns)))
            if case.startswith("client")
            else ScriptedModel(build_steps(turns), then=say("So."))
            for _ in range(runs)
        ]
        if is_counted:
            tell_valgrind("--instr=on")
        for model in models:
            await play_run(model, config, control)
        if is_counted:
            tell_valgrind("--dump")
            tell_valgrind("--instr=off")


def tell_valgrind(*words: str) -> None:
    """Tell the valgrind that runs this process what to count."""
    quiet = subprocess.DEVNULL
    command: Sequence[str] = ("callgrind_control", *words, str(os.getpid()))
    subprocess.run(command, stdout=quiet, stderr=quiet, check=True)


if __name__ == "__main__":
    sys.exit(main())
