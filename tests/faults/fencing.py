"""An owner that is stopped (SIGSTOP) for longer than its lease, and then goes on.

Another process takes its runs over meanwhile. When the old owner wakes up it has words to write:
the model has gone on talking to it. None of them is accepted, and it drops those runs at once and
serves new ones.
"""

import asyncio
import random
import signal
import time
from dataclasses import dataclass, field
from statistics import median

from tests.faults import rows
from tests.faults.client import USERS, Viewer, is_in_order, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.polling import until
from tests.faults.site import Bench, Server, Site

RUNS = 3
LATEST = 0.5
SCRIPT = Script(words=40_000, delay=0.005)
AFTERWARDS = Script(words=50, delay=0.002)
SWEEP_SECONDS = 10.0
SECOND_LOOK_SECONDS = 6.0
MANY = 3
"""From so many rounds on, the last one waits for the real lease."""


@dataclass
class Tally:
    runs: int = 0
    accepted: int = 0
    wrong_ends: int = 0
    unserved: int = 0
    taken: list[float] = field(default_factory=list)
    dropped: list[float] = field(default_factory=list)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """Most rounds pretend that the lease's time has passed; the last of many waits for it."""
    figures, tally = bench.figures("fencing"), Tally()
    lease = 30.0 if bench.is_scale else 90.0
    async with bench.site() as site:
        owner = await site.serve()
        for number in range(rounds):
            waits = lease if rounds >= MANY and number == rounds - 1 else 0.0
            await _round(bench, site, owner, rng.uniform(0, LATEST), waits, tally)
        figures.note("rounds", rounds)
        figures.note("runs taken over", tally.runs)
        figures.none("with events of the old owner accepted", tally.accepted)
        figures.none("runs not interrupted exactly once", tally.wrong_ends)
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
        figures.none("later runs not served by the old owner", tally.unserved)
    figures.note("taken over after, median s", median(tally.taken))
    if rounds >= MANY:
        figures.under(
            "after the real lease, s",
            tally.taken[-1],
            lease + SWEEP_SECONDS + SECOND_LOOK_SECONDS + 1.0,
        )
    figures.under("dropped by the old owner after, max s", max(tally.dropped), 2.0)
    return figures


async def _round(
    bench: Bench, site: Site, owner: Server, moment: float, lease: float, tally: Tally
) -> None:
    viewers = [Viewer(await owner.client.started(user, SCRIPT)) for user in USERS[:RUNS]]
    runs = [viewer.run for viewer in viewers]
    following = [asyncio.create_task(viewer.follow(owner.client)) for viewer in viewers]
    await asyncio.gather(*(viewer.has(20) for viewer in viewers))
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the stop
    await stop(site, owner, in_a_commit=bool(lease) and bench.is_scale)
    began = time.monotonic()
    if not lease:
        rows.expire(site.rows, runs)
    heir = await site.serve()
    await until(lambda: _none_active(site), lease + 3 * SWEEP_SECONDS)
    tally.taken.append(time.monotonic() - began)
    taken = {run: rows.events(site.rows, run) for run in runs}
    await _wake(bench, owner, tally)
    await asyncio.gather(*following)
    tally.runs += len(runs)
    for viewer in viewers:
        stored = await whole(heir.client, viewer.run)
        tally.accepted += rows.events(site.rows, viewer.run) != taken[viewer.run]
        tally.wrong_ends += rows.state(site.rows, viewer.run) != ("failed", "interrupted", 2)
        tally.wrong_ends += viewer.lines != stored.lines or not is_in_order(stored, SCRIPT)
    await heir.kill()


async def _wake(bench: Bench, owner: Server, tally: Tally) -> None:
    """Let the old owner go on, until it has dropped what it lost and done something new."""
    began = time.monotonic()
    owner.signal(signal.SIGCONT)

    async def is_quiet() -> bool:
        return not await bench.answers_under_way()

    await until(is_quiet, 3 * SWEEP_SECONDS)
    tally.dropped.append(time.monotonic() - began)
    later = await owner.client.started(USERS[-1], AFTERWARDS)
    tally.unserved += (await whole(owner.client, later)).reason != "completed"


async def stop(site: Site, server: Server, *, in_a_commit: bool) -> None:
    """SIGSTOP, between two commits or in the middle of one.

    In the middle it keeps its locks. PostgreSQL takes them away after a while, before the lease
    ends. SQLite has only one, and whoever holds it stops everybody: then nobody can take over, and
    there is nothing to see.
    """
    while True:
        server.signal(signal.SIGSTOP)
        if await asyncio.to_thread(site.rows.is_held) == in_a_commit:
            return
        server.signal(signal.SIGCONT)
        await asyncio.sleep(0.003)  # let it get to another place


async def _none_active(site: Site) -> bool:
    return not await asyncio.to_thread(rows.active, site.rows)
