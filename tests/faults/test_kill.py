"""SC-005: `kill -9` at random moments. What a client had received is there after the restart."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
CHECK = """
import django, json, sys
django.setup()
from agents.models import AgentRun, RunEvent
from agents.runtime.settling import sweep
from datetime import timedelta
swept = sweep(timedelta(seconds=90), lambda run_id: False)
runs = {str(r.pk): [r.outcome, r.reason, r.answer] for r in AgentRun.objects.all()}
events = {}
for e in RunEvent.objects.order_by("run", "seq"):
    events.setdefault(str(e.run_id), []).append([e.seq, e.content if e.kind == "content" else ""])
print(json.dumps({"swept": swept, "runs": runs, "events": events}))
"""
SETUP = """
import django
django.setup()
from django.core.management import call_command
call_command("migrate", verbosity=0)
from django.contrib.auth.models import User
from agents.models import Project
User.objects.create_user("ada"); Project.objects.create(name="engine")
"""


def environment(folder: Path) -> dict[str, str]:
    return {
        **os.environ,
        "ORACLE_DATA_DIR": str(folder),
        "DJANGO_SETTINGS_MODULE": "oracle_site.settings",
        "PYTHONPATH": str(ROOT),
    }


def program(folder: Path, source: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", source],
        env=environment(folder),
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def killed_after(folder: Path, seconds: float) -> list[dict[str, object]]:
    """What a client received of a process that was killed so long after it was ready."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.faults.worker"],
        env=environment(folder),
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert json.loads(process.stdout.readline()) == {"ready": True}
        time.sleep(seconds)  # the moment of the kill, not a synchronisation
        process.send_signal(signal.SIGKILL)
        received = []
        for line in process.stdout:
            if line.endswith("\n"):
                received.append(json.loads(line))
    return received


def lost(received: list[dict[str, object]], stored: dict[str, list[list[object]]]) -> list[str]:
    """What was received and is not stored exactly so."""
    kept = {(run, seq, text) for run, events in stored.items() for seq, text in events}
    missing = [r for r in received if (r["run"], r["seq"], r["text"]) not in kept]
    return [json.dumps(entry) for entry in missing]


def play(folder: Path, rounds: int, seed: int) -> dict[str, int]:
    rng = random.Random(seed)
    fresh = folder / "fresh"
    program(fresh, SETUP)
    figures = {"rounds": rounds, "received": 0, "lost": 0, "left running": 0, "interrupted": 0}
    for number in range(rounds):
        site = shutil.copytree(fresh, folder / str(number))
        received = killed_after(site, rng.uniform(0.0, 1.2))
        state = json.loads(program(site, CHECK))
        figures["received"] += len(received)
        figures["lost"] += len(lost(received, state["events"]))
        figures["left running"] += sum(outcome is None for outcome, _, _ in state["runs"].values())
        figures["interrupted"] += state["swept"]
        for events in state["events"].values():
            assert [seq for seq, _ in events] == list(range(1, len(events) + 1))
        shutil.rmtree(site)
    return figures


def test_nothing_that_was_received_is_lost_when_the_process_is_killed(tmp_path: Path) -> None:
    figures = play(tmp_path, rounds=4, seed=1)
    assert figures["received"] > 0
    assert figures["lost"] == figures["left running"] == 0


@pytest.mark.long
def test_nothing_is_lost_in_two_hundred_kills(tmp_path: Path) -> None:
    figures = play(tmp_path, rounds=200, seed=2)
    print(f"\nkill -9: {figures}")
    assert figures["interrupted"] > 100
    assert figures["lost"] == figures["left running"] == 0
