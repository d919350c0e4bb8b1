"""The model of the attack, in a process of its own: it says what the question tells it to."""

import asyncio
import json
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from tests.faults.model import serve

SHAPES = {
    "brackets": "[",
    "images": "![[",
    "headings": "# a\n",
    "setext": "a\n=\n\n",
    "emphasis": "*_[`",
    "citations": "[a.md:1",
    "quotes": "> " * 50 + "a\n",
    "lists": "- " * 40 + "a\n",
    "entities": "&#x41;",
    "tables": "|a|b|\n|-|-|\n|c|d|\n\n",
}
"""Markdown that is dear to read, by what is repeated."""


@dataclass(frozen=True)
class Say:
    """An answer: a text, a repeated shape, or words with the moment they were said."""

    text: str = ""
    shape: str = ""
    size: int = 0
    words: int = 0
    delay: float = 0.0
    """Seconds between pieces."""
    piece: int = 2_000
    """Characters at once, of a text or a shape."""
    prompt_tokens: int = 100
    completion_tokens: int = 10

    def question(self) -> str:
        return json.dumps(asdict(self))

    def pieces(self) -> Iterator[str]:
        for _ in range(self.words):
            yield f"{time.time_ns()} "
        repeated = SHAPES.get(self.shape, "")
        whole = self.text or (repeated * (self.size // max(1, len(repeated)) + 1))[: self.size]
        for at in range(0, len(whole), self.piece):
            yield whole[at : at + self.piece]


def asked(messages: list[dict[str, Any]]) -> Say:
    """What the last question wants; a hint of the loop is no question."""
    for message in reversed(messages):
        with suppress(ValueError, TypeError, KeyError):
            return Say(**json.loads(message["content"]))
    return Say(text="Nothing.")


async def tell(request: dict[str, Any], writer: asyncio.StreamWriter) -> None:
    say = asked(request["messages"])
    loop = asyncio.get_running_loop()
    due = loop.time()
    for piece in say.pieces():
        _write(writer, [{"index": 0, "delta": {"content": piece}, "finish_reason": None}])
        await writer.drain()
        due += say.delay
        await asyncio.sleep(max(0.0, due - loop.time()))
    _write(writer, [{"index": 0, "delta": {}, "finish_reason": "stop"}])
    both = {"prompt_tokens": say.prompt_tokens, "completion_tokens": say.completion_tokens}
    _write(writer, [], usage={**both, "total_tokens": sum(both.values())})
    writer.write(b"data: [DONE]\n\n")
    await writer.drain()


def _write(writer: asyncio.StreamWriter, choices: list[Any], **more: Any) -> None:
    common = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "attack"}
    writer.write(b"data: " + json.dumps({**common, "choices": choices, **more}).encode() + b"\n\n")


if __name__ == "__main__":
    asyncio.run(serve(tell))
