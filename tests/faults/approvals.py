"""`kill -9` around approvals: asked, decided twice at once, done. No call is run twice, ever.

Each round every person asks for one entry in a thread, which needs a yes, and says yes twice at
the same moment. The server is killed somewhere in between, every other time not before somebody was
asked; whoever still can says yes once more.
"""

import asyncio
import random
from collections import Counter
from contextlib import suppress

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Answer, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.rows import Rows
from tests.faults.site import Bench, Server, Site

RUNS = 3
LATEST = 1.0
"""Seconds to the kill from the first message of a round that was taken, or the first yes asked for:
on a slow machine nobody may have been asked a second after the first message."""
THEN = Script(words=5, delay=0.001)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures = bench.figures("approvals")
    wanted: list[str] = []
    async with bench.site() as site:
        server = await site.serve()
        site.rows.query("UPDATE agents_project SET ask_before_writing = 'always'")
        figures.note("kills", rounds)
        for number in range(rounds):
            made = {user: f"entry {number} of {user}." for user in USERS[:RUNS]}
            wanted += made.values()
            moment = rng.uniform(0.0, LATEST)
            server = await _round(site, server, made, moment, asked=number % 2 == 1)
        done, decided = _count_entries(site.rows), _count_decided(site.rows)
        figures.none("runs left running", rows.active(site.rows))
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
        figures.none("calls run twice", sum(done[text] > 1 for text in wanted))
        figures.none("questions left open", _count_open(site.rows))
        figures.none("decisions without their run", _count_unlinked(site.rows))
        figures.some("calls run", sum(done[text] for text in wanted))
        figures.none("calls run that nobody approved", max(0, sum(done.values()) - decided))
    return figures


async def _round(
    site: Site, server: Server, made: dict[str, str], moment: float, *, asked: bool
) -> Server:
    taken, waits = asyncio.Event(), asyncio.Event()
    asking = [
        asyncio.create_task(_ask_and_approve(server, user, text, taken, waits))
        for user, text in made.items()
    ]
    async with asyncio.timeout(PATIENCE):
        await (waits if asked else taken).wait()
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the kill
    await server.kill()
    heir = await site.serve()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*asking)
    await server.close()
    for user, run in _list_open(site.rows):
        await _approve(heir, user, run)
    return heir


async def _ask_and_approve(
    server: Server, user: str, text: str, taken: asyncio.Event, waits: asyncio.Event
) -> None:
    script = Script(tool_turns=1, tool="thread_push", arguments={"thread": "log", "content": text})
    with suppress(httpx.TransportError):
        run = await server.client.started(user, script)
        taken.set()
        await whole(server.client, run)
        waits.set()
        await asyncio.gather(*(_approve(server, user, run) for _ in range(2)))


async def _approve(server: Server, user: str, run: str) -> Answer:
    """Say yes, and wait for what comes of it."""
    answer = await server.client.decide(user, run, THEN)
    if answer.run:
        await whole(server.client, answer.run)
    return answer


def _list_open(stored: Rows) -> list[tuple[str, str]]:
    found = stored.query(_OPEN)
    return [(name, str(run)) for name, run in found]


def _count_entries(stored: Rows) -> Counter[str]:
    return Counter(text for (text,) in stored.query("SELECT text FROM agents_threadentry"))


def _count_decided(stored: Rows) -> int:
    return _count(stored, "verdict = 'approved'")


def _count_open(stored: Rows) -> int:
    return _count(stored, "verdict = ''")


def _count_unlinked(stored: Rows) -> int:
    return _count(stored, "verdict = 'approved' AND continuation_id IS NULL")


def _count(stored: Rows, where: str) -> int:
    found = stored.query(f"SELECT count(*) FROM agents_approvalrequest WHERE {where}")  # noqa: S608  # ours
    return int(found[0][0])


_OPEN = (
    "SELECT u.username, a.run_id FROM agents_approvalrequest a "
    "JOIN agents_agentrun r ON r.id = a.run_id JOIN auth_user u ON u.id = r.user_id "
    "WHERE a.verdict = ''"
)
