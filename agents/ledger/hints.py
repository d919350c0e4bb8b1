"""Hints to the other processes, over the channel layer. It may lose them: rows are the truth.

One message per commit goes to one listener per process. A layer that fails is tried again every
second; meanwhile readers find new rows by looking every two.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Protocol
from uuid import UUID

from agents.core.tasks import spawn, stop

logger = logging.getLogger(__name__)

GROUP = "oracle.hints"
RETRY_SECONDS = 1.0
REJOIN_SECONDS = 600.0
"""How often the listener joins its group again; the layer forgets those that joined long ago."""


class ChannelLayer(Protocol):
    """What is used of a channel layer."""

    async def new_channel(self) -> str: ...

    async def group_add(self, group: str, channel: str) -> None: ...

    async def group_discard(self, group: str, channel: str) -> None: ...

    async def group_send(self, group: str, message: dict[str, Any]) -> None: ...

    async def receive(self, channel: str) -> dict[str, Any]: ...


class HintBroadcaster:
    """Passes on what this process commits, and tells `on_hints` what the others did."""

    def __init__(self, layer: ChannelLayer, on_hints: Callable[[dict[UUID, int]], None]) -> None:
        self._layer = layer
        self._on_hints = on_hints
        self._name = uuid.uuid4().hex
        self._channel = ""
        self._pending: dict[UUID, int] = {}
        self._has_pending = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        work = {"send": self._send, "listen": self._listen, "rejoin": self._rejoin}
        self._tasks = [
            spawn(self._run_forever(f"hints {name}", step), f"hints {name}")
            for name, step in work.items()
        ]

    async def close(self) -> None:
        await stop(self._tasks, 1.0)
        if self._channel:
            with suppress(Exception):  # it is forgotten by itself, a little later
                async with asyncio.timeout(1.0):
                    await self._layer.group_discard(GROUP, self._channel)

    def publish(self, newest: dict[UUID, int]) -> None:
        self._pending |= newest
        self._has_pending.set()

    async def _send(self) -> None:
        await self._has_pending.wait()
        self._has_pending.clear()
        newest, self._pending = self._pending, {}
        runs = {str(run_id): seq for run_id, seq in newest.items()}
        await self._layer.group_send(GROUP, {"type": "hints", "from": self._name, "runs": runs})

    async def _listen(self) -> None:
        if not self._channel:
            channel = await self._layer.new_channel()
            await self._layer.group_add(GROUP, channel)
            self._channel = channel
        message = await self._layer.receive(self._channel)
        if message["from"] != self._name:
            self._on_hints({UUID(run_id): seq for run_id, seq in message["runs"].items()})

    async def _rejoin(self) -> None:
        await asyncio.sleep(REJOIN_SECONDS)
        if self._channel:
            await self._layer.group_add(GROUP, self._channel)

    async def _run_forever(self, name: str, step: Callable[[], Any]) -> None:
        """Repeat a step. After an error the listener joins again: it may have been forgotten."""
        failing = False
        while True:
            try:
                await step()
                failing = False
            except Exception as error:
                if not failing:
                    logger.warning("%s: the channel layer fails (%s); trying again", name, error)
                failing, self._channel = True, ""
                await asyncio.sleep(RETRY_SECONDS)
