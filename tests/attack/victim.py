"""Another person, in a process of their own: what they notice of an attack on the same server.

They open a page again and again, follow an answer, and ask whether the server is alive. A line of
JSON in says for how long; a line of JSON out says how long everything took, in seconds.
"""

import asyncio
import json
import re
import sys
import time
from bisect import bisect
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from operator import sub
from pathlib import Path
from uuid import uuid4

import httpx

from tests.attack.model import Say
from tests.attack.scene import ENDED
from tests.attack.target import Somebody, cpu_seconds

HOME = "127.0.0.1"
PAUSE = 0.05
TICK = 0.02
WORD_SECONDS = 0.05
LATEST_SECONDS = 45.0
"""After so long a frame, a page or an answer counts as never."""
STAMP = re.compile(r"\b\d{19}\b")
BEAT = re.compile(r'id="beat"[^>]*data-frames="(\d+)"')


Took = tuple[float, float]
"""Seconds; and how many of them the server was ready to run and got no processor, because others on
this machine had it. What its own threads had is its own fault. Or how many of them the one who
measures got none, if that is more."""


@dataclass
class Noticed:
    """How long everything took, in the order it happened."""

    pages: list[Took] = field(default_factory=list)
    frames: list[Took] = field(default_factory=list)
    """From the moment the model said a word to the frame that shows it."""
    health: list[Took] = field(default_factory=list)
    words: int = 0
    """That were shown, of so many."""
    asked: int = 0
    refused: int = 0
    """Pages that were not answered with 200."""


class Machine:
    """How long the main thread of the server has waited for a processor, moment by moment; how long
    the other threads of the server have had one; and how long this process, which measures, waited.
    """

    def __init__(self, pid: int) -> None:
        self._main, self._all = Path(f"/proc/{pid}/schedstat"), Path(f"/proc/{pid}/stat")
        self._mine = Path("/proc/self/schedstat")
        self._at: list[int] = []
        self._seen: list[tuple[float, float, float]] = []

    def look(self) -> None:
        waited = others = mine = 0.0
        if self._main.exists():
            ran, waited = _ran_and_waited(self._main)
            _, mine = _ran_and_waited(self._mine)
            others = cpu_seconds(self._all.read_text()) - ran
        self._at.append(time.time_ns())
        self._seen.append((waited, others, mine))

    def took(self, since: int) -> Took:
        """What it took from a moment until now."""
        self.look()
        before = self._seen[max(0, bisect(self._at, since) - 1)]
        waited, others, mine = map(sub, self._seen[-1], before)
        seconds = (self._at[-1] - since) / 1e9
        return seconds, min(seconds, max(waited - max(0.0, others), mine))

    async def watch(self, until: float) -> None:
        while time.monotonic() < until:
            self.look()
            await asyncio.sleep(TICK)


def _ran_and_waited(schedstat: Path) -> tuple[float, float]:
    ran, waited, _ = schedstat.read_text().split()
    return int(ran) / 1e9, int(waited) / 1e9


async def live(me: Somebody, pid: int, seconds: float) -> Noticed:
    noticed, machine = Noticed(), Machine(pid)
    machine.look()
    until = time.monotonic() + seconds
    transport = httpx.AsyncHTTPTransport(local_address=HOME)
    async with httpx.AsyncClient(
        base_url=me.address, headers=me.headers, transport=transport, timeout=LATEST_SECONDS
    ) as http:
        await asyncio.gather(
            machine.watch(until),
            _ask(http, f"/c/{me.talk}/", machine, noticed.pages, noticed, until),
            _ask(http, "/healthz", machine, noticed.health, noticed, until),
            _read(me, machine, noticed, max(10, int(seconds / WORD_SECONDS))),
        )
    return noticed


async def _ask(
    http: httpx.AsyncClient,
    path: str,
    machine: Machine,
    took: list[Took],
    noticed: Noticed,
    until: float,
) -> None:
    """Open a page again and again."""
    while time.monotonic() < until:
        began = time.time_ns()
        try:
            noticed.refused += (await http.get(path)).status_code != 200
        except httpx.HTTPError:
            noticed.refused += 1
        took.append(machine.took(began))
        await asyncio.sleep(PAUSE)


async def _read(me: Somebody, machine: Machine, noticed: Noticed, words: int) -> None:
    """Ask something, and read the answer as a page does."""
    seen: set[str] = set()
    noticed.asked = words
    with suppress(TimeoutError, OSError):
        async with (
            asyncio.timeout(words * WORD_SECONDS + LATEST_SECONDS),
            me.connect(source=HOME) as socket,
        ):
            question = Say(words=words, delay=WORD_SECONDS).question()
            await socket.send(json.dumps({"verb": "resume", "head": "", "live": []}))
            asked = {"verb": "submit", "question": question, "client_message_id": uuid4().hex}
            await socket.send(json.dumps(asked))
            async for frame in socket:
                text = str(frame)
                new = set(STAMP.findall(text)) - seen
                noticed.frames += [machine.took(int(stamp)) for stamp in new]
                seen |= new
                for beat in BEAT.findall(text):
                    await socket.send(json.dumps({"verb": "ack", "frames": int(beat)}))
                if ENDED.search(text) and len(seen) >= words:
                    break
    noticed.words = len(seen)
    if len(seen) < words:
        noticed.frames.append((LATEST_SECONDS, 0.0))


def main() -> None:
    me, pid = Somebody(**json.loads(sys.argv[1])), int(sys.argv[2])
    for line in sys.stdin:
        noticed = asyncio.run(live(me, pid, json.loads(line)["seconds"]))
        print(json.dumps(asdict(noticed)), flush=True)


if __name__ == "__main__":
    main()
