"""Tests cannot reach another machine: neither this process nor one that it starts."""

import asyncio
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

from tests.support.guarded.sitecustomize import OtherMachine, is_here

ELSEWHERE = ["192.0.2.1", "198.51.100.7", "::ffff:192.0.2.1", "2001:db8::1"]
CHILD = """
import socket
try:
    socket.create_connection(("192.0.2.1", 9), timeout=5)
except OSError as error:
    print(type(error).__name__)
"""


HERE = ["127.0.0.1", "127.9.9.9", "::1", "localhost", "::", b"::1"]


@pytest.mark.parametrize("host", HERE)
def test_this_machine_is_known_by_all_its_names(host: str | bytes) -> None:
    assert is_here(host)


@pytest.mark.parametrize("host", [*ELSEWHERE, "oracle.invalid", "localhost.invalid", "127.1"])
def test_everything_else_is_another_machine(host: str) -> None:
    assert not is_here(host)


@pytest.mark.parametrize("host", ELSEWHERE)
def test_a_connection_elsewhere_is_refused_at_once(host: str) -> None:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family) as made:
        with pytest.raises(OtherMachine):
            made.connect((host, 9))
        with pytest.raises(OtherMachine):
            made.connect_ex((host, 9))
    with socket.socket(family, socket.SOCK_DGRAM) as made, pytest.raises(OtherMachine):
        made.sendto(b"?", (host, 53))


def test_names_are_asked_of_nobody() -> None:
    with pytest.raises(socket.gaierror, match="no resolver"):
        socket.getaddrinfo("oracle.invalid", 443)
    assert socket.getaddrinfo("localhost", 443)


async def test_loops_and_clients_are_refused_too() -> None:
    with pytest.raises(OtherMachine):
        await asyncio.open_connection("192.0.2.1", 9)
    async with httpx.AsyncClient(trust_env=False) as http:
        with pytest.raises(httpx.ConnectError):
            await http.get("http://192.0.2.1:9/")


async def test_this_machine_is_reached(tmp_path: Path) -> None:
    async def nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    async with await asyncio.start_server(nothing, "127.0.0.1", 0) as server:
        port = server.sockets[0].getsockname()[1]
        _, writer = await asyncio.open_connection("localhost", port, family=socket.AF_INET)
        writer.close()
        await writer.wait_closed()
    async with await asyncio.start_unix_server(nothing, tmp_path / "door"):
        _, writer = await asyncio.open_unix_connection(tmp_path / "door")
        writer.close()
        await writer.wait_closed()


def test_processes_that_tests_start_are_guarded_as_well() -> None:
    done = subprocess.run([sys.executable, "-c", CHILD], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["OtherMachine"]
