"""People who lose their connection and come back: nothing is lost, doubled or out of order.

With several processes they come back to any of them.
"""

import asyncio
import random
from itertools import count

from tests.faults.client import USERS, Client, Viewer, is_in_order, mismatches, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.site import Bench, Server

RUNS = 4
STAY = 0.12
"""Mean seconds that somebody follows before the connection is lost."""
LIVE = Script(words=400, delay=0.004, tool_turns=2)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how often somebody comes back; a finished run is tried at every place."""
    figures = bench.figures("reconnect")
    async with bench.site() as site:
        servers = [await site.serve() for _ in range(2 if bench.is_scale else 1)]
        tried, wrong = await every_place(
            servers, Script(words=min(rounds, 400), delay=0.002, tool_turns=2)
        )
        figures.some("places in a finished run", tried)
        figures.none("of them with another rest", wrong)
        comings = viewers = runs = lost = disordered = 0
        while comings < rounds:
            batch = [_one_run(servers, user, rng.random()) for user in USERS[:RUNS]]
            for seen, stored, times in await asyncio.gather(*batch):
                runs, viewers, comings = runs + 1, viewers + len(seen), comings + times
                lost += sum(viewer.lines != stored.lines for viewer in seen)
                disordered += not is_in_order(stored, LIVE)
                disordered += sum(mismatches(viewer, stored) for viewer in seen)
    figures.note("live runs", runs)
    figures.note("viewers", viewers)
    figures.some("reconnects", comings)
    figures.none("viewers without exactly the whole", lost)
    figures.none("lines out of order", disordered)
    return figures


async def every_place(servers: list[Server], script: Script) -> tuple[int, int]:
    """For every k: what is up to k and what follows after k are the whole."""
    run = await servers[0].client.started(USERS[0], script)
    stored = await whole(servers[0].client, run)
    assert stored.reason == "completed", stored.last
    wrong = 0
    for place in range(len(stored.lines)):
        rest = Viewer(run, stored.lines[:place])
        await rest.follow(servers[place % len(servers)].client)
        wrong += rest.lines != stored.lines
    return len(stored.lines), wrong


async def _one_run(
    servers: list[Server], user: str, seed: float
) -> tuple[list[Viewer], Viewer, int]:
    """A run with one to three viewers: what each of them got, what is stored, how often they came
    back in all."""
    rng = random.Random(seed)
    run = await rng.choice(servers).client.started(user, LIVE)
    seen = [Viewer(run) for _ in range(rng.randint(1, 3))]
    wandering = (_wander(viewer, [s.client for s in servers], rng.random()) for viewer in seen)
    times = await asyncio.gather(*wandering)
    return seen, await whole(servers[0].client, run), sum(times)


async def _wander(viewer: Viewer, clients: list[Client], seed: float) -> int:
    rng = random.Random(seed)
    for times in count():
        await viewer.follow(rng.choice(clients), seconds=rng.expovariate(1 / STAY))
        if viewer.has_ended:
            return times
    raise AssertionError("a count never ends")
