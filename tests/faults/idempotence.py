"""Many starts at once, through two server processes on one database.

The same message is one run, however often and wherever it arrives. A conversation has one active
run; everybody else is told so.
"""

import asyncio
import random
import uuid
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from agents.core.tasks import spawn, stop
from tests.faults import rows
from tests.faults.client import USERS, Answer, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.site import Bench, Server, Site

STARTS = 50
SPREAD = 1.0
"""Seconds over which starts are spread when runs are so short that several find room."""
TOLD = "A run is already in progress in this conversation."
LONG = Script(words=300, delay=0.01)
SHORT = Script(words=1, delay=0)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures = bench.figures("idempotence")
    told: Counter[str] = Counter()
    async with bench.site() as site:
        servers = [await site.serve(), await site.serve()]
        for _ in range(rounds):
            told += await _same_message(site, servers)
            told += await _one_conversation(site, servers, LONG, [0.0] * STARTS)
            moments = [rng.uniform(0, SPREAD) for _ in range(STARTS)]
            told += await _one_conversation(site, servers, SHORT, moments)
    figures.note("rounds", rounds)
    figures.note("starts of each kind", STARTS * rounds)
    figures.exactly("runs of one message", told["runs of a message"], rounds)
    figures.exactly("answers naming it", told["answers naming it"], STARTS * rounds)
    figures.some("runs of a conversation", told["accepted"])
    figures.none("more than one active", told["overlaps"])
    figures.some("others told so", told["told"])
    figures.none("neither started nor told", told["neither"])
    return figures


async def _same_message(site: Site, servers: list[Server]) -> Counter[str]:
    message = uuid.uuid4().hex
    answers = await asyncio.gather(
        *(
            servers[number % 2].client.ask(USERS[0], LONG, client_message_id=message)
            for number in range(STARTS)
        )
    )
    named = Counter(answer.run for answer in answers if answer.run)
    run, times = named.most_common(1)[0]
    await servers[0].client.cancel(run)
    await whole(servers[0].client, run)
    stored = rows.of_message(site.rows, message)
    return Counter({"runs of a message": stored, "answers naming it": times})


async def _one_conversation(
    site: Site, servers: list[Server], script: Script, moments: list[float]
) -> Counter[str]:
    conversation = str(uuid.uuid4())

    async def start(number: int, moment: float) -> Answer:
        await asyncio.sleep(moment)  # not to wait for something: starts at different moments
        client = servers[number % 2].client
        return await client.ask(USERS[1], script, conversation_key=conversation)

    async with _most_active(site, conversation) as overlaps:
        answers = await asyncio.gather(*(start(n, moment) for n, moment in enumerate(moments)))
        runs = [answer.run for answer in answers if answer.run]
        await servers[0].client.cancel(runs[-1])
        for run in runs:
            await whole(servers[0].client, run)
    told = sum(answer.refused.startswith(TOLD) for answer in answers)
    neither = len(answers) - len(runs) - told
    return Counter(accepted=len(runs), told=told, neither=neither, overlaps=len(overlaps))


@asynccontextmanager
async def _most_active(site: Site, conversation: str) -> AsyncIterator[list[int]]:
    """Looks into the database all the time; keeps the moments with more than one active run."""
    overlaps: list[int] = []

    async def look() -> None:
        while True:
            found = await asyncio.to_thread(rows.active, site.rows, conversation)
            if found > 1:
                overlaps.append(found)

    task = spawn(look(), "looking")
    try:
        yield overlaps
    finally:
        await stop([task], 5.0)
