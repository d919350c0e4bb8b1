"""A model endpoint in a process of its own, which does what the question tells it to.

The question is a `Script` as JSON. Every word of an answer is different ("w0 ", "w1 ", ...), so
that one that is missing, doubled or out of place is seen. The process prints its address, and ends
when its input does: when whoever started it is gone.
"""

import asyncio
import json
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from typing import Any

LONG = 3600.0


@dataclass(frozen=True)
class Script:
    """What the model does with a question: so many turns that call a tool, then an answer."""

    words: int = 400
    delay: float = 0.003
    """Seconds between words."""
    tool_turns: int = 0
    tool: str = "think"
    arguments: dict[str, Any] = field(default_factory=lambda: {"thought": "Hm."})
    before: float = 0.0
    """Seconds before each call of a tool."""

    def question(self) -> str:
        return json.dumps(asdict(self))

    def text(self) -> str:
        """The whole answer."""
        return "".join(f"w{number} " for number in range(self.words))


HANGS = Script(words=1, delay=LONG)
"""Says nothing, for ever."""
HANGS_IN_A_TOOL = Script(
    words=1, tool_turns=1, tool="delegate_librarian", arguments={"task": HANGS.question()}
)
"""Calls the librarian, whose model then says nothing."""


def plan(messages: list[dict[str, Any]]) -> tuple[Script, int]:
    """The script of the last question, and how often the model has spoken since."""
    script, turn = Script(), 0
    for message in messages:
        if message["role"] == "assistant":
            turn += 1
        elif message["role"] == "user":
            with suppress(ValueError, TypeError):  # a hint of the loop is no question
                script, turn = Script(**json.loads(message["content"])), 0
    return script, turn


async def events(script: Script, turn: int) -> AsyncIterator[dict[str, Any]]:
    """The pieces of one answer, at their pace. One that is late does not delay the others."""
    if turn < script.tool_turns:
        await asyncio.sleep(script.before)
        function = {"name": script.tool, "arguments": json.dumps(script.arguments)}
        call = {"index": 0, "id": f"call-{turn}", "type": "function", "function": function}
        yield {"delta": {"role": "assistant", "tool_calls": [call]}, "finish_reason": None}
        yield {"delta": {}, "finish_reason": "tool_calls"}
        return
    loop = asyncio.get_running_loop()
    due = loop.time()
    for number in range(script.words):
        due += script.delay
        await asyncio.sleep(max(0.0, due - loop.time()))
        yield {"delta": {"content": f"w{number} "}, "finish_reason": None}
    yield {"delta": {}, "finish_reason": "stop"}


Tell = Callable[[dict[str, Any], asyncio.StreamWriter], Coroutine[Any, Any, None]]


class Endpoint:
    """One connection per request, to keep the protocol small. `tell` writes what is answered."""

    def __init__(self, tell: Tell) -> None:
        self._tell = tell
        self.open = 0
        """Answers that are under way."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            length = head.partition("content-length:")[2].split("\r\n")[0].strip()
            body = await reader.readexactly(int(length or 0))
            writer.write(b"HTTP/1.1 200 OK\r\nconnection: close\r\n")
            if head.startswith("post"):
                await self._answer(json.loads(body), reader, writer)
            else:
                writer.write(b"content-type: application/json\r\n\r\n")
                writer.write(json.dumps({"open": self.open}).encode())
        with suppress(ConnectionError):
            writer.close()
            await writer.wait_closed()

    async def _answer(
        self, request: dict[str, Any], reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        """Stream, but not to somebody who has gone: a read that ends says so."""
        writer.write(b"content-type: text/event-stream\r\n\r\n")
        telling = asyncio.create_task(self._tell(request, writer))
        gone = asyncio.create_task(reader.read())
        self.open += 1
        try:
            await asyncio.wait([telling, gone], return_when=asyncio.FIRST_COMPLETED)
        finally:
            self.open -= 1
            for task in (telling, gone):
                task.cancel()
            await asyncio.gather(telling, gone, return_exceptions=True)


async def tell(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    common = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "words"}
    async for event in events(*plan(request["messages"])):
        choice = {"index": 0, **event}
        writer.write(b"data: " + json.dumps({**common, "choices": [choice]}).encode() + b"\n\n")
        await writer.drain()
    last = {**common, "choices": [], "usage": usage}
    writer.write(b"data: " + json.dumps(last).encode() + b"\n\ndata: [DONE]\n\n")
    await writer.drain()


async def serve(tell: Tell) -> None:
    """Print the address, and answer until whoever started us is gone."""
    server = await asyncio.start_server(Endpoint(tell).serve, "127.0.0.1", 0, backlog=500)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}\n")
    sys.stdout.flush()
    await asyncio.to_thread(sys.stdin.read)  # until whoever started us is gone
    server.close()


if __name__ == "__main__":
    asyncio.run(serve(tell))
