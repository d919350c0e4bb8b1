"""A TCP proxy on loopback that can cut connections, freeze them, or turn new ones away.

with Proxy(8000) as proxy:
    ...  # talk to proxy.port
    proxy.freeze()  # as a laptop that sleeps: connections stay open and carry nothing
"""

import asyncio
import threading
from contextlib import suppress
from typing import Self


class Proxy:
    """Forwards until it is told otherwise."""

    def __init__(self, target: int, port: int = 0) -> None:
        self._target = target
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._flowing = asyncio.Event()
        self._flowing.set()
        self._closing = asyncio.Event()
        self._writers: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._away = False

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=[ready], name="proxy")
        self._thread.start()
        assert ready.wait(10), "the proxy did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(10)
        self._loop.close()

    def cut(self) -> None:
        """Reset every connection; new ones are welcome."""
        self._loop.call_soon_threadsafe(self._abort)

    def freeze(self) -> None:
        """What is open stays open and carries nothing more; new connections work."""
        self._loop.call_soon_threadsafe(self._freeze)

    def turn_away(self, away: bool = True) -> None:
        """Reset every connection, new ones too."""
        self._away = away
        self.cut()

    # -- in the thread ----------------------------------------------------------------------------

    def _serve(self, ready: threading.Event) -> None:
        async def until_closed() -> None:
            server = await asyncio.start_server(self._accept, "127.0.0.1", self.port)
            self.port = server.sockets[0].getsockname()[1]
            ready.set()
            await self._closing.wait()
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(until_closed())

    def _abort(self) -> None:
        for writer in list(self._writers):
            writer.transport.abort()

    def _freeze(self) -> None:
        """Those that wait now wait for ever: later connections get a tap of their own."""
        self._flowing.clear()
        self._flowing = asyncio.Event()
        self._flowing.set()

    def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = self._loop.create_task(self._forward(reader, writer))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _forward(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._away:
            writer.transport.abort()
            return
        try:
            onward, out = await asyncio.open_connection("127.0.0.1", self._target)
        except OSError:
            writer.transport.abort()
            return
        self._writers |= {writer, out}
        tap = self._flowing
        try:
            await asyncio.gather(_pump(reader, out, tap), _pump(onward, writer, tap))
        finally:
            for end in (writer, out):
                self._writers.discard(end)
                end.transport.abort()


async def _pump(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, tap: asyncio.Event
) -> None:
    with suppress(ConnectionError):
        while data := await reader.read(65536):
            await tap.wait()
            writer.write(data)
            await writer.drain()
        if tap.is_set() and not writer.is_closing():
            writer.write_eof()
