"""People at the doors of a server: they ask, follow, go away, come back, and keep what they got."""

import asyncio
import json
import ssl
import time
from contextlib import aclosing, suppress
from dataclasses import dataclass, field
from typing import Any, Self

import httpx

from tests.faults.model import Script

USERS = tuple(f"user{number}" for number in range(8))
PATIENCE = 60.0
_NO_CERTIFICATES = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


@dataclass(frozen=True)
class Answer:
    """What a server says to a question: the run, or why there is none."""

    run: str = ""
    refused: str = ""
    broken: str = ""
    """A server error: never acceptable."""


class Client:
    """A connection to one server process."""

    def __init__(self, address: str) -> None:
        self._http = httpx.AsyncClient(
            base_url=address,
            verify=_NO_CERTIFICATES,
            trust_env=False,
            timeout=PATIENCE,
            limits=httpx.Limits(max_connections=200),
        )

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def ask(self, user: str, script: Script, **more: Any) -> Answer:
        asked = {"user": user, "question": script.question(), **more}
        response = await self._http.post("/door/start", json=asked)
        if response.is_error:
            return Answer(broken=f"HTTP {response.status_code}")
        return Answer(**response.json())

    async def started(self, user: str, script: Script, **more: Any) -> str:
        """The run of a question that must not be refused."""
        answer = await self.ask(user, script, **more)
        if not answer.run:
            raise AssertionError(f"there is no run: {answer}")
        return answer.run

    async def decide(self, user: str, run: str, script: Script) -> Answer:
        """Say yes to what a run asks."""
        asked = {"user": user, "run": run, "question": script.question()}
        response = await self._http.post("/door/decide", json=asked)
        if response.is_error:
            return Answer(broken=f"HTTP {response.status_code}")
        return Answer(**response.json())

    async def cancel(self, run: str) -> None:
        (await self._http.post("/door/cancel", json={"run": run})).raise_for_status()

    async def linger(self) -> None:
        """Wait for an answer that does not come, until the server goes away."""
        with suppress(httpx.TransportError):
            await self._http.get("/door/linger")

    def stream(self, run: str, after: int) -> Any:
        """Lines of a run. A server that stands still for long is waited for."""
        asked = {"run": run, "after": str(after)}
        endless = httpx.Timeout(PATIENCE, read=None)
        return self._http.stream("GET", "/door/follow", params=asked, timeout=endless)


@dataclass
class Viewer:
    """Somebody who follows a run. Only whole lines count as received."""

    run: str
    lines: list[str] = field(default_factory=list)
    at: list[float] = field(default_factory=list)
    """When each line arrived."""
    came: asyncio.Event = field(default_factory=asyncio.Event)
    """Set with each line, for whoever waits for it."""

    async def follow(self, client: Client, seconds: float | None = None) -> None:
        """From where one was to the end, until the connection breaks, or until one has enough."""
        with suppress(httpx.TransportError, TimeoutError):
            async with asyncio.timeout(seconds), client.stream(self.run, self.cursor) as response:
                response.raise_for_status()
                async with aclosing(response.aiter_lines()) as lines:
                    async for line in lines:
                        self.lines.append(line)
                        self.at.append(time.time())
                        self.came.set()

    async def has(self, count: int) -> None:
        """Wait until so many lines were received."""
        async with asyncio.timeout(PATIENCE):
            while len(self.lines) < count:
                self.came.clear()
                await self.came.wait()

    @property
    def chunks(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]

    @property
    def last(self) -> dict[str, Any]:
        chunk: dict[str, Any] = json.loads(self.lines[-1]) if self.lines else {"type": "", "seq": 0}
        return chunk

    @property
    def cursor(self) -> int:
        seq: int = self.last["seq"]
        return seq

    @property
    def has_ended(self) -> bool:
        return bool(self.last["type"] == "done")

    @property
    def reason(self) -> str:
        return str(self.last.get("termination_reason", ""))

    @property
    def text(self) -> str:
        """The answer so far, without what subagents said."""
        said = (c for c in self.chunks if c["type"] == "content" and "parent" not in c)
        return "".join(chunk["content"] for chunk in said)


async def whole(client: Client, run: str) -> Viewer:
    """A run that has ended, from its first chunk to its last."""
    viewer = Viewer(run)
    async with asyncio.timeout(PATIENCE):
        await viewer.follow(client)
    return viewer


def mismatches(seen: Viewer, stored: Viewer) -> int:
    """Lines that were received and are not stored exactly so, in the same place."""
    beyond = max(0, len(seen.lines) - len(stored.lines))
    return beyond + sum(a != b for a, b in zip(seen.lines, stored.lines, strict=False))


def is_in_order(stored: Viewer, script: Script) -> bool:
    """Whether a run is numbered without gaps and says its words in order, as far as it came."""
    numbers = [chunk["seq"] for chunk in stored.chunks]
    text, expected = stored.text, script.text()
    is_complete = text == expected if stored.reason == "completed" else True
    return numbers == list(range(1, len(numbers) + 1)) and expected.startswith(text) and is_complete
