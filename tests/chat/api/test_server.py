"""The API on a real server process: streams that come as they are written, are cut and resumed."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress

import httpx
import pytest

from tests.chat.api.site import Event, Program, Site, events, text_of
from tests.support.script import call, say
from tests.support.server import manage
from tests.support.threaded_endpoint import Stage, held
from tests.support.timing import PATIENCE

pytestmark = pytest.mark.ci

READERS = 100
ASK = {"question": "What is it?"}


async def until(stream: AsyncIterator[Event], text: str) -> list[Event]:
    got: list[Event] = []
    async with asyncio.timeout(PATIENCE):
        async for each in stream:
            got.append(each)
            if text in text_of(got):
                return got
    raise AssertionError(f"the stream ended with {text_of(got)!r}")


async def rest(stream: AsyncIterator[Event]) -> list[Event]:
    async with asyncio.timeout(PATIENCE):
        return [each async for each in stream]


async def ended(client: httpx.AsyncClient, run_id: str) -> dict[str, object]:
    async with asyncio.timeout(PATIENCE):
        while True:
            run = (await client.get(f"oracle/runs/{run_id}")).raise_for_status().json()
            if run["outcome"] is not None:
                return dict(run)
            await asyncio.sleep(0.05)


async def test_a_stream_comes_as_it_is_written(program: Program) -> None:
    gate = program.site.stage.gate()
    program.plays(held("Half of it, ", "the rest.", gate))
    async with program.client() as client, client.stream("POST", "oracle/stream", json=ASK) as got:
        stream = events(got)
        first = await until(stream, "Half of it, ")
        assert first[-1].event == "content"  # nothing more: the model waits
        gate.open()
        whole = first + await rest(stream)
    assert text_of(whole) == "Half of it, the rest."
    assert [each.chunk for each in whole] == program.stored()
    assert [each.id for each in whole] == list(range(1, len(whole) + 1))


async def test_a_stream_that_is_cut_goes_on_without_loss_or_repetition(program: Program) -> None:
    gate = program.site.stage.gate()
    program.plays(call("vault_list"), held("Half of it, ", "the rest.", gate))
    async with program.client() as client:
        async with client.stream("POST", "oracle/stream", json=ASK) as got:
            run_id = got.headers["oracle-run"]
            seen = await until(events(got), "Half of it, ")
        for _ in range(3):  # cut again and again, wherever one is
            last = {"Last-Event-ID": str(seen[-1].id - 2)}
            there = f"oracle/runs/{run_id}/stream"
            async with client.stream("GET", there, headers=last) as got:
                stream = events(got)
                again = [await anext(stream), await anext(stream)]
                assert again == seen[-2:]
        gate.open()
        last = {"Last-Event-ID": str(seen[-1].id)}
        async with client.stream("GET", f"oracle/runs/{run_id}/stream", headers=last) as got:
            seen += await rest(events(got))
        last = {"Last-Event-ID": str(seen[-1].id)}
        assert (await client.get(f"oracle/runs/{run_id}/stream", headers=last)).status_code == 204
    assert [each.chunk for each in seen] == program.stored()
    assert text_of(seen) == "Half of it, the rest."


async def test_whoever_leaves_ends_nothing(program: Program) -> None:
    gates = [program.site.stage.gate() for _ in range(2)]
    program.plays(*(held("Half of it, ", "the rest.", gate) for gate in gates))
    async with program.client() as client:
        async with client.stream("POST", "oracle/stream", json=ASK) as got:
            run_id = got.headers["oracle-run"]
            await until(events(got), "Half")
        leaving = asyncio.create_task(client.post("oracle", json={"question": "And whole?"}))
        while len((await client.get("conversations")).json()["conversations"]) < 2:
            pass
        leaving.cancel()
        for gate in gates:
            gate.open()
        run = await ended(client, run_id)
        assert (run["outcome"], run["answer"]) == ("completed", "Half of it, the rest.")
        talks = (await client.get("conversations")).json()["conversations"]
        shown = (await client.get(f"conversations/{talks[0]['id']}")).json()["exchanges"]
        whole = await ended(client, shown[0]["run"]["id"])
        assert (whole["question"], whole["outcome"]) == ("And whole?", "completed")


async def test_a_run_is_stopped_from_outside_its_stream(program: Program) -> None:
    program.plays(held("Half of it, ", "never.", program.site.stage.gate()))
    async with program.client() as client, client.stream("POST", "oracle/stream", json=ASK) as got:
        stream = events(got)
        seen = await until(stream, "Half of it, ")
        async with asyncio.timeout(PATIENCE):
            answer = await client.post(f"oracle/runs/{got.headers['oracle-run']}/cancel")
            seen += await rest(stream)
    assert answer.json()["reason"] == "user_cancelled"
    assert [each.event for each in seen if each.event != "event"][-2:] == ["error", "done"]
    assert seen[-1].chunk["outcome"] == "cancelled"
    assert [each.chunk for each in seen] == program.stored()


async def test_a_run_is_stopped_by_a_command_in_another_process(program: Program) -> None:
    program.plays(held("Half of it, ", "never.", program.site.stage.gate()))
    async with program.client() as client, client.stream("POST", "oracle/stream", json=ASK) as got:
        stream, run_id = events(got), got.headers["oracle-run"]
        seen = await until(stream, "Half of it, ")
        said = await asyncio.to_thread(manage, program.site.folder, "cancel", run_id)
        seen += await rest(stream)
    assert said == f"Run {run_id} is being stopped.\n"
    assert seen[-1].chunk["termination_reason"] == "user_cancelled"
    assert [each.chunk for each in seen] == program.stored()


async def test_a_hundred_readers_take_no_threads(program: Program) -> None:
    gate = program.site.stage.gate()
    program.plays(held("Half of it, ", "the rest.", gate))
    async with program.client() as client, AsyncExitStack() as stack:
        first = await stack.enter_async_context(client.stream("POST", "oracle/stream", json=ASK))
        there = f"oracle/runs/{first.headers['oracle-run']}/stream"
        await client.get("settings/agent-config")  # whatever grows at first has grown
        before = program.site.threads
        readers = [events(first)]
        for _ in range(READERS - 1):
            got = await stack.enter_async_context(client.stream("GET", there))
            readers.append(events(got))
        seen = await asyncio.gather(*(until(reader, "Half of it, ") for reader in readers))
        assert program.site.threads - before <= 6  # a pool's, not the readers'
        async with asyncio.timeout(PATIENCE):
            assert (await client.get(f"{program.site.server.address}/sign-in/")).status_code == 200
            assert (await client.get("conversations")).status_code == 200
        gate.open()
        rests = await asyncio.gather(*(rest(reader) for reader in readers))
    stored = program.stored()
    for got_first, got_rest in zip(seen, rests, strict=True):
        assert [each.chunk for each in got_first + got_rest] == stored


async def test_waiting_for_whole_answers_takes_no_threads(site: Site) -> None:
    programs = [site.program() for _ in range(8)]
    gates = [site.stage.gate() for _ in range(40)]
    for number, program in enumerate(programs):
        own = gates[number * 5 : number * 5 + 5]
        program.plays(*(held("Half, ", "all.", gate) for gate in own))
    async with AsyncExitStack() as stack:
        clients = [await stack.enter_async_context(program.client()) for program in programs]
        before = site.threads
        asked = [
            asyncio.ensure_future(client.post("oracle", json=ASK))
            for client in clients
            for _ in range(5)
        ]
        async with asyncio.timeout(PATIENCE):
            while sum(len(site.stage.requests(p.name)) for p in programs) < len(asked):  # noqa: ASYNC110  # it says nothing by itself
                await asyncio.sleep(0.05)
        grown = site.threads - before
        page = await clients[0].get(f"{site.server.address}/sign-in/")
        for gate in gates:
            gate.open()
        answers = await asyncio.gather(*asked)
    assert page.status_code == 200
    assert {each.json()["answer"] for each in answers} == {"Half, all."}
    assert grown < len(asked) / 3


async def test_a_stream_is_resumed_on_the_next_server(program: Program) -> None:
    """The process is killed in mid-answer; all that was sent is there, and why it ended."""
    program.plays(held("Half of it, ", "never.", program.site.stage.gate()))
    async with program.client() as client, client.stream("POST", "oracle/stream", json=ASK) as got:
        run_id, stream = got.headers["oracle-run"], events(got)
        seen = await until(stream, "Half of it, ")
        await asyncio.to_thread(program.site.kill_and_restart)
        with pytest.raises(httpx.RemoteProtocolError):  # no end that looks like one
            await rest(stream)
    async with program.client() as client:
        last = {"Last-Event-ID": str(seen[-1].id)}
        async with client.stream("GET", f"oracle/runs/{run_id}/stream", headers=last) as got:
            seen += await rest(events(got))
    assert [each.chunk for each in seen] == program.stored()
    assert seen[-1].chunk["termination_reason"] == "interrupted"
    assert text_of(seen) == "Half of it, "


async def test_a_server_stops_in_peace_with_a_stream_open(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    """Its reader hears of the end or is cut, and nothing is waited for."""
    with Stage() as stage:
        site = Site(tmp_path_factory.mktemp("stopped"), stage)
        with site.open():
            await stops_in_peace(site.program())


async def stops_in_peace(program: Program) -> None:
    server = program.site.server
    program.plays(held("Half of it, ", "never.", program.site.stage.gate()))
    async with program.client() as client, client.stream("POST", "oracle/stream", json=ASK) as got:
        stream = events(got)
        await until(stream, "Half of it, ")
        async with asyncio.timeout(PATIENCE):
            assert await asyncio.to_thread(server.stop) == 0
        with suppress(httpx.RemoteProtocolError):
            last = (await rest(stream))[-1]
            assert last.chunk["termination_reason"] == "interrupted"
    assert "Traceback" not in server.log.read_text()


async def test_a_body_is_refused_before_it_is_kept(program: Program) -> None:
    async with program.client() as client:
        json = {"Content-Type": "application/json"}
        got = await client.post("oracle", content=b" " * (64 * 1024 + 1), headers=json)
        assert (got.status_code, got.json()["detail"][0]["type"]) == (413, "too_large")


async def test_nobody_can_send_without_end(program: Program) -> None:
    """Also without a token, and without saying how much it will be."""
    sent = 0

    async def zeros() -> AsyncIterator[bytes]:
        nonlocal sent
        for _ in range(500):
            sent += 100_000
            yield bytes(100_000)
            await asyncio.sleep(0)

    async with program.client() as client:
        with suppress(httpx.HTTPError):  # it may be cut off while it sends
            got = await client.post("oracle", content=zeros(), headers={"Authorization": ""})
            assert got.status_code == 413
    assert sent < 30_000_000


async def test_what_is_sent_is_what_was_asked_for(program: Program) -> None:
    program.plays(then=say("It is so."))
    async with program.client() as client:
        got = await client.post("oracle", json={**ASK, "overrides": {"max_iterations": 3}})
        run = got.json()
        assert (run["answer"], run["config"]["max_iterations"]) == ("It is so.", 3)
        assert got.headers["content-security-policy"].startswith("default-src 'none'")
        assert int(got.headers["content-length"]) == len(got.content)
