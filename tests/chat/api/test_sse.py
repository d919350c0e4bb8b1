"""Streams in time: heartbeats, tokens that are revoked meanwhile, databases that are away."""

import asyncio
import json
from collections.abc import AsyncIterator
from uuid import UUID

import pytest
from asgiref.sync import sync_to_async
from django.db import OperationalError

from agents.core.chunks import Content, OracleStreamChunk, to_dict
from agents.ledger import ChunkPage, Reader, reader
from agents.models import AgentRun, Membership
from agents.projects.members import remove_member
from agents.projects.queries import Role
from chat.api import sse, throttling
from chat.api.errors import ApiError
from tests.agents.projects.people import person
from tests.chat.api.api_client import Caller
from tests.chat.page_client import Valve
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def going(ada: Caller) -> AsyncIterator[AgentRun]:
    """A run that says nothing yet."""
    valve = Valve("at last")
    ada.chat.model.steps.append(valve.items())
    run = await ada.chat.begin()
    yield run
    await ada.chat.runtime.cancel(run.pk)
    await ada.chat.ended(run)


async def until(stream: AsyncIterator[bytes], wanted: bytes) -> bytes:
    got = b""
    async with asyncio.timeout(PATIENCE):
        async for part in stream:
            got += part
            if wanted in part:
                return got
    raise AssertionError(f"the stream ended: {got!r}")


async def test_silence_is_filled_with_comments(
    ada: Caller, going: AgentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.05)
    stream = sse.iter_events(ada.row, going, 0)
    for _ in range(3):
        await until(stream, sse.HEARTBEAT)
    await stream.aclose()


async def test_a_stream_ends_when_its_token_is_revoked(
    ada: Caller, going: AgentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sse, "HEARTBEAT_SECONDS", 0.05)
    stream = sse.iter_events(ada.row, going, 0)
    await until(stream, sse.HEARTBEAT)
    await sync_to_async(ada.row.revoke)()
    await until(stream, sse.REVOKED_COMMENT)
    assert [part async for part in stream] == []


async def test_a_database_that_is_away_ends_no_stream(
    ada: Caller, going: AgentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, failures = Reader.read, iter([True, True])

    async def read(rows: Reader, run_id: UUID, after: int) -> ChunkPage | None:
        if next(failures, False):
            raise OperationalError("away")
        return await real(rows, run_id, after)

    monkeypatch.setattr(Reader, "read", read)
    monkeypatch.setattr(reader, "RETRY_SECONDS", 0.05)
    stream = sse.iter_events(ada.row, going, 0)
    await until(stream, b"id: 1\n")
    await stream.aclose()


async def test_a_reader_that_leaves_is_forgotten(ada: Caller, going: AgentRun) -> None:
    stream = sse.iter_events(ada.row, going, 0)
    await until(stream, b"id: 1\n")
    assert throttling._streams[ada.user.pk] == 1
    await stream.aclose()
    assert ada.user.pk not in throttling._streams


async def test_so_many_streams_and_no_more(
    ada: Caller, going: AgentRun, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(throttling, "MAX_STREAMS", 1)
    stream = sse.iter_events(ada.row, going, 0)
    await anext(stream)
    with pytest.raises(ApiError) as refused:
        sse.stream_response(ada.row, going, 0)
    assert refused.value.status == 429
    await stream.aclose()


@pytest.mark.parametrize(
    "text", ["a\nb", "a\r\nb", "\n\nid: 99\ndata: x\n\n", "\u2028\x85\x0b", ""]
)
def test_text_cannot_break_out_of_its_event(text: str) -> None:
    chunk: OracleStreamChunk = Content(content=text, seq=3, at=0.0)
    lines = (
        sse.format_event(chunk).decode().splitlines()
    )  # by every mark that anybody takes for a break
    assert lines[:2] == ["id: 3", "event: content"]
    assert lines[3:] == [""]
    assert json.loads(lines[2].removeprefix("data: ")) == to_dict(chunk)


async def test_whoever_is_removed_gets_nothing_more_of_a_run(ada: Caller, going: AgentRun) -> None:
    owner = await sync_to_async(person)("owner")
    await Membership.objects.acreate(project=ada.chat.project, user=owner, role=Role.OWNER)
    stream = sse.iter_events(ada.row, going, 0)
    got = await until(stream, b"event: ")
    await sync_to_async(remove_member)(ada.chat.project, ada.user, by=owner)
    rest = b"".join([part async for part in stream])
    assert rest.endswith(sse.NO_ACCESS_COMMENT)
    assert b"token" not in rest
    assert b"event: done" not in got + rest
