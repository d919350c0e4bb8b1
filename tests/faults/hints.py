"""Hints between processes over Redis: after a silence, and while Redis is restarted in mid-run.

Hints only make a viewer on another process quick: without them it looks every two seconds, and
gets everything all the same.
"""

import asyncio
import random
import time
from datetime import datetime

from tests.faults.client import USERS, Viewer, is_in_order, whole
from tests.faults.figures import Figures, control, share
from tests.faults.model import HANGS, Script
from tests.faults.site import Bench, Server

IDLE = 7.5
"""Seconds; redis-py 8 broke listeners that had heard nothing for five."""
PACE = 0.02
AWAY = 3.0
LOOK = 2.0
"""How often a viewer looks without a hint."""
AGAIN = 4.0
"""Seconds until hints must work again after Redis is back."""
QUICK = 0.3
SHORT = Script(words=100, delay=PACE)
LONG = Script(words=int((4 + AWAY + AGAIN + 2) / PACE), delay=PACE)
TROUBLE = "the channel layer fails"


async def idle(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how often there is a silence."""
    figures = bench.figures("idle")
    delays: list[float] = []
    async with bench.site() as site, control() as late:
        here, there = await site.serve(), await site.serve()
        for _ in range(rounds):
            await asyncio.sleep(IDLE)  # not to wait for something: this is the silence
            viewer = Viewer(await here.client.started(USERS[0], SHORT))
            await viewer.follow(there.client)
            delays += [delay for _, delay in delays_of(viewer)]
        figures.none(f"complaints in {IDLE} s of silence", site.logs().count(TROUBLE))
    figures.under("then a viewer's delay elsewhere, p95 s", share(delays, 0.95), QUICK)
    figures.note("control (a timer's lateness) p95 s", share(late, 0.95))
    return figures


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how often Redis is restarted."""
    figures = bench.figures("hints")
    gone = 0
    before: list[float] = []
    away: list[float] = []
    again: list[float] = []
    after: list[float] = []
    async with bench.site() as site, control() as late:
        here, there = await site.serve(), await site.serve()
        for _ in range(rounds):
            viewer, stored, down, up = await _restart(bench, here, there, rng)
            gone += viewer.lines != stored.lines or not is_in_order(stored, LONG)
            delays = delays_of(viewer)
            quick = max((at for at, delay in delays if at > up and delay > QUICK), default=up)
            again.append(quick - up)
            before += [delay for at, delay in delays if at < down - QUICK]
            away += [delay for at, delay in delays if down < at < up]
            after += [delay for at, delay in delays if at > quick]
    figures.note("restarts of Redis", rounds)
    figures.none("viewers elsewhere without exactly the whole", gone)
    figures.under("delay before, p95 s", share(before, 0.95), QUICK)
    figures.under("while it was away, max s", max(away), LOOK + 0.5)
    figures.under("quick again after, max s", max(again), AGAIN)
    figures.under("delay afterwards, p95 s", share(after, 0.95), QUICK)
    figures.note("control (a timer's lateness) p95 s", share(late, 0.95))
    return figures


async def lost(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how often Redis goes away in mid-run and does not come back."""
    assert bench.redis is not None
    figures = bench.figures("redis lost")
    wrong = 0
    delays: list[float] = []
    for _ in range(rounds):
        async with bench.site() as site:
            here, there = await site.serve(), await site.serve()
            viewer = Viewer(await here.client.started(USERS[0], LONG))
            following = asyncio.create_task(viewer.follow(there.client))
            await viewer.has(rng.randint(10, 40))
            bench.redis.stop()
            down = time.time()
            try:
                await following
                later = Viewer(await there.client.started(USERS[1], SHORT))
                await later.follow(here.client)
                hanging = Viewer(await here.client.started(USERS[2], HANGS))
                await there.client.cancel(hanging.run)
                await hanging.follow(there.client)
                new = await site.serve()
            finally:
                bench.redis.start()
            for seen in (viewer, later):
                stored = await whole(new.client, seen.run)
                wrong += seen.lines != stored.lines or stored.reason != "completed"
                delays += [delay for at, delay in delays_of(seen) if at > down]
            wrong += hanging.reason != "user_cancelled"
    figures.note("losses of Redis", rounds)
    figures.none("viewers elsewhere without exactly the whole, or runs not stopped", wrong)
    figures.under("a viewer's delay elsewhere, max s", max(delays), LOOK + 0.5)
    return figures


async def _restart(
    bench: Bench, here: Server, there: Server, rng: random.Random
) -> tuple[Viewer, Viewer, float, float]:
    """What a viewer elsewhere got, what is stored, and when Redis went and came.

    It goes late enough that most of what was made before cannot have met it on its way.
    """
    assert bench.redis is not None
    viewer = Viewer(await here.client.started(USERS[0], LONG))
    following = asyncio.create_task(viewer.follow(there.client))
    await viewer.has(rng.randint(30, 45))
    down = time.time()
    bench.redis.stop()
    await asyncio.sleep(AWAY)  # not to wait for something: this is how long it is away
    bench.redis.start()
    up = time.time()
    await following
    return viewer, await whole(here.client, viewer.run), down, up


def delays_of(viewer: Viewer) -> list[tuple[float, float]]:
    """When each chunk was made that somebody waited for, and how many seconds later it came."""
    made = [datetime.fromisoformat(chunk["at"]).timestamp() for chunk in viewer.chunks]
    pairs = zip(made, viewer.at, strict=True)
    return [(at, came - at) for at, came in pairs if at > viewer.at[0]]
