"""SIGTERM while people are being answered: some runs finish, the others are ended and kept."""

import asyncio
import random
import signal
import time
from collections import Counter
from contextlib import suppress

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Client, Viewer, is_in_order, mismatches, whole
from tests.faults.figures import Figures
from tests.faults.model import HANGS, HANGS_IN_A_TOOL, Script
from tests.faults.polling import until
from tests.faults.site import Bench, Server, Site

PER_USER = 5
GRACE = 2.0
STOP_SECONDS = 30.0
ENDS = Script(words=250, delay=0.004)
"""Within the grace time."""
GOES_ON = Script(words=20_000, delay=0.01)
SCRIPTS = (ENDS, GOES_ON, ENDS, HANGS, HANGS_IN_A_TOOL)
"""Of the runs of one user."""


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how many people have five runs each."""
    figures = bench.figures("sigterm")
    async with bench.site() as site:
        await _asked_once(site, rounds, figures, rng)
    async with bench.site() as site:
        await _asked_twice(site, figures)
    return figures


async def _asked_once(site: Site, people: int, figures: Figures, rng: random.Random) -> None:
    server = await site.serve(grace=GRACE)
    watched = await _watched(server, USERS[:people])
    lingering = asyncio.create_task(server.client.linger())  # holds up no exit
    await asyncio.gather(*(viewer.has(1) for viewer, _, _ in watched))
    await asyncio.sleep(rng.uniform(0, 0.3))  # not to wait for something: the moment of the signal
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    accepted, refused = await _knock(server)
    code = await server.ended(1.0)
    figures.note("runs", len(watched))
    figures.exactly("servers that ended well", code == 0, 1)
    figures.under("stopped after s", time.monotonic() - began, GRACE + 5.0)
    figures.none("runs accepted while stopping", accepted)
    figures.some("connections refused meanwhile", refused)
    figures.none("runs left running", rows.active(site.rows))
    figures.none("runs with gaps or without one end", rows.malformed(site.rows))
    await asyncio.gather(lingering, *(following for _, _, following in watched))
    await _read_back(site, watched, figures)


Watched = list[tuple[Viewer, Script, "asyncio.Task[None]"]]


async def _watched(server: Server, people: tuple[str, ...]) -> Watched:
    watched: Watched = []
    for script in SCRIPTS[:PER_USER]:
        for user in people:
            viewer = Viewer(await server.client.started(user, script))
            following = asyncio.create_task(viewer.follow(server.client))
            watched.append((viewer, script, following))
    return watched


async def _knock(server: Server) -> tuple[int, int]:
    """Ask again and again while it stops, over a connection that was open and over new ones."""
    accepted = refused = 0
    limit = time.monotonic() + STOP_SECONDS
    while server.is_running and time.monotonic() < limit:
        with suppress(httpx.TransportError):
            answer = await server.client.ask(USERS[-1], ENDS)
            accepted += bool(answer.run)
        try:
            async with Client(server.address) as stranger:
                await stranger.ask(USERS[-1], ENDS)
        except httpx.ConnectError:
            refused += 1
        except httpx.TransportError:
            pass  # it came in just before the door was closed
        await asyncio.sleep(0.05)
    return accepted, refused


async def _read_back(site: Site, watched: Watched, figures: Figures) -> None:
    heir = await site.serve()
    ends: Counter[str] = Counter()
    lost = disordered = told = 0
    for viewer, script, _ in watched:
        stored = await whole(heir.client, viewer.run)
        ends[stored.reason] += 1
        lost += mismatches(viewer, stored)
        disordered += not is_in_order(stored, script)
        told += viewer.has_ended
    expected = sum(script is ENDS for _, script, _ in watched)
    figures.exactly("completed in the grace time", ends["completed"], expected)
    figures.exactly("interrupted", ends["interrupted"], len(watched) - expected)
    figures.none("lines lost", lost)
    figures.none("out of order", disordered)
    figures.note("viewers that saw the end", told)


async def _asked_twice(site: Site, figures: Figures) -> None:
    """A second signal does not wait for the grace time; the next server settles what is left."""
    server = await site.serve(grace=600.0)
    runs = [await server.client.started(user, HANGS) for user in USERS[:PER_USER]]
    server.signal(signal.SIGTERM)
    await until(lambda: _is_closed(server), PATIENCE)
    began = time.monotonic()
    server.signal(signal.SIGTERM)
    await server.ended(STOP_SECONDS)
    figures.under("second signal: stopped after s", time.monotonic() - began, 2.0)
    heir = await site.serve()
    ends = [(await whole(heir.client, run)).reason for run in runs]
    figures.exactly("interrupted after it", ends.count("interrupted"), len(runs))


async def _is_closed(server: Server) -> bool:
    try:
        async with Client(server.address) as stranger:
            await stranger.ask(USERS[0], ENDS)
    except httpx.ConnectError:
        return True
    except httpx.TransportError:
        return False
    return False
