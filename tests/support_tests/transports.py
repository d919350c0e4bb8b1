"""The two ways to reach a script over HTTP, opened alike."""

import json
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx

from tests.support.endpoint import ScriptedEndpoint
from tests.support.script_player import Player, Scripts
from tests.support.transport import ScriptedTransport


@dataclass(frozen=True, slots=True)
class Visit:
    player: Player
    client: httpx.AsyncClient


Door = Callable[[Scripts], AbstractAsyncContextManager[Visit]]


@asynccontextmanager
async def socket_door(scripts: Scripts) -> AsyncIterator[Visit]:
    async with ScriptedEndpoint(scripts) as endpoint, socket_client(endpoint) as client:
        yield Visit(endpoint, client)


def socket_client(endpoint: ScriptedEndpoint) -> httpx.AsyncClient:
    """A plain client. It loads no certificates, which would take longer than most tests."""
    return httpx.AsyncClient(
        base_url=endpoint.base_url,
        verify=ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT),
        trust_env=False,
    )


@asynccontextmanager
async def process_door(scripts: Scripts) -> AsyncIterator[Visit]:
    async with ScriptedTransport(scripts) as transport:
        base_url = transport.base_url
        async with httpx.AsyncClient(base_url=base_url, transport=transport) as client:
            yield Visit(transport, client)


@dataclass(frozen=True, slots=True)
class Seen:
    """What a plain client saw of an answer."""

    status: int | None
    data: bytes
    error: str | None

    @property
    def payloads(self) -> list[str]:
        frames = self.data.decode().split("\n\n")
        return [frame.removeprefix("data: ") for frame in frames if frame]

    @property
    def deltas(self) -> list[dict[str, Any]]:
        chunks = (json.loads(payload) for payload in self.payloads if payload != "[DONE]")
        return [choice["delta"] for chunk in chunks for choice in chunk["choices"]]

    @property
    def text(self) -> str:
        return "".join(delta.get("content") or "" for delta in self.deltas)


def question(model: str = "m", **more: Any) -> dict[str, Any]:
    return {"model": model, "messages": [{"role": "user", "content": "?"}], "stream": True} | more


async def ask(client: httpx.AsyncClient, wait: float = 5.0, **body: Any) -> Seen:
    status, data = None, b""
    try:
        request = question(**body)
        async with client.stream("POST", "/chat/completions", json=request, timeout=wait) as got:
            status = got.status_code
            async for piece in got.aiter_raw():
                data += piece
    except httpx.TransportError as error:
        return Seen(status, data, type(error).__name__)
    return Seen(status, data, None)
