"""Downloads that are written while they are read, so that none is ever in memory as a whole."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any, TypeVar

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header

CHUNK_CHARS = 64 * 1024
"""Characters that are read in one go: the thread of the database is everybody's."""

Piece = TypeVar("Piece", str, bytes)
RunInThread = Callable[[Callable[[], Any]], Awaitable[Any]]


def stream_download(
    pieces: Iterator[Piece], content_type: str, filename: str = "", run: RunInThread | None = None
) -> Any:
    """Return a response of these pieces, which may query the database.

    `run` runs a function in a thread for that; without it, it is that of the request. With a
    `filename` the response is a file. Views that return it are typed for HttpResponse, of which
    Django's streaming one is no subclass.
    """
    disposition = content_disposition_header(True, filename) if filename else None
    headers = {"Content-Disposition": disposition} if disposition else {}
    chunks = read_in_chunks(pieces, run or _run_in_request_thread)
    return StreamingHttpResponse(chunks, content_type=content_type, headers=headers)


async def read_in_chunks(pieces: Iterator[Piece], run: RunInThread) -> AsyncIterator[Piece]:
    """Yield the pieces, several at a time; read them in a thread."""

    def read_chunk() -> Piece | None:
        taken: list[Piece] = []
        size = 0
        while size < CHUNK_CHARS and (piece := next(pieces, None)) is not None:
            taken.append(piece)
            size += len(piece)
        return taken[0][:0].join(taken) if taken else None

    while (chunk := await run(read_chunk)) is not None:
        yield chunk


async def _run_in_request_thread(work: Callable[[], Any]) -> Any:
    return await sync_to_async(work)()
