"""The runtime of a process without one: runs are admitted and stored, and nobody drives them.

Everything happens in the thread of the test, and so in its transaction.
"""

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar
from uuid import UUID, uuid4

from asgiref.sync import sync_to_async

from agents.models import AgentRun
from agents.runtime.admission import create_run
from agents.runtime.modes import get_mode
from agents.runtime.requests import RunRequest

T = TypeVar("T")


class FakeRuntime:
    not_ready_reason = ""
    loop = None
    """So that pages, which would hand work to it, only say that the server is starting."""

    async def run_db(self, work: Callable[[], T], person: int | str | None = None) -> T:
        return await sync_to_async(work)()

    async def start(self, request: RunRequest, attach: Callable[[AgentRun], None]) -> AgentRun:
        def admit() -> AgentRun:
            run, _ = create_run(
                request,
                uuid4(),
                mode=get_mode(request.tree, request.user),
                config=request.config,
                model="scripted",
                owner="test",
                attach=attach,
            )
            return run

        return await self.run_db(admit)

    async def cancel(self, run_id: UUID, note: str = "") -> bool:
        return False

    async def follow(self, *_: Any) -> AsyncGenerator[Any, None]:
        """Nothing ever comes."""
        nothing: tuple[Any, ...] = ()
        for chunk in nothing:
            yield chunk

    follow_pages = follow

    def watch(self, *_: Any) -> AbstractContextManager[None]:
        return nullcontext()

    def notify_changed(self, key: UUID) -> None:
        pass
