"""Scripts in process: the same bytes, in virtual time."""

import asyncio

import httpx
import pytest

from tests.support.script import Fault, Script, forever, say
from tests.support.transport import ScriptedTransport
from tests.support.virtual import virtual_time

from .transports import ask, process_door


def now() -> float:
    return asyncio.get_running_loop().time()


@virtual_time
async def test_delays_pass_in_virtual_time() -> None:
    async with process_door([say("a b c", delay=100, piece_delay=10)]) as visit:
        assert (await ask(visit.client, 1_000)).text == "a b c"
    assert now() == 120


@virtual_time
async def test_one_byte_a_second_is_just_that() -> None:
    async with process_door([say("a", fault=Fault("drip"))]) as visit:
        seen = await ask(visit.client)
    assert now() == len(seen.data)


@pytest.mark.parametrize(
    "fault", [Fault("hang"), Fault("hang_before_headers"), Fault("hang_connect")]
)
@virtual_time
async def test_a_hanging_answer_ends_when_its_client_gives_up(fault: Fault) -> None:
    async with process_door([fault]) as visit:
        assert (await ask(visit.client, 30)).error in ("ReadTimeout", "ConnectTimeout")
    assert (now(), visit.player.aborted) == (30, 1)


@virtual_time
async def test_each_piece_has_the_whole_read_timeout() -> None:
    async with process_door([say("a b c", piece_delay=9), say("a b c", piece_delay=11)]) as visit:
        assert (await ask(visit.client, 10)).error is None
        slow = await ask(visit.client, 10)
    assert (slow.text, slow.error) == ("a ", "ReadTimeout")


@virtual_time
async def test_without_a_timeout_a_hanging_answer_waits_to_be_cancelled() -> None:
    async with ScriptedTransport([Fault("hang")]) as transport:
        client = httpx.AsyncClient(transport=transport, timeout=None)  # noqa: S113  the point
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(3_600):
                await client.post(f"{transport.base_url}/chat/completions", json={"stream": True})
    assert transport.requests[0].aborted_at == 3_600


async def test_several_clients_may_share_a_transport_inside_one_block() -> None:
    async with ScriptedTransport(Script([say("one"), say("two")])) as transport:
        for text in ("one", "two"):
            base_url = transport.base_url
            async with httpx.AsyncClient(base_url=base_url, transport=transport) as client:
                assert (await ask(client)).text == text


async def test_a_client_alone_checks_the_script_when_it_is_left() -> None:
    with pytest.raises(AssertionError, match="unused"):
        async with httpx.AsyncClient(transport=ScriptedTransport([say("one")])):
            pass


async def test_an_answer_that_is_closed_early_is_aborted() -> None:
    async with process_door(forever(say("a b c"))) as visit:
        body = {"stream": True}
        async with visit.client.stream("POST", "/chat/completions", json=body) as response:
            await anext(response.aiter_raw())
    assert visit.player.aborted == 1
