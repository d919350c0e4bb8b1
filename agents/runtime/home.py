"""The one runtime of a process, for whoever starts or follows runs there."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from agents.llm.client import build_http_client
from agents.runtime.endpoints import policy
from agents.runtime.runtime import Runtime
from agents.runtime.world import SiteWorld

_homes: list[Runtime] = []


@asynccontextmanager
async def open_home() -> AsyncGenerator[Runtime, None]:
    """Settle what an earlier process left behind, then be home to runs until the end."""
    async with (
        build_http_client() as http,
        build_http_client(permits=policy().permits) as own,
        Runtime(SiteWorld(http, own)) as runtime,
    ):
        _homes.append(runtime)
        try:
            yield runtime
        finally:
            _homes.remove(runtime)


def home() -> Runtime:
    """The runtime of this process. Only `manage.py serve` and commands that open one have it."""
    if not _homes:
        raise RuntimeError("this process is no home to runs; serve pages with `manage.py serve`")
    return _homes[-1]
