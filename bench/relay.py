"""The control of `bench/chat.py`: a bare relay on daphne, one frame per token, nothing kept.

An ASGI application: a client sends a question, the model's deltas come back as they arrive.
"""

import json
import os
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

import httpx

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

BASE_URL = os.environ["ORACLE_LLM_BASE_URL"]
http = httpx.AsyncClient(timeout=None)  # noqa: S113  # a measurement ends by itself


async def application(scope: Message, receive: Receive, send: Send) -> None:
    if scope["type"] != "websocket":
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"ready"})
        return
    while True:
        message = await receive()
        if message["type"] == "websocket.connect":
            await send({"type": "websocket.accept"})
        elif message["type"] == "websocket.receive":
            await answer(message["text"], send)
        else:
            return


async def answer(question: str, send: Send) -> None:
    body = {
        "model": "fake",
        "stream": True,
        "messages": [{"role": "user", "content": question}],
    }
    async with http.stream("POST", f"{BASE_URL}/chat/completions", json=body) as response:
        async for line in response.aiter_lines():
            if line.startswith("data: {"):
                choices = json.loads(line[6:])["choices"]
                text = choices[0]["delta"].get("content") if choices else None
                if text:
                    await send({"type": "websocket.send", "text": text})
    await send({"type": "websocket.send", "text": "<done>"})
