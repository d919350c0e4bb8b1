"""Downloads that are read a little at a time."""

from collections.abc import AsyncIterator, Callable, Iterator

from agents.web.streaming import CHUNK_CHARS, read_in_chunks, stream_download


async def collect(chunks: AsyncIterator[str]) -> list[str]:
    return [chunk async for chunk in chunks]


async def run_at_once(work: Callable[[], str]) -> str:
    return work()


async def test_small_pieces_are_sent_together() -> None:
    assert await collect(read_in_chunks(iter(["a", "b", "c"]), run_at_once)) == ["abc"]


async def test_bytes_are_sent_as_they_are() -> None:
    response = stream_download(
        iter([b"\x00", b"", b"\xff"]), "application/zip", "ä.zip", run_at_once
    )
    assert b"".join([part async for part in response]) == b"\x00\xff"
    assert response.headers["Content-Disposition"] == "attachment; filename*=utf-8''%C3%A4.zip"


async def test_nothing_is_read_before_it_is_wanted() -> None:
    read: list[int] = []

    def pieces() -> Iterator[str]:
        for number in range(3):
            read.append(number)
            yield "x" * CHUNK_CHARS

    chunks = read_in_chunks(pieces(), run_at_once)
    assert len(await anext(chunks)) == CHUNK_CHARS
    assert read == [0]
    assert len(await collect(chunks)) == 2


async def test_a_download_has_a_name_and_is_read_in_the_thread_that_is_given() -> None:
    used = []

    async def run(work: Callable[[], str]) -> str:
        used.append(work)
        return work()

    response = stream_download(iter(["a", "b"]), "text/csv", "runs.csv", run)
    assert response.headers["Content-Disposition"] == 'attachment; filename="runs.csv"'
    assert b"".join([part async for part in response]) == b"ab"
    assert len(used) == 2  # the last one finds that there is no more
