"""Two servers, and `kill -9` of one while runs at both are told their reminders: each is told once,
in one of these runs or in the next."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from datetime import UTC, datetime, timedelta

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.rows import Rows
from tests.faults.site import Bench, Server, Site

RUNS = 3
LATEST = 0.3
"""Seconds from the first start of a run to the kill."""
SCRIPT = Script(words=20)


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures = bench.figures("reminders")
    words: list[str] = []
    async with bench.site() as site:
        server, other = await site.serve(), await site.serve()
        for user in USERS[:RUNS]:
            _switch_on(site.rows, user)
        figures.note("kills", rounds)
        for number in range(rounds):
            made = {user: f"reminder {number} of {user}." for user in USERS[:RUNS]}
            for user, text in made.items():
                _remind(site.rows, user, text)
            words += made.values()
            server = await _round(site, server, other, rng.uniform(0.0, LATEST))
        told = _count_told(site.rows, words)
        figures.none("runs left running", rows.active(site.rows))
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
        figures.none("reminders that nobody was told", sum(told[text] == 0 for text in words))
        figures.none("reminders told twice", sum(told[text] > 1 for text in words))
        figures.exactly("reminders used", _count_used(site.rows), len(words))
    return figures


async def _round(site: Site, server: Server, other: Server, moment: float) -> Server:
    """Start runs of each person at both servers, kill one, and let each person ask once more."""
    people = USERS[:RUNS]
    lost = [asyncio.create_task(_start(server, user)) for user in people]
    kept = [asyncio.create_task(other.client.started(user, SCRIPT)) for user in people]
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the kill
    await server.kill()
    heir = await site.serve()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*lost)
        for run in await asyncio.gather(*kept):
            await whole(other.client, run)
    await server.close()
    for user in people:
        await whole(heir.client, await heir.client.started(user, SCRIPT))
    return heir


async def _start(server: Server, user: str) -> None:
    with suppress(httpx.TransportError):
        await server.client.started(user, SCRIPT)


def _switch_on(stored: Rows, user: str) -> None:
    statement = (
        "INSERT INTO agents_notificationsettings (user_id, keeps_reminders) "
        "SELECT id, %s FROM auth_user WHERE username = %s"
    )
    stored.query(statement, [True, user])


def _remind(stored: Rows, user: str, text: str) -> None:
    now = datetime.now(UTC).replace(tzinfo=None)
    moments = [f"{now + timedelta(hours=hours):%Y-%m-%d %H:%M:%S}+00:00" for hours in (0, 1)]
    statement = (
        "INSERT INTO agents_reminder "
        "(user_id, project_id, text, category, priority, kept_at, expires_at) "
        "SELECT m.user_id, m.project_id, %s, '', 'normal', %s, %s FROM agents_membership m "
        "JOIN auth_user u ON u.id = m.user_id WHERE u.username = %s"
    )
    stored.query(statement, [text, *moments, user])


def _count_told(stored: Rows, words: list[str]) -> Counter[str]:
    hints = [content for (content,) in stored.query(_HINTS)]
    return Counter(text for text in words for hint in hints if text in hint)


def _count_used(stored: Rows) -> int:
    found = stored.query("SELECT count(*) FROM agents_reminder WHERE used_at IS NOT NULL")
    return int(found[0][0])


_HINTS = "SELECT content FROM agents_runevent WHERE kind = 'hint'"
