"""Leases of processes on PostgreSQL: a living process keeps its runs, a dead one's are ended.

A living one keeps them beside its own streams, while the database stands still, and whatever its
clock says. Of a dead one, runs are ended as interrupted, or as stopped if somebody asked for that.
"""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Viewer, is_in_order, whole
from tests.faults.figures import Figures
from tests.faults.model import HANGS, Script
from tests.faults.polling import until
from tests.faults.site import Bench, Server, Site
from tests.support.services import Missing

LEASE = 30.0
SWEEP = 10.0
SECOND_LOOK = 6.0
LONG = LEASE + SWEEP + 2 * SECOND_LOOK
"""After so long a process that does not renew its lease has lost its runs."""
STILL = 38.0
PACE = 0.05
CONFIG = {"timeout_seconds": 300, "token_budget": 200_000}


@dataclass
class Tally:
    """What all cases together came to."""

    kept: int = 0
    lost: list[str] = field(default_factory=list)
    """Runs of living processes that did not complete, or were not theirs throughout."""
    cancels: list[float] = field(default_factory=list)
    """Seconds from a cancel in the other process to the end of a silent run, beside streams."""
    at_home: list[float] = field(default_factory=list)
    """Seconds from the death of a process of this host to the end of its runs."""
    elsewhere: list[float] = field(default_factory=list)
    """The same of a process that seemed to be on another host."""
    wrong_ends: int = 0


Case = Callable[[Bench, Site, Tally], Coroutine[Any, Any, None]]


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    """`rounds` is how many cases are played; after the last one the first follows again."""
    figures, tally = bench.figures("leases"), Tally()
    left_out = malformed = 0
    for number in range(rounds):
        async with bench.site() as site:
            try:
                await CASES[number % len(CASES)](bench, site, tally)
            except Missing:
                left_out += 1
            malformed += rows.malformed(site.rows)
    figures.note("cases", rounds - left_out)
    if left_out:
        figures.note("left out, because faketime is not installed", left_out)
    figures.none("runs with gaps or without one end", malformed)
    figures.note("runs kept by living processes", tally.kept)
    figures.none("lost by them", len(tally.lost))
    for lost in tally.lost:
        figures.note("lost", lost)
    figures.none("runs of dead processes that ended otherwise than they should", tally.wrong_ends)
    if tally.cancels:
        figures.under("cancelled beside streams, max s", max(tally.cancels), 1.0)
    if tally.at_home:
        figures.under("ended after a death on this host, max s", max(tally.at_home), SWEEP + 1.0)
    if tally.elsewhere:
        figures.under("after one elsewhere, max s", max(tally.elsewhere), LONG + 1.0)
    return figures


# -- a living process keeps its runs --------------------------------------------------------------


@dataclass(frozen=True)
class Begun:
    """Runs of one process that are followed in the other."""

    scripts: list[Script]
    viewers: list[Viewer]
    following: list[asyncio.Task[None]]


async def _beside_streams(streams: int, is_first: bool, _: Bench, site: Site, tally: Tally) -> None:
    """A run that waits for its model is as safe as those that stream beside it."""
    servers = [await site.serve(), await site.serve()]
    owner, other = servers if is_first else reversed(servers)
    begun = await _begin(owner, other, streams, LONG)
    tally.cancels.append(await _cancel(site, owner, other))
    await _check_kept(site, begun, tally)


async def _stand_still(streams: int, bench: Bench, site: Site, tally: Tally) -> None:
    """The database stands still for longer than a lease, and goes on."""
    assert bench.postgres is not None
    first, second = await site.serve(), await site.serve()
    begun = [
        await _begin(first, second, streams, STILL + LONG),
        await _begin(second, first, streams, STILL + LONG, USERS[4:]),
    ]
    bench.postgres.stand_still(True)
    await asyncio.sleep(STILL)  # not to wait for something: it is how long it stands still
    bench.postgres.stand_still(False)
    for each in begun:
        await _check_kept(site, each, tally)


async def _other_clock(clock: str, is_owner: bool, _: Bench, site: Site, tally: Tally) -> None:
    """The clock of the owner, or of the other process, is wrong."""
    owner = await site.serve(clock=clock if is_owner else "")
    other = await site.serve(clock="" if is_owner else clock)
    await _check_kept(site, await _begin(owner, other, 2, LONG), tally)


