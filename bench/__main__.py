"""`make bench`: our CPU time as a multiple of a hand-written httpx loop doing the same job.

Ours and the floor take turns, five rounds, and the medians are compared: the machine is noisy,
a ratio within one run is not. The yardstick lies beside a developer's checkout; without it there
is nothing to compare with, and this says so.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
YARDSTICK = ROOT.parent / "shared" / "bench"
TRACES = ROOT.parent / "shared" / "traces"
ALL_KINDS = "exact,volatile,cycle,near"
ROUNDS = 5
JOBS = ("mixed", "turns", "tokens", "long")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--runs", type=int, default=20, help="runs per job and round")
    options = parser.parse_args()
    if not YARDSTICK.is_dir():
        print("bench: skipped, the yardstick is not beside this checkout")
        return 0
    with run_endpoint() as base_url:
        floor, ours, stored = [], [], []
        for number in range(options.rounds):
            print(f"round {number + 1} of {options.rounds}", file=sys.stderr)
            floor.append(measure(YARDSTICK / "floor" / "raw_httpx.py", base_url, options.runs))
            ours.append(measure(ROOT / "bench" / "ours.py", base_url, options.runs))
            stored.append(measure(ROOT / "bench" / "ours_stored.py", base_url, options.runs))
        print("loop, client and tools against the floor")
        report(floor, ours)
        print("the same with runtime, ledger on SQLite and a reader")
        report(floor, stored)
        report_delay(base_url, options.rounds)
        report_chat(base_url, options.rounds)
    sys.stdout.flush()
    subprocess.run([sys.executable, "-m", "bench.settings"], cwd=ROOT, check=True)
    for name in (
        "bench.audit",
        "bench.replay",
        "bench.control",
        "bench.rules",
        "bench.vault",
        "bench.search",
        "bench.retrieval",
    ):
        subprocess.run([sys.executable, "-m", name], cwd=ROOT, check=False)
    for module in ("bench.search", "bench.vault"):
        subprocess.run([sys.executable, "-m", module, "--postgresql"], cwd=ROOT, check=False)
    report_stuck_rules()
    return 0


@contextmanager
def run_endpoint() -> Iterator[str]:
    """The yardstick's scripted endpoint, on a free port of loopback."""
    command = [sys.executable, str(YARDSTICK / "fake_llm.py"), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[2]
        finally:
            process.terminate()


def measure(script: Path, base_url: str, runs: int) -> dict[str, Any]:
    path = os.pathsep.join([str(YARDSTICK / "floor"), str(ROOT)])
    command = [sys.executable, str(script), "--base-url", base_url, "--runs", str(runs)]
    result = subprocess.run(
        [*command, "--jobs", ",".join(JOBS), "--concurrent", "0"],
        env={**os.environ, "PYTHONPATH": path, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    if result.returncode:
        raise SystemExit(f"{script.name} failed:\n{result.stderr}")
    parsed: dict[str, Any] = json.loads(result.stdout)
    return parsed


def report(floor: list[dict[str, Any]], ours: list[dict[str, Any]]) -> None:
    print(f"{'job':8} {'floor ms':>9} {'ours ms':>9} {'ratio':>6}   CPU of one run, medians")
    for job in JOBS:
        ratio = statistics.median(
            ours_round[job]["cpu_ms"] / floor_round[job]["cpu_ms"]
            for ours_round, floor_round in zip(ours, floor, strict=True)
        )
        print(
            f"{job:8} {median_cpu_ms(floor, job):9.2f} {median_cpu_ms(ours, job):9.2f} {ratio:6.2f}"
        )
    for name, rounds in (("floor", floor), ("ours", ours)):
        growth = statistics.median(
            (r["long"]["cpu_ms"] / 51) / (r["turns"]["cpu_ms"] / 11) for r in rounds
        )
        print(f"{name}: CPU per turn at 50 turns is {growth:.2f} times that at 10 turns")


def report_delay(base_url: str, rounds: int) -> None:
    """From the model's token to a reader in the same process, above bare streams."""
    command = [sys.executable, "-m", "bench.delay", "--base-url", base_url]
    command += ["--rounds", str(rounds)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    print("delay of a reader at 50 runs, ms     control    ours   above")
    for name, found in json.loads(done.stdout).items():
        row = (found["control"], found["ours"], found["above"])
        print(f"  {name:32} " + " ".join(f"{value:7.1f}" for value in row))


def report_chat(base_url: str, rounds: int) -> None:
    """Fifty pages beside a bare relay: it prints its own table."""
    sys.stdout.flush()
    command = [sys.executable, "-m", "bench.chat", "--base-url", base_url]
    subprocess.run([*command, "--rounds", str(rounds)], cwd=ROOT, check=True)


def report_stuck_rules() -> None:
    """Print how well the stuck rules do on recorded runs, and what they save."""
    if not TRACES.is_dir():
        print("stuck rules: skipped, the recorded runs are not there")
        return
    for title, kinds in (("loops", "exact,volatile,cycle"), ("all kinds", ALL_KINDS)):
        command = [sys.executable, str(TRACES / "score.py"), "--json", "--kinds", kinds]
        command += ["--cmd", f"{sys.executable} -m agents.core.stuck"]
        found = json.loads(
            subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
        )
        wasted = found["wasted_turns_stuck_cap30/cap15/cap30+det/cap15+det"]
        print(
            f"stuck rules, {title}: accuracy {found['accuracy']:.1f} %, false positives "
            f"{found['FPR']:.1f} %, recall {found['recall']:.1f} %; turns wasted with a limit of "
            f"30 {wasted[0]}, by default {wasted[3]}; successes stopped "
            f"{found['success_cut_by_detector']}, over 15 turns {found['success_over_15']}"
        )


def median_cpu_ms(rounds: list[dict[str, Any]], job: str) -> float:
    return float(statistics.median(r[job]["cpu_ms"] for r in rounds))


if __name__ == "__main__":
    sys.exit(main())
