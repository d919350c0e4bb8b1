"""Sockets that talk too much, come too often, or do not read."""

import asyncio
import json
from contextlib import AsyncExitStack, suppress
from uuid import uuid4

from websockets.exceptions import ConnectionClosed

from tests.attack.model import Say
from tests.attack.scene import GONE, Scene, asks, says
from tests.attack.target import until_closed

GROWTH_MB = 200.0


async def acks(scene: Scene) -> None:
    """Acknowledgements as fast as they can be sent, of a conversation with a run in it."""

    async def act() -> None:
        async with scene.mallory.connect() as tab:
            await says(tab, "resume", head="", live=[])
            await asks(tab, Say(words=100, delay=0.05))
            with suppress(ConnectionClosed):
                while scene.is_on:
                    await tab.send('{"verb": "ack", "frames": 1}')
                    scene.acts += 1
                    await asyncio.sleep(0.001)

    await scene.together(act, most=5)


async def comings(scene: Scene) -> None:
    """Sockets that are opened and closed as fast as they can be."""

    async def act() -> None:
        async with scene.mallory.connect() as tab:
            await says(tab, "resume", head="", live=[])

    await scene.together(act)


async def slow_readers(scene: Scene) -> None:
    """Sockets that say they have got everything, and read nothing."""
    before = scene.target.rss()
    async with AsyncExitStack() as opening:
        key = str(uuid4())
        tabs = [
            await opening.enter_async_context(scene.mallory.connect(key, max_queue=1))
            for _ in range(scene.crowd)
        ]
        for tab in tabs:
            await says(tab, "resume", head="", live=[])
        while scene.is_on:
            with suppress(*GONE):
                await asks(tabs[0], Say(text="word " * 30_000, delay=0.01))
            for tab in tabs:
                with suppress(*GONE):
                    await says(tab, "ack", frames=10**9)
                scene.acts += 1
            await asyncio.sleep(min(0.5, scene.left))
        growth = scene.target.rss() - before
        for tab in tabs:
            tab.transport.abort()
    if growth > GROWTH_MB:
        scene.broken.append(f"slow readers cost {growth:.0f} MB")


async def floods(scene: Scene) -> None:
    """Messages as fast as they can be sent: each socket is closed for it."""

    async def act() -> None:
        async with scene.mallory.connect() as tab:
            with suppress(ConnectionClosed):
                for _ in range(500):
                    await tab.send(json.dumps({"verb": "rename", "title": "x" * 60_000}))
            if (code := await until_closed(tab, 5.0)) not in (4429, 1006):
                scene.broken.append(f"a flood of messages was closed with {code}")

    await scene.together(act, most=5)
