"""Downloads that are written while they are read, so that none is ever in memory as a whole."""

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

from asgiref.sync import sync_to_async
from django.http import StreamingHttpResponse

CHUNK_CHARS = 64 * 1024
"""Characters that are read in one go: the thread of the database is everybody's."""

RunInThread = Callable[[Callable[[], str]], Awaitable[str]]


def stream_download(
    pieces: Iterator[str], content_type: str, filename: str = "", run: RunInThread | None = None
) -> Any:
    """Return a response of these pieces, which may query the database.

    `run` runs a function in a thread for that; without it, it is that of the request. With a
    `filename` the response is a file. Views that return it are typed for HttpResponse, of which
    Django's streaming one is no subclass.
    """
    headers = {"Content-Disposition": f'attachment; filename="{filename}"'} if filename else {}
    chunks = read_in_chunks(pieces, run or _run_in_request_thread)
    return StreamingHttpResponse(chunks, content_type=content_type, headers=headers)


async def read_in_chunks(pieces: Iterator[str], run: RunInThread) -> AsyncIterator[str]:
    """Yield the pieces, several at a time; read them in a thread."""

    def read_chunk() -> str:
        taken: list[str] = []
        size = 0
        while size < CHUNK_CHARS and (piece := next(pieces, None)) is not None:
            taken.append(piece)
            size += len(piece)
        return "".join(taken)

    while text := await run(read_chunk):
        yield text


async def _run_in_request_thread(work: Callable[[], str]) -> str:
    return await sync_to_async(work)()
