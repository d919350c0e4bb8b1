"""Another process locks SQLite in mid-stream: runs wait, in bounded memory, and go on."""

import asyncio
import random
import time
from dataclasses import dataclass

from tests.faults import rows
from tests.faults.client import USERS, Viewer, is_in_order, mismatches, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.rows import SqliteRows
from tests.faults.site import Bench, Server

LOCKS = (1.0, 5.0, 30.0)
RUNS = 2
PACE = 0.002
"""In half a minute this makes far more words than may wait in memory."""
MOST_GROWTH = 16.0
"""Megabytes that the server may grow by, however long it takes."""


@dataclass(frozen=True)
class Locked:
    """What one lock came to."""

    first: float
    """Seconds from its end to the first line after it."""
    growth: float
    mismatches: int
    well: int
    """Runs that completed, in order, and were always ours."""


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """As many of the locks as there are rounds, the shortest first."""
    figures = bench.figures("locked")
    async with bench.site() as site:
        assert isinstance(site.rows, SqliteRows)
        server = await site.serve()
        for seconds in LOCKS[:rounds]:
            found = await _one(site.rows, server, seconds, rng)
            lock = f"locked {seconds:.0f} s:"
            figures.none(f"{lock} lines lost", found.mismatches)
            figures.exactly(f"{lock} runs completed in order, never swept", found.well, RUNS)
            figures.under(f"{lock} first line after it s", found.first, 1.0)
            figures.at_most(f"{lock} growth MB", found.growth, MOST_GROWTH)
    return figures


async def _one(database: SqliteRows, server: Server, seconds: float, rng: random.Random) -> Locked:
    script = Script(words=int((seconds + 2) / PACE), delay=PACE)
    large = {"token_budget": 200_000}
    runs = [await server.client.started(user, script, config=large) for user in USERS[:RUNS]]
    viewers = [Viewer(run) for run in runs]
    following = [asyncio.create_task(viewer.follow(server.client)) for viewer in viewers]
    await asyncio.gather(*(viewer.has(rng.randint(5, 20)) for viewer in viewers))
    before = server.rss()
    with database.locked():
        growth = await _growth(server, before, time.monotonic() + seconds)
        released = time.time()
    await asyncio.gather(*following)
    stored = [await whole(server.client, viewer.run) for viewer in viewers]
    return Locked(
        first=max(next(at for at in viewer.at if at > released) for viewer in viewers) - released,
        growth=growth,
        mismatches=sum(map(mismatches, viewers, stored)),
        well=sum(
            viewer.lines == there.lines
            and is_in_order(there, script)
            and rows.state(database, viewer.run) == ("completed", "completed", 1)
            for viewer, there in zip(viewers, stored, strict=True)
        ),
    )


async def _growth(server: Server, before: int, until: float) -> float:
    """By how much a server was larger at most, until a moment, in megabytes."""
    most = before
    while time.monotonic() < until:
        most = max(most, server.rss())
        await asyncio.sleep(0.05)
    return (most - before) / 1e6
