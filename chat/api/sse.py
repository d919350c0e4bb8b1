"""A run as server-sent events: one chunk is one event, `id` is its number, `event` its type.

Only rows are sent, as everywhere: opening a stream and resuming one are the same. Whoever closes
theirs ends nothing.
"""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from uuid import UUID

from django.db import InterfaceError, OperationalError
from django.http import StreamingHttpResponse

from agents.core.chunks import OracleStreamChunk, to_dict
from agents.ledger import ChunkPage
from agents.models import AgentRun, ApiToken
from chat.api import auth, throttling
from chat.api.runtime import require_runtime, run_db
from chat.api.serializers import user_can_read

MEDIA_TYPE = "text/event-stream"
HEARTBEAT_SECONDS = 15.0
"""After so long in silence a comment is sent. As often the token is looked at again."""
BATCH_SIZE = 50
"""Events that are made and sent in one go."""
HEARTBEAT = b": still here\n\n"
OPEN_COMMENT = b": open\n\n"
"""Sent at once, so that headers are not kept back until something happens."""
RETRY_FIELD = b"retry: 1000\n"
"""Milliseconds before a reader reconnects. Part of the first event: alone it would be a block
without data, which some readers take for an event and fail on."""
LINE_BREAK_ESCAPES = {ord(mark): f"\\u{ord(mark):04x}" for mark in "\x85\u2028\u2029"}
"""Escaped in data: readers that split lines as Unicode does would break it there."""
REVOKED_COMMENT = b": this token is not valid any more\n\n"
NO_ACCESS_COMMENT = b": you have no access to this run's project any more\n\n"


def stream_response(
    token: ApiToken, run: AgentRun, after: int, **headers: str
) -> StreamingHttpResponse:
    throttling.check_stream_limit(token.user_id)
    said = {"Cache-Control": "no-store", "X-Accel-Buffering": "no", **headers}
    named = {name.replace("_", "-"): value for name, value in said.items()}
    return StreamingHttpResponse(
        iter_events(token, run, after), content_type=MEDIA_TYPE, headers=named
    )


async def iter_events(token: ApiToken, run: AgentRun, after: int) -> AsyncGenerator[bytes, None]:
    """Yield what is stored after a number, then what comes, until the run's end.

    When rights in the project change, nothing more is sent before they were looked at.
    """
    clock, rights_changed = asyncio.get_running_loop().time, asyncio.Event()
    spoken = asked = clock()
    first = RETRY_FIELD
    runtime = require_runtime()
    following = runtime.follow_pages(run.pk, after, HEARTBEAT_SECONDS)
    with (
        throttling.count_stream(token.user_id),
        runtime.watch(run.project_id, rights_changed.set),
    ):
        yield OPEN_COMMENT
        async with aclosing(following) as pages:
            async for page in pages:
                if rights_changed.is_set() or clock() - asked >= HEARTBEAT_SECONDS:
                    rights_changed.clear()
                    asked = clock()
                    if refusal := await _find_refusal(token, run.pk):
                        yield refusal
                        return
                if page is not None and page.chunks:
                    spoken = clock()
                    async for events in _format_page(page):
                        yield first + events
                        first = b""
                    if page.is_full or page.is_last:
                        continue
                if clock() - spoken >= HEARTBEAT_SECONDS:
                    spoken = clock()
                    yield HEARTBEAT


async def _format_page(page: ChunkPage) -> AsyncGenerator[bytes, None]:
    for start in range(0, len(page.chunks), BATCH_SIZE):
        yield b"".join(map(format_event, page.chunks[start : start + BATCH_SIZE]))
        await asyncio.sleep(0)  # sending waits for nobody; others want the loop too


def format_event(chunk: OracleStreamChunk) -> bytes:
    data = json.dumps(to_dict(chunk), ensure_ascii=False)
    if not data.isascii():
        data = data.translate(LINE_BREAK_ESCAPES)
    return f"id: {chunk.seq}\nevent: {chunk.type}\ndata: {data}\n\n".encode()


async def _find_refusal(token: ApiToken, run_id: UUID) -> bytes:
    """Return the comment that ends a stream whose reader lost access; empty if they still have it.

    Also empty while the database does not answer: it is asked again later.
    """

    def ask() -> bytes:
        if not auth.is_token_valid(token):
            return REVOKED_COMMENT
        return b"" if user_can_read(token.user, run_id) else NO_ACCESS_COMMENT

    try:
        return await run_db(ask)
    except (OperationalError, InterfaceError):
        return b""
