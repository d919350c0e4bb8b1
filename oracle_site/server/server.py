"""The server process: daphne, with a beginning and an end of our own.

daphne knows no lifespan, and at SIGTERM it drops every task at once. Here the runtime is opened
before the port is, and a signal drains: new runs are refused, those going on may finish for a
while, the rest is ended as interrupted and stored, then sockets are closed with 1012, which tells
browsers to come back.
"""

import oracle_site.server.uvloop_reactor  # noqa: F401  # isort: skip  # before daphne, which would install its own
from daphne.server import Server, WebSocketFactory  # type: ignore[import-untyped]  # isort: skip
import daphne.http_protocol  # type: ignore[import-untyped]  # isort: skip
from daphne.http_protocol import WebRequest  # isort: skip

import asyncio
import signal
from collections.abc import Callable
from contextlib import AsyncExitStack, suppress
from typing import Any

from autobahn.exception import Disconnected
from twisted.internet import reactor, tcp
from twisted.internet.protocol import connectionDone
from twisted.internet.task import deferLater
from twisted.web.http import HTTPChannel

from agents.core.tasks import stop
from agents.runtime import Runtime, open_runtime
from agents.web.throttling import TokenBucket
from oracle_site.server.maintenance import maintain

MAX_MESSAGE_BYTES = 64 * 1024
"""Of one message of a browser."""
MAX_BODY_BYTES = 1024 * 1024
"""Bytes of the body of one request; views allow less."""
MAX_STREAM_BYTES = 256 * 1024
"""Bytes of a download or a stream of events that wait for their reader; the next wait for these."""
MAX_UNSENT_BYTES = 4 * 1024 * 1024
"""Bytes that wait for one browser to read them: it may say that it has got what it never read."""
HEADER_SECONDS = 30
"""For the headers of a request, from the opening of the connection or their first byte."""
MESSAGE_BURST, MESSAGES_PER_SECOND = 200, 20.0
BYTE_BURST, BYTES_PER_SECOND = 1024 * 1024, 64 * 1024
"""Of one socket, before anybody looks at them. The chat allows fewer messages, says so, and closes
the socket with a code; so more of them are ignored at first."""
MAX_IGNORED = 2_000
TOO_LARGE_RESPONSE = (
    b"HTTP/1.1 413 Content Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
)
LAST_FRAMES_SECONDS = 0.3
"""For senders to pass on how their runs ended, before sockets are closed."""
CLEANUP_SECONDS = 0.2
"""For requests that are cut off to clean up."""
CLOSE_SERVICE_RESTART = 1012


class EagerTransport(tcp.Server):
    """Frames are sent at once, as far as the socket takes them: asking the loop when it will take
    them costs more than sending them. Answers are not: their parts shall share a packet."""

    writes_immediately = False
    _drained: asyncio.Event | None = None

    def write(self, data: bytes) -> None:
        is_idle = not (self.dataBuffer or self._tempDataBuffer or self.disconnecting)
        if self.writes_immediately and is_idle and self.connected and not self._writeDisconnected:
            sent = self.writeSomeData(data)
            if isinstance(sent, int):  # else it is lost; the ordinary way finds out
                data = data[sent:]
        if data:
            super().write(data)  # type: ignore[no-untyped-call]

    def doWrite(self) -> Any:  # noqa: N802  # twisted's name
        result = super().doWrite()  # type: ignore[no-untyped-call]
        if self._drained is not None and self.unsent <= MAX_STREAM_BYTES:
            self._drained.set()
        return result

    def connectionLost(self, reason: Any) -> None:  # noqa: N802  # twisted's name
        super().connectionLost(reason)
        if self._drained is not None:
            self._drained.set()

    async def drain(self) -> None:
        """Wait until at most `MAX_STREAM_BYTES` wait for the other side, or it has gone."""
        if self.connected and self.unsent > MAX_STREAM_BYTES:
            self._drained = asyncio.Event()
            try:
                await self._drained.wait()
            finally:
                self._drained = None

    @property
    def unsent(self) -> int:
        """How many bytes wait until the other side reads."""
        return len(self.dataBuffer) - self.offset + self._tempDataLen


