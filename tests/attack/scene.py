"""Where an attack is played, how long, by whom, and what came of it."""

import asyncio
import json
import random
import re
import time
from collections.abc import Awaitable, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

import httpx
from websockets.asyncio.client import ClientConnection
from websockets.exceptions import WebSocketException

from tests.attack.model import Say
from tests.attack.target import Somebody, Target

GONE = (OSError, httpx.HTTPError, WebSocketException, TimeoutError)
"""How a server says no, besides saying it."""
LATE_SECONDS = 1.0
"""For what was begun in time; then they hang up."""
BEGUN = re.compile(r'class="badge running"')
ENDED = re.compile(r'class="badge (?:completed|limited|cancelled|failed)"')
"""In the frames that begin and end an answer."""


@dataclass
class Scene:
    """Where and how long it is played, by whom, and what came of it."""

    target: Target
    mallory: Somebody
    rng: random.Random
    until: float
    crowd: int
    """How many do it at once."""
    talk: str = ""
    """A conversation that was made before it began."""
    acts: int = 0
    broken: list[str] = field(default_factory=list)

    @property
    def is_on(self) -> bool:
        return time.monotonic() < self.until

    @property
    def left(self) -> float:
        return max(0.0, self.until - time.monotonic())

    def look_at(self, *answers: httpx.Response) -> None:
        """Note what no answer may be: an error of the server, or a refusal at the wrong door."""
        for answer in answers:
            if answer.status_code >= 500:
                self.broken.append(f"{answer.url} is answered with {answer.status_code}")
            if answer.status_code == 403 and "CSRF" in answer.text:
                self.broken.append(f"{answer.url} was not reached: the attack has no CSRF token")

    async def together(self, act: Callable[[], Awaitable[None]], most: int = 0) -> None:
        """Do something again and again, many at once, until the time is over."""

        async def again() -> None:
            while self.is_on:
                self.acts += 1
                try:
                    await act()
                except GONE:
                    await asyncio.sleep(0.02)  # it was refused; a real one would not stop

        with suppress(TimeoutError):
            async with asyncio.timeout(self.left + LATE_SECONDS):
                await asyncio.gather(*(again() for _ in range(min(self.crowd, most or self.crowd))))


Attack = Callable[[Scene], Coroutine[Any, Any, None]]


async def says(socket: ClientConnection, verb: str, **fields: Any) -> None:
    await socket.send(json.dumps({"verb": verb, **fields}))


async def asks(socket: ClientConnection, say: Say) -> None:
    await says(socket, "submit", question=say.question(), client_message_id=uuid4().hex)
