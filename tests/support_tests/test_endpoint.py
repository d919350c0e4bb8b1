"""What only a real socket shows."""

import asyncio

import httpx
import pytest

from tests.support.endpoint import ScriptedEndpoint, refusing_base_url
from tests.support.script import Fault, Script, forever, say

from .transports import ask, question, socket_client


async def test_the_base_url_is_what_clients_take() -> None:
    async with ScriptedEndpoint([]) as endpoint:
        assert endpoint.base_url.startswith("http://127.0.0.1:")
        assert endpoint.base_url.endswith("/v1")


async def test_a_connection_is_kept_for_the_next_request() -> None:
    async with ScriptedEndpoint(forever(say("x"))) as endpoint, socket_client(endpoint) as client:
        ports = set()
        for _ in range(3):
            response = await client.post("/chat/completions", json=question())
            stream = response.extensions["network_stream"]
            ports.add(stream.get_extra_info("client_addr"))
    assert len(ports) == 1


async def test_a_request_may_arrive_in_pieces_and_two_at_once() -> None:
    async with ScriptedEndpoint(forever(say("x"))) as endpoint:
        url = httpx.URL(endpoint.base_url)
        reader, writer = await asyncio.open_connection(url.host, url.port)
        request = b"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: 2\r\n\r\n{}"
        for byte in request:
            writer.write(bytes([byte]))
            await writer.drain()
        writer.write(request + request)
        for _ in range(3):
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.split(b"content-length: ")[1].split(b"\r\n")[0])
            await reader.readexactly(length)
        writer.close()
        await writer.wait_closed()
    assert len(endpoint.requests) == 3


async def test_leaving_ends_what_is_still_going_on() -> None:
    before = asyncio.all_tasks()
    async with ScriptedEndpoint([Fault("hang"), Fault("hang_before_headers")]) as endpoint:
        client = socket_client(endpoint)
        asking = [asyncio.create_task(ask(client)) for _ in range(2)]
        await endpoint.until(lambda: endpoint.open == 2)
    assert asyncio.all_tasks() - before <= set(asking)
    seen = await asyncio.gather(*asking)
    assert all(one.error in ("RemoteProtocolError", "ReadError") for one in seen)
    assert [record.end for record in endpoint.requests] == ["shut down", "shut down"]
    await client.aclose()


@pytest.mark.ci
async def test_hundreds_of_conversations_go_on_at_once() -> None:
    names = [f"m{number}" for number in range(300)]

    async def converse(endpoint: ScriptedEndpoint, name: str) -> str:
        async with socket_client(endpoint) as client:
            return "".join([(await ask(client, 30, model=name)).text for _ in range(2)])

    scripts = {name: Script([say(name), say(" again")]) for name in names}
    async with ScriptedEndpoint(scripts) as endpoint:
        answers = await asyncio.gather(*[converse(endpoint, name) for name in names])
    assert answers == [f"{name} again" for name in names]


async def test_an_address_can_refuse_connections() -> None:
    with refusing_base_url() as base_url:
        async with httpx.AsyncClient(base_url=base_url, trust_env=False) as client:
            with pytest.raises(httpx.ConnectError):
                await client.post("/chat/completions", json={})


async def test_waiting_for_what_does_not_happen_times_out() -> None:
    async with ScriptedEndpoint([]) as endpoint:
        with pytest.raises(TimeoutError):
            await endpoint.until(lambda: endpoint.aborted == 1, patience=0.01)