tcp.Port.transport = EagerTransport


class BoundedWebSocketProtocol(WebSocketFactory.protocol):  # type: ignore[misc]  # daphne has no types
    """A bound on what is received; autobahn applies it to what is sent as well, unless told.

    Whoever reads nothing, or talks without end, is cut off: daphne would keep everything for them.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._messages = TokenBucket(MESSAGE_BURST, MESSAGES_PER_SECOND)
        self._bytes = TokenBucket(BYTE_BURST, BYTES_PER_SECOND)
        self._ignored = 0

    def onMessage(self, payload: bytes, isBinary: bool) -> None:  # noqa: N802, N803  # autobahn's names
        if not self._messages.try_acquire():
            self._ignored += 1
        elif self._bytes.try_acquire(len(payload)):
            super().onMessage(payload, isBinary)
            return
        else:
            self._ignored += MAX_IGNORED
        if self._ignored >= MAX_IGNORED:
            self.dropConnection(abort=True)

    def sendMessage(self, *args: Any, **kwargs: Any) -> Any:  # noqa: N802  # autobahn's name
        if self.transport.unsent > MAX_UNSENT_BYTES:
            self.dropConnection(abort=True)
            return None
        bound, self.maxMessagePayloadSize = MAX_MESSAGE_BYTES, 0
        self.transport.writes_immediately = True
        try:
            return super().sendMessage(*args, **kwargs)
        except Disconnected as error:  # as ASGI has it, so that consumers need not know autobahn
            raise ConnectionResetError("the browser has left") from error
        finally:
            self.maxMessagePayloadSize = bound


WebSocketFactory.protocol = BoundedWebSocketProtocol


class BoundedChannel(HTTPChannel):
    """A connection that is closed if the headers of a request take longer than `HEADER_SECONDS`.

    Twisted closes idle connections only, so a byte now and then would keep one open.
    """

    _header_deadline: Any = None

    def connectionMade(self) -> None:  # noqa: N802  # twisted's name
        super().connectionMade()  # type: ignore[no-untyped-call]
        self._begin_headers()

    def dataReceived(self, data: bytes) -> None:  # noqa: N802  # twisted's name
        is_between_requests = self.line_mode and self._header_deadline is None
        if is_between_requests:
            self._begin_headers()
        super().dataReceived(data)  # type: ignore[no-untyped-call]

    def allHeadersReceived(self) -> None:  # noqa: N802  # twisted's name
        self._end_headers()
        super().allHeadersReceived()  # type: ignore[no-untyped-call]

    def connectionLost(self, reason: Any = connectionDone) -> None:  # noqa: N802  # twisted's name
        self._end_headers()
        super().connectionLost(reason)  # type: ignore[no-untyped-call]

    def _begin_headers(self) -> None:
        later = self.callLater(HEADER_SECONDS, self._close_unfinished)  # type: ignore[no-untyped-call]
        self._header_deadline = later

    def _end_headers(self) -> None:
        if self._header_deadline is not None:
            self._header_deadline.cancel()
            self._header_deadline = None

    def _close_unfinished(self) -> None:
        self._header_deadline = None
        self.timeoutConnection()  # type: ignore[no-untyped-call]


daphne.http_protocol.HTTPFactory.protocol = BoundedChannel


class BoundedRequest(WebRequest):  # type: ignore[misc]  # daphne has no types
    """A bound on what is kept of a request, and a check of its host, before anybody looks at it."""

    _received_bytes = 0

    def process(self) -> Any:
        """Refuse a request that does not say which host it is for, as RFC 9112 has it."""
        hosts = self.requestHeaders.getRawHeaders(b"Host", [])
        if self.clientproto == b"HTTP/1.1" and len(hosts) != 1:
            self.basic_error(400, b"Bad Request", "A request has exactly one Host header.")
            return None
        return super().process()

    def handleContentChunk(self, data: bytes) -> None:  # noqa: N802  # twisted's name
        self._received_bytes += len(data)
        if self._received_bytes <= MAX_BODY_BYTES:
            super().handleContentChunk(data)
        elif self.channel is not None:
            self.channel.transport.write(TOO_LARGE_RESPONSE)
            self.channel.loseConnection()


daphne.http_protocol.WebRequest = BoundedRequest


class OracleServer(Server):  # type: ignore[misc]  # daphne has no types
    """Serves until a signal; `exit_code` says how it went."""

    def __init__(
        self,
        application: Any,
        *,
        host: str,
        port: int,
        grace: float,
        on_ready: Callable[[str], None],
        on_failed: Callable[[str], None],
    ) -> None:
        interface = host.replace(":", r"\:")
        super().__init__(
            application,
            endpoints=[f"tcp:port={port}:interface={interface}"],
            signal_handlers=False,
            websocket_max_message_size=MAX_MESSAGE_BYTES,
            websocket_max_frame_size=MAX_MESSAGE_BYTES,
            server_name="oracle",
        )
        self._grace = grace
        self._on_ready, self._on_failed = on_ready, on_failed
        self._ports: list[Any] = []
        self._exit_stack = AsyncExitStack()
        self._runtime: Runtime | None = None
        self._draining: asyncio.Task[None] | None = None
        self._maintaining: asyncio.Task[None] | None = None
        self.exit_code = 0

    def run(self) -> None:
        loop: asyncio.AbstractEventLoop = reactor._asyncioEventloop
        asyncio.set_event_loop(loop)
        self._runtime = loop.run_until_complete(
            self._exit_stack.enter_async_context(open_runtime())
        )
        self._maintaining = loop.create_task(maintain(self._runtime), name="maintenance")
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._on_signal, loop)
        super().run()
        if not self._ports:  # it never began to serve
            self._maintaining.cancel()
            loop.run_until_complete(self._exit_stack.aclose())

    def listen_success(self, port: Any) -> None:
        super().listen_success(port)
        self._ports.append(port)
        address = port.getHost()
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._on_ready(f"http://{host}:{address.port}")

    def listen_error(self, failure: Any) -> None:
        self.exit_code = 1
        self._on_failed(failure.getErrorMessage())
        self.stop()

    async def handle_reply(self, protocol: Any, message: Any) -> None:
        """Pass on what an application sends. daphne would keep a whole download in memory."""
        await super().handle_reply(protocol, message)
        channel = getattr(protocol, "channel", None)
        if message.get("more_body") and channel is not None:
            await channel.transport.drain()

    def kill_all_applications(self) -> Any:
        """Cancel them at once: daphne waits until all have ended, which a request may never do."""
        for details in self.connections.values():
            if (instance := details.get("application_instance")) is not None:
                instance.cancel()
        return deferLater(reactor, CLEANUP_SECONDS)

    def _on_signal(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._draining is None:
            self._draining = loop.create_task(self._drain(), name="drain")
        else:  # asked twice: at once
            self.stop()

    async def _drain(self) -> None:
        try:
            for port in self._ports:
                port.stopListening()
            if self._maintaining is not None:
                await stop([self._maintaining], 1.0)
            if self._runtime is not None:
                await self._runtime.drain(self._grace)
            await self._close_sockets()
            await self._exit_stack.aclose()
        finally:
            self.stop()

    async def _close_sockets(self) -> None:
        sockets = [p for p in self.connections if hasattr(p, "sendCloseFrame")]
        if not sockets:
            return
        await asyncio.sleep(LAST_FRAMES_SECONDS)
        for protocol in sockets:
            with suppress(Exception):  # it may have gone meanwhile
                protocol.sendCloseFrame(code=CLOSE_SERVICE_RESTART, reasonUtf8=b"restarting")
        await asyncio.sleep(LAST_FRAMES_SECONDS)
