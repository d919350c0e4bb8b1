"""The scripted endpoint for tests that cannot run a loop: in a thread, with gates in its answers.

    with Stage() as stage:
        gate = stage.gate()
        stage.play("model-1", Script([held("Half of it, ", "the rest.", gate)]))
        ...  # whoever asks model-1 over `stage.base_url` waits in the middle
        gate.open()

A gate lets a test look at a moment in the middle of an answer for as long as it needs.
"""

import asyncio
import threading
from dataclasses import dataclass
from typing import Self

from .endpoint import ScriptedEndpoint, _Connection, _framed, _head, _pause
from .script import Reply, Script
from .script_player import Recorded
from .wire import Answer


class Gate:
    """Closed until it is opened, from any thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._opened = asyncio.Event()

    def open(self) -> None:
        self._loop.call_soon_threadsafe(self._opened.set)

    async def passed(self) -> None:
        await self._opened.wait()


@dataclass(frozen=True, slots=True, kw_only=True)
class Held(Reply):
    """A reply that waits at a gate after so many deltas."""

    gate: Gate
    after: int = 1


def held(first: str, rest: str, gate: Gate) -> Held:
    """Text that stops in the middle until the gate is opened."""
    return Held(text=first + rest, pieces=[len(first)], gate=gate)


class _GatedConnection(_Connection):
    async def _respond(self, answer: Answer) -> None:
        reply = self._record.reply if self._record is not None else None
        if not isinstance(reply, Held) or answer.head is None:
            await super()._respond(answer)
            return
        await _pause(answer.wait)
        self._transport.write(_head(answer.head))
        for number, piece in enumerate(answer.pieces):
            if number == reply.after:
                await reply.gate.passed()
            await _pause(piece.wait)
            self._transport.write(_framed(piece.data, answer.head))
        await self._end(answer)


class _GatedEndpoint(ScriptedEndpoint):
    def _connect(self) -> _Connection:
        return _GatedConnection(self)

    def play(self, key: str, script: Script) -> None:
        """From now on, whatever was played under this key before."""
        self._scripts[key], self._played[key] = script, 0

    def left(self, key: str) -> int:
        """Steps that nobody asked for, unless that was foreseen."""
        script = self._scripts[key]
        return 0 if script.unused_ok else max(0, len(script.steps) - self._played[key])


class Stage:
    """Scripts are told apart by the model that a request names."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._endpoint = _GatedEndpoint({})
        self._closing = asyncio.Event()

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, args=[ready], name="stage")
        self._thread.start()
        assert ready.wait(10), "the scripted endpoint did not start"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._closing.set)
        self._thread.join(10)
        self._loop.close()

    def _serve(self, ready: threading.Event) -> None:
        async def until_closed() -> None:
            await self._endpoint.__aenter__()
            ready.set()
            await self._closing.wait()
            await self._endpoint._shut_down()

        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(until_closed())

    @property
    def base_url(self) -> str:
        return self._endpoint.base_url

    def gate(self) -> Gate:
        return Gate(self._loop)

    def play(self, key: str, script: Script) -> None:
        self._endpoint.play(key, script)

    def requests(self, key: str) -> list[Recorded]:
        """What was asked of one model so far."""
        return [record for record in list(self._endpoint.requests) if record.key == key]

    def problems(self, key: str) -> list[str]:
        """Steps of one model that nobody asked for; requests that nobody foresaw."""
        left = self._endpoint.left(key)
        unasked = [f"{left} unused steps of {key!r}"] if left else []
        return unasked + [what for what in self._endpoint.unexpected if repr(key) in what]
