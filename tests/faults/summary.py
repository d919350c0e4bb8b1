"""`kill -9` while a librarian summarises a long result: the result is kept, the summary is not."""

import asyncio
import random
from contextlib import suppress
from dataclasses import replace
from functools import partial

import httpx

from tests.faults import rows
from tests.faults.client import PATIENCE, USERS, Viewer, whole
from tests.faults.figures import Figures
from tests.faults.model import Script
from tests.faults.polling import until
from tests.faults.site import Bench, Server, Site

LONG_NOTE = "log.md"
RUNS = 3
LATEST = 0.8
"""Seconds after the first word of a summary, which takes a little longer than that."""
SCRIPT = Script(tool_turns=1, tool="vault_read", arguments={"path": LONG_NOTE})


async def play(bench: Bench, rng: random.Random, rounds: int) -> Figures:
    figures, viewers = bench.figures("summary"), list[Viewer]()
    async with bench.site() as site:
        server = await site.serve()
        figures.note("kills", rounds)
        for number in range(rounds):
            script = replace(SCRIPT, words=50 + number)  # else a summary may be from the cache
            server, stored = await _round(site, server, script, rng.uniform(0.0, LATEST))
            viewers += stored
        figures.none("runs left running", rows.active(site.rows))
        figures.none("runs with gaps or without one end", rows.malformed(site.rows))
    results = [_results(viewer) for viewer in viewers]
    cut = [found for found in results if any("given" not in result for result in found)]
    figures.some("summaries that did not finish", len(cut))
    figures.none("calls without one good result", sum(not _is_whole(found) for found in results))
    figures.none("characters of unfinished summaries", sum(map(_count_left, viewers)))
    return figures


async def _round(
    site: Site, server: Server, script: Script, moment: float
) -> tuple[Server, list[Viewer]]:
    viewers: list[Viewer] = []
    watching = [asyncio.create_task(_watch(server, user, script, viewers)) for user in USERS[:RUNS]]
    await until(partial(_all_summarise, viewers), PATIENCE)
    await asyncio.sleep(moment)  # not to wait for something: this is the moment of the kill
    await server.kill()
    heir = await site.serve()
    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*watching)
    await server.close()
    return heir, [await whole(heir.client, viewer.run) for viewer in viewers]


async def _watch(server: Server, user: str, script: Script, viewers: list[Viewer]) -> None:
    with suppress(httpx.TransportError):
        viewer = Viewer(await server.client.started(user, script))
        viewers.append(viewer)
        await viewer.follow(server.client)


async def _all_summarise(viewers: list[Viewer]) -> bool:
    return len(viewers) == RUNS and all(map(_summary, viewers))


def _summary(viewer: Viewer) -> str:
    said = (c for c in viewer.chunks if c["type"] == "content" and "parent" in c)
    return "".join(chunk["content"] for chunk in said)


def _results(viewer: Viewer) -> list[dict[str, object]]:
    return [c for c in viewer.chunks if c["type"] == "tool_result" and "parent" not in c]


def _is_whole(results: list[dict[str, object]]) -> bool:
    return len(results) == 1 and results[0]["ok"] is True and "Line 1." in str(results[0])


def _count_left(viewer: Viewer) -> int:
    finished = any("given" in result for result in _results(viewer))
    return 0 if finished else len(_summary(viewer))