async def _begin(
    owner: Server,
    other: Server,
    streams: int,
    seconds: float,
    users: tuple[str, ...] = USERS[:4],
) -> Begun:
    """One run says nothing for so long, or nearly a minute; others stream."""
    silent = Script(words=1, delay=min(seconds, 55.0))
    scripts = [silent, *[Script(words=int(seconds / PACE), delay=PACE)] * streams]
    viewers = [
        Viewer(await owner.client.started(users[number % len(users)], script, config=CONFIG))
        for number, script in enumerate(scripts)
    ]
    following = [asyncio.create_task(viewer.follow(other.client)) for viewer in viewers]
    await asyncio.gather(*(viewer.has(5) for viewer in viewers[1:]))
    return Begun(scripts, viewers, following)


async def _check_kept(site: Site, begun: Begun, tally: Tally) -> None:
    """Wait for the end of all of them, and count how they ended."""
    await asyncio.gather(*begun.following)
    for viewer, script in zip(begun.viewers, begun.scripts, strict=True):
        state = rows.state(site.rows, viewer.run)
        is_whole = viewer.reason == "completed" and is_in_order(viewer, script)
        if is_whole and state.fence == 1:
            tally.kept += 1
        else:
            tally.lost.append(f"{viewer.reason} ({state.reason}, fence {state.fence})")


async def _cancel(site: Site, owner: Server, other: Server) -> float:
    run = await owner.client.started(USERS[-1], HANGS, config=CONFIG)
    await asyncio.sleep(0.5)  # not to wait for something: until it waits for its model
    began = time.monotonic()
    await other.client.cancel(run)
    await until(partial(_has_ended, site, run), PATIENCE)
    return time.monotonic() - began


# -- a dead one's are ended -----------------------------------------------------------------------


async def _killed(
    is_elsewhere: bool, is_stopped: bool, clock: str, _: Bench, site: Site, tally: Tally
) -> None:
    """The owner is killed; perhaps somebody stops its runs before anybody has noticed."""
    owner, other = await site.serve(clock=clock), await site.serve()
    script = Script(words=4_000, delay=PACE)
    runs = [await owner.client.started(user, script, config=CONFIG) for user in USERS[:3]]
    viewers = [Viewer(run) for run in runs]
    following = [asyncio.create_task(viewer.follow(other.client)) for viewer in viewers]
    await asyncio.gather(*(viewer.has(5) for viewer in viewers))
    if is_elsewhere:
        rows.move_away(site.rows, runs[0])
    await owner.kill()
    began = time.monotonic()
    if is_stopped:
        for run in runs:
            await other.client.cancel(run)
    for run in runs:
        await until(partial(_has_ended, site, run), LONG + PATIENCE)
    (tally.elsewhere if is_elsewhere else tally.at_home).append(time.monotonic() - began)
    await asyncio.gather(*following)
    expected = ("cancelled", "user_cancelled") if is_stopped else ("failed", "interrupted")
    for viewer in viewers:
        stored = await whole(other.client, viewer.run)
        tally.wrong_ends += rows.state(site.rows, viewer.run) != (*expected, 2)
        tally.wrong_ends += viewer.lines != stored.lines or not is_in_order(stored, script)
    await until(partial(_has_one_lease, site), SWEEP + PATIENCE)


async def _has_ended(site: Site, run: str) -> bool:
    return rows.state(site.rows, run).outcome is not None


async def _has_one_lease(site: Site) -> bool:
    """Whether that of the dead process is gone."""
    return rows.leases(site.rows) == 1


CASES: tuple[Case, ...] = (
    *(
        partial(_beside_streams, streams, is_first)
        for streams, is_first in ((1, True), (2, False), (3, True), (4, False), (5, True))
    ),
    partial(_stand_still, 1),
    partial(_stand_still, 3),
    *(
        partial(_other_clock, clock, is_owner)
        for clock in ("+60s", "-60s")
        for is_owner in (True, False)
    ),
    *(
        partial(_killed, is_elsewhere, is_stopped, "")
        for is_elsewhere in (False, True)
        for is_stopped in (False, True)
    ),
    partial(_killed, True, False, "+60s"),
    partial(_killed, True, False, "-60s"),
)
