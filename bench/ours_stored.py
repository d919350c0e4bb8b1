"""A whole run as users have it: runtime, ledger on SQLite, a reader who follows the rows, and what
is in memory at the start frozen, as `serve` does.

Started by `bench/__main__.py` with the yardstick's `floor` folder on PYTHONPATH.
"""

import gc
from collections.abc import Awaitable, Callable
from typing import Any

from common import bench, imports  # type: ignore[import-not-found]  # the yardstick's

with imports():
    # Imported first: it sets Django up.
    from bench.site import BenchRunFactory, build_requests  # isort: skip
    from agents.core.chunks import Content
    from agents.llm import build_http_client
    from agents.runtime import Runtime


REQUEST = build_requests(users=30)


async def setup(base_url: str) -> Callable[..., Awaitable[None]]:
    http = build_http_client()
    world = BenchRunFactory(http, base_url)
    runtime = await Runtime(world).__aenter__()
    gc.collect()
    gc.freeze()

    async def one(
        prompt: str, on_token: Callable[[str], None], echo_text: Callable[[str], str]
    ) -> None:
        world.echo_text = echo_text
        run = await runtime.start(REQUEST(prompt))
        async for chunk in runtime.follow(run.pk):
            if type(chunk) is Content:
                on_token(chunk.content)

    async def close() -> None:
        await runtime.__aexit__()
        await http.aclose()

    setattr(one, "close", close)  # noqa: B010  # the harness looks for it there
    return one


def main() -> None:
    peer: Any = bench
    peer("ours, stored", setup, packages=("httpx", "pydantic", "django"))


if __name__ == "__main__":
    main()
