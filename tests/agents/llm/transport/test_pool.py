"""Our transport over httpcore's pool: its errors are httpx's, and nothing private is used."""

import ast
import ssl
from collections.abc import Iterator
from pathlib import Path

import httpcore
import httpx
import pytest

import agents
from agents.llm.transport.pool import PoolTransport

AGENTS = Path(agents.__file__).parent
LIBRARIES = ("httpx", "httpcore")
MESSAGE = "what happened"


class FailingBackend(httpcore.AsyncNetworkBackend):
    """Fails to connect, as it is told."""

    def __init__(self, error: Exception) -> None:
        self._error = error

    async def connect_tcp(self, *args: object, **kwargs: object) -> httpcore.AsyncNetworkStream:
        raise self._error


def build_client(backend: httpcore.AsyncNetworkBackend) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        transport=PoolTransport(backend, ssl.create_default_context(), httpx.Limits())
    )


@pytest.mark.parametrize(
    "name",
    [
        "ConnectTimeout",
        "ReadTimeout",
        "WriteTimeout",
        "PoolTimeout",
        "ConnectError",
        "ReadError",
        "WriteError",
        "ProxyError",
        "UnsupportedProtocol",
        "LocalProtocolError",
        "RemoteProtocolError",
    ],
)
async def test_each_error_of_the_pool_is_the_one_of_the_same_name(name: str) -> None:
    error = getattr(httpcore, name)(MESSAGE)
    async with build_client(FailingBackend(error)) as client:
        with pytest.raises(getattr(httpx, name), match=MESSAGE) as caught:
            await client.get("http://models.example/")
    assert type(caught.value) is getattr(httpx, name)
    assert caught.value.__cause__ is error


async def test_an_error_made_of_another_is_mapped_as_that_one() -> None:
    class Unlucky(httpcore.ConnectError):
        pass

    async with build_client(FailingBackend(Unlucky(MESSAGE))) as client:
        with pytest.raises(httpx.ConnectError):
            await client.get("http://models.example/")


async def test_an_answer_that_breaks_off_is_an_error_of_httpx() -> None:
    answer = [b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf", b""]
    async with (
        build_client(httpcore.AsyncMockBackend(answer)) as client,
        client.stream("GET", "http://models.example/") as response,
    ):
        with pytest.raises(httpx.RemoteProtocolError):
            await response.aread()


def test_no_private_name_of_the_http_libraries_is_used() -> None:
    found = [
        f"{path.relative_to(AGENTS)}:{line}: {name}"
        for path in sorted(AGENTS.rglob("*.py"))
        if (text := path.read_text()) and any(library in text for library in LIBRARIES)
        for line, name in _private_names(ast.parse(text))
    ]
    assert found == []


@pytest.mark.parametrize(
    "line",
    [
        "import httpcore._backends",
        "from httpx._utils import x",
        "from httpx import _utils",
        "import httpx; client._transport",
        "import httpcore; getattr(stream, '_stream', None)",
    ],
)
def test_a_private_name_would_be_found(line: str) -> None:
    assert list(_private_names(ast.parse(line)))


def _private_names(module: ast.Module) -> Iterator[tuple[int, str]]:
    """Return private names in a module that imports one of the libraries; its own are its own."""
    imports = [name for node in ast.walk(module) for name in _imported(node)]
    if not any(name.partition(".")[0] in LIBRARIES for name in imports):
        return
    for node in ast.walk(module):
        for name in _imported(node):
            if name.partition(".")[0] in LIBRARIES and "._" in name:
                yield getattr(node, "lineno", 0), name
        match node:
            case ast.Attribute(value=ast.Name(id="self" | "cls")):
                pass
            case ast.Attribute(attr=name) if name.startswith("_") and not name.endswith("__"):
                yield node.lineno, name
            case ast.Call(func=ast.Name("getattr" | "setattr"), args=[_, ast.Constant(named), *_]):
                if str(named).startswith("_"):
                    yield node.lineno, str(named)


def _imported(node: ast.AST) -> Iterator[str]:
    match node:
        case ast.Import(names=names):
            yield from (alias.name for alias in names)
        case ast.ImportFrom(module=str(module), names=names):
            yield from (f"{module}.{alias.name}" for alias in names)
