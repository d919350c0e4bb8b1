"""The one runtime of a process, for whoever starts or follows runs there."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from uuid import UUID

from agents.endpoints.selection import get_policy
from agents.llm import build_http_client
from agents.models import AgentRun
from agents.runtime.factory import SiteRunFactory
from agents.runtime.requests import Attach, RunRefused, RunRequest
from agents.runtime.runtime import Runtime
from agents.tools.blocking import THREADS

_runtimes: list[Runtime] = []


@asynccontextmanager
async def open_runtime() -> AsyncGenerator[Runtime, None]:
    """Settle what an earlier process left behind, then run what is started until the end."""
    try:
        async with (
            build_http_client() as http,
            build_http_client(permits=get_policy().permits) as own,
            Runtime(SiteRunFactory(http, own)) as runtime,
        ):
            _runtimes.append(runtime)
            try:
                yield runtime
            finally:
                _runtimes.remove(runtime)
    finally:
        await asyncio.to_thread(THREADS.close_idle)


def apply_access_change(
    *, project_id: UUID, run_ids: Iterable[UUID], note: str, **_: object
) -> None:
    """End runs of people who lost a right, and have open pages of the project look again."""
    for runtime in _runtimes:
        runtime.stop_asked(run_ids, note)
        runtime.notify_changed(project_id)


def start_from_thread(request: RunRequest, attach: Attach) -> AgentRun:
    """Start a run for a page that is made in a thread. RunRefused says why it cannot be."""
    runtime = get_runtime()
    if runtime.loop is None:
        raise RunRefused("The server is starting. Try again in a moment.")
    start = runtime.start(request, attach)
    return asyncio.run_coroutine_threadsafe(start, runtime.loop).result()


def get_runtime() -> Runtime:
    """Return the runtime of this process. `manage.py serve` and commands open one."""
    if not _runtimes:
        raise RuntimeError("this process has no runtime; serve pages with `manage.py serve`")
    return _runtimes[-1]
