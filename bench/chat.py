"""What streaming costs with the whole product in the path, beside a bare relay in the same run.

Fifty pages, a token every 50 ms each: model, loop, ledger on SQLite, Markdown, templates, daphne.
CPU is that of the server process. Delay is from the moment the model wrote a token to the frame
that first shows it, and the relay's own delay is the control. `python -m bench.chat --base-url URL`
prints a table; `make bench` includes it.
"""

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import websockets

from tests.support.server import environment, free_port, prepare

ROOT = Path(__file__).resolve().parent.parent
CLIENTS = 50
TOKENS = 400
FLOOD_TOKENS = 20_000
RAMP_UP_SECONDS = 4.0
"""Seconds in which they begin: fifty people do not march."""
PACED_DIRECTIVE = {"turns": 0, "content_tokens": TOKENS, "token_delay_ms": 50, "stamp": True}
RUNS, VIEWERS = 5, 10
WATCHED_DIRECTIVE = {**PACED_DIRECTIVE, "content_tokens": TOKENS // 2}
STAMP_PATTERN = re.compile(r"\b\d{19}\b")
ENDED_PATTERN = re.compile(r'class="badge (?:completed|limited|cancelled|failed)"')
CREATE_USERS_SCRIPT = """
import json, sys, uuid
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from agents.models import Membership, Project, UserAgentConfig
project = Project.objects.create(name="bench")
found = []
for n in range({count}):
    user = User.objects.create_user(f"user{{n}}")
    Membership.objects.create(project=project, user=user)
    UserAgentConfig.objects.update_or_create(
        user=user, defaults=dict(token_budget=200_000, timeout_seconds=600))
    session = SessionStore()
    session[SESSION_KEY] = str(user.pk)
    session[BACKEND_SESSION_KEY] = "django.contrib.auth.backends.ModelBackend"
    session[HASH_SESSION_KEY] = user.get_session_auth_hash()
    session.create()
    found.append(session.session_key)
print(json.dumps([str(project.pk), found]))
"""


@dataclass
class Lags:
    """Milliseconds from the model to a frame."""

    every: list[float] = field(default_factory=list)
    first: list[float] = field(default_factory=list)
    bytes: int = 0

    def record(self, frame: str, seen: set[str]) -> None:
        now = time.time_ns()
        self.bytes += len(frame)
        new = set(STAMP_PATTERN.findall(frame)) - seen
        lags = [(now - int(stamp)) / 1e6 for stamp in new]
        if lags and not seen:
            self.first.append(max(lags))
        self.every += lags
        seen |= new


def percentile(values: list[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


@dataclass(frozen=True)
class MeasuredServer:
    """A server that is measured."""

    address: str
    pid: int
    project: str = ""
    sessions: tuple[str, ...] = ()

    def get_cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def run_child(command: list[str], env: dict[str, str], ready: str) -> Iterator[int]:
    """A process of ours, up when `ready` answers; ended with the block."""
    with subprocess.Popen(
        command, env=env, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            for _ in range(200):
                try:
                    urllib.request.urlopen(ready, timeout=1)  # noqa: S310  # our own address
                    break
                except OSError:
                    time.sleep(0.1)
            yield process.pid
        finally:
            process.terminate()


@contextmanager
def run_oracle(base_url: str) -> Iterator[MeasuredServer]:
    with tempfile.TemporaryDirectory(prefix="oracle-bench-") as name:
        folder, port = Path(name), free_port()
        prepare(folder)
        origin = f"http://127.0.0.1:{port}"
        env = environment(folder, ORACLE_LLM_BASE_URL=base_url, ORACLE_ORIGINS=origin)
        script = [
            sys.executable,
            "manage.py",
            "shell",
            "-v0",
            "-c",
            CREATE_USERS_SCRIPT.format(count=CLIENTS),
        ]
        made = subprocess.run(script, env=env, cwd=ROOT, capture_output=True, text=True, check=True)
        project, sessions = json.loads(made.stdout)
        serve = [sys.executable, "manage.py", "serve", "--port", str(port), "--grace", "0"]
        with run_child(serve, env, f"{origin}/readyz") as pid:
            yield MeasuredServer(origin, pid, project, tuple(sessions))


@contextmanager
def run_relay(base_url: str) -> Iterator[MeasuredServer]:
    port = free_port()
    env = {**os.environ, "ORACLE_LLM_BASE_URL": base_url}
    serve = [sys.executable, "-m", "daphne", "-p", str(port), "-v0", "bench.relay:application"]
    with run_child(serve, env, f"http://127.0.0.1:{port}/") as pid:
        yield MeasuredServer(f"http://127.0.0.1:{port}", pid)


async def follow_page(
    site: MeasuredServer, number: int, directive: Mapping[str, object], lags: Lags, key: str = ""
) -> None:
    """A page of Oracle's: resumes, asks if there is something to ask, follows to the end."""
    key = key or new_key()
    socket = site.address.replace("http", "ws") + f"/ws/{site.project}/{key}/"
    headers = {"Cookie": f"sessionid={site.sessions[number]}"}
    origin = websockets.Origin(site.address)
    seen: set[str] = set()
    async with websockets.connect(
        socket, additional_headers=headers, origin=origin, max_size=None, compression=None
    ) as page:
        await page.send(json.dumps({"verb": "resume", "head": "", "live": []}))
        if directive:
            question = json.dumps(directive)
            submit = {"verb": "submit", "question": question, "client_message_id": f"{key}"}
            await page.send(json.dumps(submit))
        async for frame in page:
            text = str(frame)
            lags.record(text, seen)
            if beat := re.search(r'id="beat" hidden data-frames="(\d+)"', text):
                await page.send(json.dumps({"verb": "ack", "frames": int(beat[1])}))
            if ENDED_PATTERN.search(text):
                return


def new_key() -> str:
    return f"00000000-0000-4000-8000-{time.time_ns() % 10**12:012d}"


async def follow_relay(
    site: MeasuredServer, number: int, directive: Mapping[str, object], lags: Lags
) -> None:
    seen: set[str] = set()
    socket = site.address.replace("http", "ws") + "/"
    async with websockets.connect(socket, max_size=None, compression=None) as page:
        await page.send(json.dumps(directive))
        async for frame in page:
            if frame == "<done>":
                return
            lags.record(str(frame), seen)


async def measure_clients(site: MeasuredServer) -> tuple[Lags, float]:
    """All at once, once they have begun one after the other; lags, and CPU in ms per 1,000."""
    lags, before = Lags(), site.get_cpu_seconds()
    one = follow_page if site.sessions else follow_relay

    async def later(number: int) -> None:
        await asyncio.sleep(number * RAMP_UP_SECONDS / CLIENTS)
        await one(site, number, PACED_DIRECTIVE, lags)

    await asyncio.gather(*(later(number) for number in range(CLIENTS)))
    assert len(lags.every) == CLIENTS * TOKENS, len(lags.every)
    return lags, (site.get_cpu_seconds() - before) * 1e6 / (CLIENTS * TOKENS)


async def measure_viewers(site: MeasuredServer, viewers: int) -> float:
    """CPU in ms of one of five runs at once that each so many pages follow."""
    lags, before = Lags(), site.get_cpu_seconds()
    runs = [(number, new_key()) for number in range(RUNS)]
    watching = [follow_page(site, n, {}, lags, key) for n, key in runs for _ in range(viewers - 1)]
    asking = [follow_page(site, n, WATCHED_DIRECTIVE, lags, key) for n, key in runs]
    await asyncio.gather(*watching, *asking)
    return (site.get_cpu_seconds() - before) * 1e3 / RUNS


async def measure_flood(site: MeasuredServer) -> float:
    """Tokens a second that reach one page when the model does not pause."""
    began = time.perf_counter()
    await follow_page(site, 0, {"turns": 0, "content_tokens": FLOOD_TOKENS}, Lags())
    return FLOOD_TOKENS / (time.perf_counter() - began)


def main(base_url: str, rounds: int) -> None:
    found = []
    with run_relay(base_url) as control, run_oracle(base_url) as site:
        for number in range(rounds):
            print(f"chat, round {number + 1} of {rounds}", file=sys.stderr)
            found.append(
                (asyncio.run(measure_clients(control)), asyncio.run(measure_clients(site)))
            )
        alone, many = (
            [asyncio.run(measure_viewers(site, n)) for _ in range(3)] for n in (1, VIEWERS)
        )
        floods = [asyncio.run(measure_flood(site)) for _ in range(3)]
    report(found)
    cost = statistics.median(many) / statistics.median(alone)
    print(f"{VIEWERS} viewers of a run: {cost:.2f} times the CPU of one")
    print(f"flood of one page: {statistics.median(floods):,.0f} tokens a second")


def report(found: list[tuple[tuple[Lags, float], tuple[Lags, float]]]) -> None:
    middle = statistics.median
    ratio = middle(ours / control for (_, control), (_, ours) in found)
    cpu = [middle(pair[n][1] for pair in found) for n in (0, 1)]
    print(f"chat, CPU per 1,000 tokens: relay {cpu[0]:.0f} ms, ours {cpu[1]:.0f} ms: {ratio:.2f}")
    for name, share, pick in (
        ("p50", 0.5, "every"),
        ("p99", 0.99, "every"),
        ("first text p95", 0.95, "first"),
    ):
        values = [
            (percentile(getattr(control, pick), share), percentile(getattr(ours, pick), share))
            for (control, _), (ours, _) in found
        ]
        above = middle(ours - control for control, ours in values)
        control, ours = middle(c for c, _ in values), middle(o for _, o in values)
        print(f"chat, delay {name}: relay {control:.1f} ms, ours {ours:.1f} ms, above {above:.1f}")
    print(f"chat, bytes per token: {middle(o.bytes for _, (o, _) in found) / CLIENTS / TOKENS:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--base-url", required=True)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    main(options.base_url, options.rounds)
