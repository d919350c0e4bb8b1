"""PostgreSQL is restarted in mid-run: the ledger waits, runs go on, viewers too."""

import asyncio
import random
import time

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Viewer, is_in_order, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.site import Bench, Server

RUNS = 4
LATEST = 0.5
AWAY = 0.5
AGAIN = "Ask again in a moment."
SCRIPT = Script(words=700, delay=0.004)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how often it is restarted."""
    figures = bench.figures("away")
    completed = wrong = 0
    gaps: list[float] = []
    async with bench.site() as site:
        servers = [await site.serve(), await site.serve()]
        for _ in range(rounds):
            viewers, up = await _restart(bench, servers, rng.uniform(0, LATEST))
            for viewer in viewers:
                stored = await whole(servers[1].client, viewer.run)
                completed += stored.reason == "completed"
                wrong += viewer.lines != stored.lines or not is_in_order(stored, SCRIPT)
                gaps.append(next((at for at in viewer.at if at > up), up) - up)
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
    figures.note("restarts of PostgreSQL", rounds)
    figures.exactly("runs completed", completed, RUNS * rounds)
    figures.none("viewers without exactly the whole", wrong)
    figures.under("first line after it was back, max s", max(gaps), 3.0)
    return figures


async def _restart(
    bench: Bench, servers: list[Server], moment: float
) -> tuple[list[Viewer], float]:
    """Those who followed runs of the first process, here and there, and when it was back."""
    assert bench.postgres is not None
    viewers = [Viewer(await _patiently_started(servers[0], user)) for user in USERS[:RUNS]]
    following = [
        asyncio.create_task(viewer.follow(servers[number % 2].client))
        for number, viewer in enumerate(viewers)
    ]
    await asyncio.gather(*(viewer.has(8) for viewer in viewers))
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the stop
    bench.postgres.stop()
    await asyncio.sleep(AWAY)  # nor this: it is how long it is away
    bench.postgres.start()
    up = time.time()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*following)
    return viewers, up


async def _patiently_started(server: Server, user: str) -> str:
    """A thread may find only now that its connection is from before the restart, and say so."""
    while (answer := await server.client.ask(user, SCRIPT)).refused.endswith(AGAIN):
        pass
    assert answer.run, answer
    return answer.run
