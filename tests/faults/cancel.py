"""Cancelling at random moments, through another process than the one that drives the run."""

import asyncio
import random
import time
from collections import Counter

from tests.faults import rows
from tests.faults.client import USERS, whole
from tests.faults.figures import Figures, control, share
from tests.faults.model import HANGS, HANGS_IN_A_TOOL, Script
from tests.faults.polling import until
from tests.faults.site import Bench, Server, Site

CANCELLED = "user_cancelled"
LATEST = 0.8
LOOK = 0.002
PATIENCE = 30.0
KINDS = {
    "in mid-stream": Script(words=20_000, delay=0.005),
    "between tools": Script(words=20_000, delay=0.005, tool_turns=2, before=0.3),
    "in a model that hangs": HANGS,
    "in a tool that hangs": HANGS_IN_A_TOOL,
}


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures = bench.figures("cancel")
    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    ends: Counter[str] = Counter()
    async with bench.site() as site, control() as late:
        owner, other = await site.serve(), await site.serve()
        for number in range(rounds):
            kind = list(KINDS)[number % len(KINDS)]
            moment = rng.uniform(0, LATEST)
            seconds, end = await _one(site, owner, other, KINDS[kind], moment)
            times[kind].append(seconds)
            ends[f"{kind}: {end}" if end != CANCELLED else CANCELLED] += 1
    every = [seconds for some in times.values() for seconds in some]
    figures.note("cancelled", rounds)
    figures.exactly("ended so", ends.pop(CANCELLED, 0), rounds)
    for end, count in ends.items():
        figures.note(end, count)
    figures.note("to the terminal record p50 s", share(every, 0.5))
    figures.under("p95 s", share(every, 0.95), 0.3)
    figures.note("max s", max(every))
    for kind, some in times.items():
        figures.note(f"{kind} max s", max(some, default=0.0))
    figures.note("control (a timer's lateness) p95 s", share(late, 0.95))
    figures.note("max s of it", max(late))
    return figures


async def _one(
    site: Site, owner: Server, other: Server, script: Script, moment: float
) -> tuple[float, str]:
    """Seconds from the request until the row says that the run has ended, and how it did."""
    run = await owner.client.started(USERS[0], script)
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the request
    began = time.perf_counter()
    asking = asyncio.create_task(other.client.cancel(run))

    async def has_ended() -> bool:
        return rows.state(site.rows, run).outcome is not None

    await until(has_ended, PATIENCE, LOOK)
    seconds = time.perf_counter() - began
    await asking
    return seconds, (await whole(owner.client, run)).reason
