"""The server process: daphne, with a beginning and an end of our own.

daphne knows no lifespan, and at SIGTERM it drops every task at once. Here the runtime is opened
before the port is, and a signal drains: new runs are refused, those going on may finish for a
while, the rest is ended as interrupted and stored, then sockets are closed with 1012, which tells
browsers to come back.
"""

import oracle_site.reactor  # noqa: F401  # isort: skip  # before daphne, which would install its own
from daphne.server import Server, WebSocketFactory  # type: ignore[import-untyped]  # isort: skip
import daphne.http_protocol  # type: ignore[import-untyped]  # isort: skip
from daphne.http_protocol import WebRequest  # isort: skip

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

from twisted.internet import reactor, tcp
from twisted.internet.task import deferLater

from agents.runtime.home import open_home
from agents.runtime.runtime import Runtime

MOST_BYTES = 64 * 1024
"""Of one message of a browser."""
MOST_SENT = 1024 * 1024
"""Bytes of the body of one request; views allow less."""
TOO_LARGE = b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
LAST_FRAMES_SECONDS = 0.3
"""For senders to pass on how their runs ended, before sockets are closed."""
GOODBYE_SECONDS = 0.2
"""For requests that are cut off to clean up."""
RESTARTING = 1012


class Transport(tcp.Server):
    """Frames are sent at once, as far as the socket takes them: asking the loop when it will take
    them costs more than sending them. Answers are not: their parts shall share a packet."""

    at_once = False

    def write(self, data: bytes) -> None:
        is_idle = not (self.dataBuffer or self._tempDataBuffer or self.disconnecting)
        if self.at_once and is_idle and self.connected and not self._writeDisconnected:
            sent = self.writeSomeData(data)
            if isinstance(sent, int):  # else it is lost; the ordinary way finds out
                data = data[sent:]
        if data:
            super().write(data)  # type: ignore[no-untyped-call]


tcp.Port.transport = Transport


class Protocol(WebSocketFactory.protocol):  # type: ignore[misc]  # daphne has no types
    """A bound on what is received; autobahn applies it to what is sent as well, unless told."""

    def sendMessage(self, *args: Any, **kwargs: Any) -> Any:  # noqa: N802  # autobahn's name
        bound, self.maxMessagePayloadSize = MOST_BYTES, 0
        self.transport.at_once = True
        try:
            return super().sendMessage(*args, **kwargs)
        finally:
            self.maxMessagePayloadSize = bound


WebSocketFactory.protocol = Protocol


class Request(WebRequest):  # type: ignore[misc]  # daphne has no types
    """A bound on what is kept of a request before anybody looks at it."""

    _kept = 0

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  # twisted's name
        self._kept += len(data)
        if self._kept <= MOST_SENT:
            super().handleContentChunk(data)
        elif self.channel is not None:
            self.channel.transport.write(TOO_LARGE)
            self.channel.loseConnection()


daphne.http_protocol.WebRequest = Request


class OracleServer(Server):  # type: ignore[misc]  # daphne has no types
    """Serves until a signal; `exit_code` says how it went."""

    def __init__(
        self,
        application: Any,
        *,
        host: str,
        port: int,
        grace: float,
        ready: Callable[[str], None],
        failed: Callable[[str], None],
    ) -> None:
        interface = host.replace(":", r"\:")
        super().__init__(
            application,
            endpoints=[f"tcp:port={port}:interface={interface}"],
            signal_handlers=False,
            websocket_max_message_size=MOST_BYTES,
            websocket_max_frame_size=MOST_BYTES,
            server_name="oracle",
        )
        self._grace = grace
        self._ready, self._failed = ready, failed
        self._ports: list[Any] = []
        self._open = AsyncExitStack()
        self._runtime: Runtime | None = None
        self._draining: asyncio.Task[None] | None = None
        self.exit_code = 0

    def run(self) -> None:
        loop: asyncio.AbstractEventLoop = reactor._asyncioEventloop
        asyncio.set_event_loop(loop)
        self._runtime = loop.run_until_complete(self._open.enter_async_context(open_home()))
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, loop)
        super().run()
        if not self._ports:  # it never began to serve
            loop.run_until_complete(self._open.aclose())

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        self._ports.append(port)
        address = port.getHost()
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._ready(f"http://{host}:{address.port}")

    def listen_error(self, failure: Any) -> None:
        self.exit_code = 1
        self._failed(failure.getErrorMessage())
        self.stop()

    def kill_all_applications(self) -> Any:
        """daphne's own waits until they have all ended; a request may never do that."""
        for details in self.connections.values():
            if (instance := details.get("application_instance")) is not None:
                instance.cancel()
        return deferLater(reactor, GOODBYE_SECONDS)

    def _on_signal(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._draining is None:
            self._draining = loop.create_task(self._drain(), name="drain")
        else:  # asked twice: at once
            self.stop()

    async def _drain(self) -> None:
        try:
            for port in self._ports:
                port.stopListening()
            if self._runtime is not None:
                await self._runtime.drain(self._grace)
            await self._close_sockets()
            await self._open.aclose()
        finally:
            self.stop()

    async def _close_sockets(self) -> None:
        sockets = [p for p in self.connections if hasattr(p, "sendCloseFrame")]
        if not sockets:
            return
        await asyncio.sleep(LAST_FRAMES_SECONDS)
        for protocol in sockets:
            with suppress(Exception):  # it may have gone meanwhile
                protocol.sendCloseFrame(code=RESTARTING, reasonUtf8=b"restarting")
        await asyncio.sleep(LAST_FRAMES_SECONDS)
