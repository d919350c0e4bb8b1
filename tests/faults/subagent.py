"""`kill -9` while subagents are at work: what they did not finish is in no row afterwards.

Whoever followed a run until then may have seen it. The restarted server settles the runs; what it
stores and streams from then on has no word of a subagent without a good result, and every word of
one with it.
"""

import asyncio
import json
import random
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Viewer, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.polling import until
from tests.faults.rows import Rows
from tests.faults.site import Bench, Server, Site

RUNS = 3
LATEST = 1.8
"""Seconds after the first word of a subagent; it talks for a little more than half of it."""
SUMMARY = Script(words=200, delay=0.005)
SCRIPT = Script(
    words=50, tool_turns=1, tool="delegate_librarian", arguments={"task": SUMMARY.question()}
)


@dataclass
class Tally:
    seen: int = 0
    """Characters of subagents that somebody received before the kill."""
    left: int = 0
    """Rows with words, and characters of streams, of those that did not finish."""
    unfinished: int = 0
    finished: int = 0
    lost: int = 0
    """Of those that finished, summaries that are not whole."""


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures, tally = bench.figures("subagent"), Tally()
    async with bench.site() as site:
        server = await site.serve()
        figures.note("kills", rounds)
        for _ in range(rounds):
            server = await _round(site, server, rng.uniform(0.0, LATEST), tally)
        figures.none("runs left running", rows.active(site.rows))
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
        figures.exactly("erasures recorded", _erasures(site.rows), tally.unfinished)
    figures.some("characters seen live", tally.seen)
    figures.some("subagents that did not finish", tally.unfinished)
    figures.none("rows or characters of theirs afterwards", tally.left)
    figures.note("that finished", tally.finished)
    figures.none("of them with words gone", tally.lost)
    return figures


async def _round(site: Site, server: Server, moment: float, tally: Tally) -> Server:
    viewers: list[Viewer] = []
    watching = [asyncio.create_task(_watch(server, user, viewers)) for user in USERS[:RUNS]]
    await until(partial(_spoken, viewers), PATIENCE)
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the kill
    await server.kill()
    heir = await site.serve()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*watching)
    await server.close()
    for viewer in viewers:
        tally.seen += len(_text(viewer))
        _judge(site.rows, await whole(heir.client, viewer.run), tally)
    return heir


async def _watch(server: Server, user: str, viewers: list[Viewer]) -> None:
    with suppress(httpx.TransportError):
        viewer = Viewer(await server.client.started(user, SCRIPT))
        viewers.append(viewer)
        await viewer.follow(server.client)


async def _spoken(viewers: list[Viewer]) -> bool:
    return any(map(_text, viewers))


def _text(viewer: Viewer) -> str:
    """What a subagent says in a stream."""
    said = (c for c in viewer.chunks if c["type"] == "content" and "parent" in c)
    return "".join(chunk["content"] for chunk in said)


def _judge(stored: Rows, viewer: Viewer, tally: Tally) -> None:
    """What is stored and streamed of a run that has been settled."""
    results = [c for c in viewer.chunks if c["type"] == "tool_result" and "parent" not in c]
    spoke = any(c["type"] == "content" and "parent" in c for c in viewer.chunks)
    if results and results[0]["ok"]:
        tally.finished += 1
        tally.lost += _text(viewer) != SUMMARY.text()
    elif spoke:
        statement = "SELECT data, content FROM agents_runevent WHERE run_id = %s"
        found = stored.query(statement, [stored.run_id(viewer.run)])
        kept = [content for data, content in found if content and "parent" in _data(data)]
        tally.left += len(kept) + len(_text(viewer))
        tally.unfinished += 1


def _data(value: str | dict[str, object]) -> dict[str, object]:
    """JSON as a database gives it back."""
    data: dict[str, object] = json.loads(value) if isinstance(value, str) else value
    return data


def _erasures(stored: Rows) -> int:
    statement = "SELECT count(*) FROM agents_auditentry WHERE verb = 'erase_unfinished'"
    return int(stored.query(statement)[0][0])
