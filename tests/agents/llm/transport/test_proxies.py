"""The proxies of the environment: used for the site's endpoint, but for hosts that are excepted."""

import asyncio

import pytest

from agents.llm.client import build_http_client
from agents.llm.transport.proxies import environment_proxies
from tests.support.endpoint import ScriptedEndpoint
from tests.support.script import Script, say

NAMES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")


@pytest.fixture(autouse=True)
def no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in NAMES:
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)


def read_urls() -> dict[str, str | None]:
    found = environment_proxies()
    return {pattern: str(proxy.url) if proxy else None for pattern, proxy in found.items()}


def test_without_a_name_there_is_none() -> None:
    assert read_urls() == {}


def test_each_scheme_has_its_own_and_http_is_understood(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", "proxy.example:3128")
    monkeypatch.setenv("ALL_PROXY", "https://other.example")
    assert read_urls() == {
        "https://": "http://proxy.example:3128",
        "all://": "https://other.example",
    }


@pytest.mark.parametrize(
    ("host", "pattern"),
    [
        ("gpu.example", "all://*gpu.example"),
        (".example", "all://*.example"),
        ("localhost", "all://localhost"),
        ("10.0.0.7", "all://10.0.0.7"),
        ("::1", "all://[::1]"),
        ("http://gpu.example", "http://gpu.example"),
    ],
)
def test_some_hosts_are_reached_directly(
    monkeypatch: pytest.MonkeyPatch, host: str, pattern: str
) -> None:
    monkeypatch.setenv("NO_PROXY", f" , {host}")
    assert read_urls() == {pattern: None}


def test_a_star_means_no_proxy_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy.example")
    monkeypatch.setenv("NO_PROXY", "gpu.example, *")
    assert read_urls() == {}


async def test_the_site_s_endpoint_is_asked_through_the_proxy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    heads: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        heads.append(await reader.readline())
        writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as proxy:
        monkeypatch.setenv("HTTP_PROXY", f"127.0.0.1:{proxy.sockets[0].getsockname()[1]}")
        async with build_http_client() as client:
            response = await client.get("http://models.example/v1/models")
    assert response.status_code == 204
    assert heads == [b"GET http://models.example/v1/models HTTP/1.1\r\n"]


async def test_an_excepted_host_is_asked_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    async with ScriptedEndpoint(Script([say("Hello.")])) as endpoint, build_http_client() as client:
        answer = await client.post(f"{endpoint.base_url}/chat/completions", json={})
    assert answer.status_code == 200
