"""Servers that always have more to send: other work and time-outs get their turn."""

import asyncio
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress

import pytest

from agents.llm.client import build_http_client

POUR_BYTES = 16 * 1024 * 1024
"""Far more than is read in `SECONDS`. Then the server closes, so that a reader ends."""
SECONDS = 0.5
OK = b"HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n"
FLOODS = {
    "interim responses": (b"", b"HTTP/1.1 103 Early Hints\r\n\r\n"),
    "chunks of a byte": (OK + b"transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
}


class Flood:
    """A server in a thread, which pours as fast as its reader takes it."""

    def __init__(self, head: bytes, drop: bytes) -> None:
        self._head, self._drops = head, drop * (64 * 1024 // len(drop))
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.poured = 0
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        connected, _ = self._listening.accept()
        with connected, suppress(OSError):
            connected.recv(65_536)
            connected.sendall(self._head)
            while self.poured < POUR_BYTES:
                connected.sendall(self._drops)
                self.poured += len(self._drops)

    def close(self) -> None:
        self._listening.close()
        self._thread.join()


@pytest.fixture(params=FLOODS)
def flood(request: pytest.FixtureRequest) -> Iterator[Flood]:
    flood = Flood(*FLOODS[request.param])
    yield flood
    flood.close()


async def read_for_a_while(flood: Flood) -> None:
    async with (
        build_http_client() as client,
        asyncio.timeout(SECONDS),
        client.stream("GET", f"http://127.0.0.1:{flood.port}/") as response,
    ):
        async for _ in response.aiter_raw():
            pass


async def test_a_time_out_ends_a_flood(flood: Flood) -> None:
    with pytest.raises(TimeoutError):
        await read_for_a_while(flood)
    assert flood.poured < POUR_BYTES
