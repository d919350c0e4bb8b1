"""A run as server-sent events: one chunk is one event, `id` is its number, `event` its type.

Only rows are sent, as everywhere: opening a stream and resuming one are the same. Whoever closes
theirs ends nothing.
"""

import asyncio
import json
import logging
from collections.abc import AsyncGenerator
from contextlib import suppress
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.http import StreamingHttpResponse

from agents.core.chunks import Chunk, Done, to_dict
from agents.ledger.store import Page
from agents.models import ApiToken
from chat.api import auth, limits
from chat.api.here import runtime, work
from chat.api.runs import is_theirs

log = logging.getLogger(__name__)

MEDIA = "text/event-stream"
LOOK_SECONDS = 2.0
"""After so long without a hint the rows are looked at all the same."""
BEAT_SECONDS = 15.0
"""After so long in silence a comment is sent. As often the token is looked at again."""
AT_ONCE = 50
"""Events that are made and sent in one go."""
BEAT = b": still here\n\n"
BREAKS = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Escaped in data: readers that split lines as Unicode does would break it there."""
GONE = b": this token is not valid any more\n\n"


def response(token: ApiToken, run_id: UUID, after: int, **headers: str) -> StreamingHttpResponse:
    limits.refuse_streams(token.user_id)
    said = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
    named = {name.replace("_", "-"): value for name, value in said.items()}
    return StreamingHttpResponse(events(token, run_id, after), content_type=MEDIA, headers=named)


async def events(token: ApiToken, run_id: UUID, after: int) -> AsyncGenerator[bytes, None]:
    """What is stored after a number, then what comes, until the run's end."""
    clock = asyncio.get_running_loop().time
    hint = asyncio.Event()
    spoken = asked = clock()
    with limits.streaming(token.user_id), runtime().watch(run_id, hint.set):
        yield b"retry: 1000\n\n"
        while True:
            hint.clear()
            if (page := await _read(run_id, after)) is not None:
                after, spoken = page.upto, clock()
                for start in range(0, len(page.chunks), AT_ONCE):
                    yield b"".join(map(event, page.chunks[start : start + AT_ONCE]))
                    await asyncio.sleep(0)  # sending waits for nobody; others want the loop too
                if page.chunks and isinstance(page.chunks[-1], Done):
                    return
                if page.is_full:
                    continue
            if clock() - asked >= BEAT_SECONDS:
                asked = clock()
                if not await _may_read(token, run_id):
                    yield GONE
                    return
            if clock() - spoken >= BEAT_SECONDS:
                spoken = clock()
                yield BEAT
            with suppress(TimeoutError):
                async with asyncio.timeout(min(LOOK_SECONDS, BEAT_SECONDS)):
                    await hint.wait()


def event(chunk: Chunk) -> bytes:
    data = json.dumps(to_dict(chunk), ensure_ascii=False)
    if not data.isascii():
        data = data.translate(BREAKS)
    return f"id: {chunk.seq}\nevent: {chunk.type}\ndata: {data}\n\n".encode()


async def _read(run_id: UUID, after: int) -> Page | None:
    """A database that is away for a while ends no stream: it is looked at again."""
    try:
        return await runtime().read(run_id, after)
    except (OperationalError, InterfaceError) as error:
        log.warning("the database cannot be read (%s); looking again", error)
        return None


async def _may_read(token: ApiToken, run_id: UUID) -> bool:
    def ask() -> bool:
        return auth.is_valid(token) and is_theirs(token.user, run_id)

    try:
        return await work(ask)
    except (OperationalError, InterfaceError):
        return True  # nobody can say: ask again later
