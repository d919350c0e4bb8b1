"""Each fault, as a plain client sees it: the same over a socket and in process."""

import json

import pytest

from tests.support.script import FAULTS, STREAM_FAULTS, Fault, FaultName, Reply, Script, say
from tests.support.wire import RAW_DETAIL

from .transports import Door, Seen, ask, process_door, socket_door

WORDS = "one two three"
HANGING = ("hang", "hang_before_headers", "hang_connect")


async def see(door: Door, fault: Fault, *, stream: bool = True) -> Seen:
    async with door([say(WORDS, fault=fault)]) as visit:
        return await ask(visit.client, 0.5 if fault.name in HANGING else 5.0, stream=stream)


def quick(name: FaultName, after: int | None = None) -> Fault:
    return Fault(name, after, rate=1e9, size=200_000)


@pytest.mark.parametrize("stream", [True, False])
@pytest.mark.parametrize("name", [name for name in FAULTS if "connect" not in name])
async def test_a_fault_looks_the_same_over_a_socket_and_in_process(
    name: FaultName, stream: bool
) -> None:
    over_socket = await see(socket_door, quick(name), stream=stream)
    assert over_socket == await see(process_door, quick(name), stream=stream)


@pytest.mark.parametrize("after", [1, 2, 99])
@pytest.mark.parametrize("name", STREAM_FAULTS)
async def test_a_late_fault_looks_the_same_over_a_socket_and_in_process(
    name: FaultName, after: int
) -> None:
    over_socket = await see(socket_door, quick(name, after))
    assert over_socket == await see(process_door, quick(name, after))


@pytest.mark.parametrize(
    ("name", "over_socket", "in_process"),
    [
        ("refuse_connection", "ReadError", "ConnectError"),
        ("hang_connect", "ReadTimeout", "ConnectTimeout"),
    ],
)
async def test_a_listening_socket_cannot_refuse_so_it_resets_or_says_nothing(
    name: FaultName, over_socket: str, in_process: str
) -> None:
    assert (await see(socket_door, Fault(name))).error == over_socket
    assert (await see(process_door, Fault(name))).error == in_process


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 408, 429, 500, 502, 503])
async def test_a_status_fault_answers_with_the_status_and_a_raw_detail(
    door: Door, status: int
) -> None:
    fault = next(Fault(name) for name in FAULTS if name == f"status_{status}")
    seen = await see(door, fault)
    assert (seen.status, seen.error) == (status, None)
    assert json.loads(seen.data)["error"]["message"] == RAW_DETAIL


async def test_retry_after_is_a_header(door: Door) -> None:
    async with door([Fault("status_429_retry_after", seconds=7)]) as visit:
        response = await visit.client.post("/chat/completions", json={})
    assert (response.status_code, response.headers["retry-after"]) == (429, "7")


@pytest.mark.parametrize(
    ("name", "status", "error"),
    [
        ("close_before_headers", None, "RemoteProtocolError"),
        ("hang_before_headers", None, "ReadTimeout"),
        ("hang", 200, "ReadTimeout"),
        ("half_close", 200, "RemoteProtocolError"),
        ("reset", 200, "ReadError"),
    ],
)
async def test_a_broken_connection_is_the_error_that_httpx_names(
    door: Door, name: FaultName, status: int | None, error: str
) -> None:
    assert await see(door, Fault(name)) == Seen(status, b"", error)


@pytest.mark.parametrize("name", ["hang", "half_close", "reset"])
async def test_what_came_before_a_broken_connection_is_received(
    door: Door, name: FaultName
) -> None:
    seen = await see(door, Fault(name, after=2))
    assert (seen.text, seen.error is None) == ("one two ", False)


async def test_a_stream_without_done_ends_properly_with_everything_else(door: Door) -> None:
    seen = await see(door, Fault("missing_done"))
    assert (seen.text, seen.error) == (WORDS, None)
    assert json.loads(seen.payloads[-1])["choices"][0]["finish_reason"] == "stop"


async def test_a_stream_may_end_early_without_done(door: Door) -> None:
    seen = await see(door, Fault("missing_done", after=1))
    assert (seen.text, len(seen.payloads), seen.error) == ("one ", 1, None)


@pytest.mark.parametrize(
    ("name", "data"), [("empty_stream", b"data: [DONE]\n\n"), ("empty_body", b"")]
)
async def test_an_empty_answer_has_status_200(door: Door, name: FaultName, data: bytes) -> None:
    assert await see(door, Fault(name)) == Seen(200, data, None)


async def test_truncated_json_is_the_last_of_its_stream(door: Door) -> None:
    seen = await see(door, Fault("truncated_json", after=1))
    assert len(seen.payloads) == 2
    with pytest.raises(json.JSONDecodeError):
        json.loads(seen.payloads[-1])


async def test_garbage_json_comes_between_good_frames(door: Door) -> None:
    seen = await see(door, Fault("garbage_json", after=1))
    with pytest.raises(json.JSONDecodeError):
        json.loads(seen.payloads[1])
    assert seen.payloads[-1] == "[DONE]"


async def test_invalid_utf8_cannot_be_decoded_but_the_stream_goes_on(door: Door) -> None:
    seen = await see(door, Fault("invalid_utf8"))
    with pytest.raises(UnicodeDecodeError):
        seen.data.decode()
    assert seen.data.endswith(b"data: [DONE]\n\n")


async def test_an_overlong_line_is_as_long_as_asked(door: Door) -> None:
    seen = await see(door, Fault("overlong_line", after=1, size=300_000))
    assert max(map(len, seen.data.split(b"\n"))) > 300_000
    assert seen.text == "one " + "x" * 300_000 + "two three"


async def test_an_error_object_ends_the_stream(door: Door) -> None:
    seen = await see(door, Fault("error_object_in_stream", after=1))
    assert json.loads(seen.payloads[1])["error"]["message"] == RAW_DETAIL
    assert seen.payloads[2:] == ["[DONE]"]


async def test_an_html_page_is_not_an_event_stream(door: Door) -> None:
    async with door([Fault("html_page")]) as visit:
        response = await visit.client.post("/chat/completions", json={"stream": True})
    assert (response.status_code, response.headers["content-type"]) == (200, "text/html")


async def test_a_redirect_leads_elsewhere(door: Door) -> None:
    async with door([Fault("redirect")]) as visit:
        response = await visit.client.post("/chat/completions", json={})
    assert (response.status_code, response.headers["location"]) == (302, "/login")


async def test_a_dripping_answer_is_complete_in_the_end(door: Door) -> None:
    seen = await see(door, quick("drip", after=1))
    assert (seen.text, seen.error) == (WORDS, None)


def test_a_fault_that_replaces_the_answer_cannot_strike_later() -> None:
    with pytest.raises(ValueError, match="whole answer"):
        Fault("status_500", after=1)


def test_an_unknown_fault_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown fault 'typo'"):
        Fault("typo")  # type: ignore[arg-type]  # what a typo looks like


async def test_a_fault_alone_is_a_step_and_so_is_a_retry_after_it(door: Door) -> None:
    async with door(Script([Fault("status_503"), Reply(text="Second try.")])) as visit:
        assert (await ask(visit.client)).status == 503
        assert (await ask(visit.client)).text == "Second try."
