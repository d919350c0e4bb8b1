"""Which answer a request gets, and the accounts of who asked what."""

import asyncio
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from tests.support.timing import PATIENCE

from .script import Body, Reply, Script, Step, is_tool_free, resolve
from .wire import Answer, error_answer, json_answer, render

Scripts = Script | Sequence[Step] | Mapping[str, Script]
End = Literal["complete", "cut", "aborted", "shut down"]


@dataclass(slots=True)
class Recorded:
    """One chat request. `end` is None while it is being answered."""

    body: Body
    headers: Mapping[str, str]
    at: float
    """Loop time of its arrival."""
    key: str
    reply: Reply
    end: End | None = None
    ended_at: float | None = None

    @property
    def tool_free(self) -> bool:
        return is_tool_free(self.body)

    @property
    def aborted_at(self) -> float | None:
        return self.ended_at if self.end == "aborted" else None


class Accounts:
    """What was asked of a scripted endpoint, whichever way it was reached."""

    def __init__(self) -> None:
        self.requests: list[Recorded] = []
        self.unexpected: list[str] = []
        self._changed = asyncio.Event()

    @property
    def open(self) -> int:
        return sum(record.end is None for record in self.requests)

    @property
    def aborted(self) -> int:
        """Requests whose client went away before the end; `aborted_at` of each says when."""
        return sum(record.end == "aborted" for record in self.requests)

    def close(self, record: Recorded, end: End) -> None:
        """Note how an answer ended. Only the first ending counts."""
        if record.end is None:
            record.end, record.ended_at = end, asyncio.get_running_loop().time()
            self.touch()

    def touch(self) -> None:
        self._changed.set()
        self._changed = asyncio.Event()

    async def until(self, condition: Callable[[], bool], patience: float = PATIENCE) -> None:
        """Wait for a condition on these accounts, for example `lambda: accounts.aborted == 1`."""
        async with asyncio.timeout(patience):
            while not condition():
                await self._changed.wait()


class Player(Accounts):
    """Plays one script, or one per key: the request's model, else its bearer token."""

    def __init__(self, scripts: Scripts) -> None:
        super().__init__()
        if isinstance(scripts, Mapping):
            self._scripts, self._only = dict(scripts), False
        else:
            script = scripts if isinstance(scripts, Script) else Script(scripts)
            self._scripts, self._only = {"scripted": script}, True
        self._played = dict.fromkeys(self._scripts, 0)

    def add(self, key: str, script: Script) -> None:
        """Take on one more conversation while others are under way."""
        if key in self._scripts:
            raise ValueError(f"there is a script for {key!r} already")
        self._scripts[key], self._played[key] = script, 0

    def answer(
        self, method: str, path: str, headers: Mapping[str, str], data: bytes
    ) -> tuple[Recorded | None, Answer]:
        """The answer to any HTTP request, and its record if it was an expected chat request."""
        try:
            if (method, path) == ("GET", "/v1/models"):
                return None, self._models()
            if (method, path) != ("POST", "/v1/chat/completions"):
                raise AssertionError(f"{method} {path}")
            return self._chat(headers, json.loads(data))
        except Exception as error:  # Whatever it is, the test must hear of it.
            return None, self._refuse(f"{type(error).__name__}: {error}")

    def check(self) -> None:
        """Raise AssertionError for what was asked unexpectedly, or expected and never asked."""
        problems = [f"unexpected request: {what}" for what in self.unexpected]
        for key, script in self._scripts.items():
            left = script.steps[self._played[key] :]
            if left and not script.unused_ok:
                problems.append(f"{len(left)} unused steps of {key!r}, next: {left[0]!r}")
        if problems:
            raise AssertionError("\n".join(problems))

    def _chat(self, headers: Mapping[str, str], body: Body) -> tuple[Recorded, Answer]:
        key = self._key(headers, body)
        number = self._played[key]
        step = self._scripts[key].step(number)
        if step is None:
            raise AssertionError(f"request {number + 1} of {key!r}: {_last_message(body)}")
        self._played[key] += 1
        reply = resolve(step, body)
        record = Recorded(body, headers, asyncio.get_running_loop().time(), key, reply)
        self.requests.append(record)
        self.touch()
        return record, render(reply, body, number + 1)

    def _key(self, headers: Mapping[str, str], body: Body) -> str:
        if self._only:
            return "scripted"
        token = headers.get("authorization", "").removeprefix("Bearer ")
        for key in (str(body.get("model")), token):
            if key in self._scripts:
                return key
        raise AssertionError(f"no script for model {body.get('model')!r} or its key")

    def _models(self) -> Answer:
        models = [{"id": key, "object": "model", "owned_by": "tests"} for key in self._scripts]
        return json_answer(200, {"object": "list", "data": models})

    def _refuse(self, what: str) -> Answer:
        self.unexpected.append(what)
        self.touch()
        return error_answer(500, f"unexpected request: {what}")


def _last_message(body: Body) -> str:
    messages = body.get("messages") or [None]
    return f"last message {messages[-1]!r}, tools {'withheld' if is_tool_free(body) else 'offered'}"
