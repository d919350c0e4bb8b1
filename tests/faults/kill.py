"""`kill -9` of the serving process at random moments, with people following its runs.

The restarted server is the next one to be killed, on the same data. With several processes each
run is also followed through the other one, which lives on: there a viewer gets everything, to the
end.
"""

import asyncio
import random
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from statistics import median

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Viewer, is_in_order, mismatches, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.site import Bench, Server, Site

RUNS = 3
LATEST = 1.7
"""Seconds after the questions; a run takes about so long."""
SCRIPT = Script(words=400, delay=0.003, tool_turns=1)


@dataclass
class Tally:
    """What all kills together came to."""

    seen: list[Viewer] = field(default_factory=list)
    lines: int = 0
    characters: int = 0
    lost: int = 0
    disordered: int = 0
    unended: int = 0
    """Viewers through the other process that did not see an end."""
    interrupted: int = 0
    settled: list[float] = field(default_factory=list)
    """Seconds from a restart until a run was interrupted."""
    alone: list[float] = field(default_factory=list)
    """The same without the time that the machine gave to others."""
    serving: list[float] = field(default_factory=list)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures, tally = bench.figures("kill"), Tally()
    async with bench.site() as site:
        server = await site.serve()
        figures.note("kills", rounds)
        control = server.seconds
        other = await site.serve() if bench.is_scale else None
        for _ in range(rounds):
            server = await _round(site, server, other, rng.uniform(0.0, LATEST), tally)
        for viewer in tally.seen:  # what survived one kill survives the later ones too
            await _compare(server, viewer, tally)
        figures.none("runs left running", rows.active(site.rows))
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
    figures.some("lines received", tally.lines)
    figures.note("characters", tally.characters)
    figures.none("of them gone or changed", tally.lost)
    figures.none("out of order", tally.disordered)
    figures.none("viewers elsewhere without an end", tally.unended)
    figures.some("runs interrupted", tally.interrupted)
    if tally.settled:
        figures.note("restart to interrupted, median s", median(tally.settled))
        figures.note("max s", max(tally.settled))
        figures.under("max without waiting for a processor s", max(tally.alone), 5.0)
    figures.note("restart to serving, median s", median(tally.serving))
    figures.note("max s of it", max(tally.serving))
    figures.note("start with nothing to settle s", control)
    return figures


async def _round(
    site: Site, server: Server, other: Server | None, moment: float, tally: Tally
) -> Server:
    here: list[Viewer] = []
    there: list[Viewer] = []
    watching = [
        asyncio.create_task(_watch(server, other, user, here, there)) for user in USERS[:RUNS]
    ]
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the kill
    await server.kill()
    heir = await site.serve()
    tally.serving.append(heir.seconds)
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*watching)
    await server.close()
    for viewer in (*here, *there):
        await _compare(heir, viewer, tally, heir)
        tally.lines += len(viewer.lines)
        tally.characters += len(viewer.text)
    tally.unended += sum(not viewer.has_ended for viewer in there)
    tally.seen += here[:2]
    return heir


async def _watch(
    server: Server, other: Server | None, user: str, here: list[Viewer], there: list[Viewer]
) -> None:
    """Ask, and follow the run here and, if there is another process, there."""
    with suppress(httpx.TransportError):
        run = await server.client.started(user, SCRIPT)
        here.append(Viewer(run))
        following = [here[-1].follow(server.client)]
        if other is not None:
            there.append(Viewer(run))
            following.append(there[-1].follow(other.client))
        await asyncio.gather(*following)


async def _compare(
    server: Server, viewer: Viewer, tally: Tally, heir: Server | None = None
) -> None:
    """What was received with what is stored; the first time also when and how the run ended."""
    stored = await whole(server.client, viewer.run)
    tally.lost += mismatches(viewer, stored)
    if heir is None:
        return
    tally.disordered += not is_in_order(stored, SCRIPT)
    if stored.reason == "interrupted" and not viewer.has_ended:
        tally.interrupted += 1
        tally.settled.append(_seconds(stored) - heir.spawned_at)
        tally.alone.append(tally.settled[-1] - heir.starved)


def _seconds(stored: Viewer) -> float:
    """When a run ended."""
    return datetime.fromisoformat(stored.last["at"]).timestamp()
