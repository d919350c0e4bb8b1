"""Tasks that are stopped, and those that will not stop.

Every task of a run is ended by the run. One that swallows its cancellation cannot be ended by
anybody: it is kept here, so that it is neither lost nor waited for, until it ends by itself.
"""

import asyncio
import logging
from collections.abc import Coroutine, Iterable
from typing import Any

logger = logging.getLogger(__name__)
_abandoned: set[asyncio.Task[Any]] = set()


def spawn(coroutine: Coroutine[Any, Any, None], name: str) -> asyncio.Task[None]:
    return asyncio.get_running_loop().create_task(coroutine, name=name)


async def stop(tasks: Iterable[asyncio.Task[Any]], grace: float) -> None:
    """Cancel tasks and wait for them, but not longer than `grace` seconds."""
    pending = [task for task in tasks if not task.done()]
    for task in pending:
        task.cancel()
    if pending:
        _, still_running = await asyncio.wait(pending, timeout=grace)
        for task in still_running:
            logger.warning("task %s ignores its cancellation and is abandoned", task.get_name())
            _abandoned.add(task)
            task.add_done_callback(_on_abandoned_done)


def abandoned_tasks() -> int:
    """Return how many abandoned tasks are still running."""
    return len(_abandoned)


def _on_abandoned_done(task: asyncio.Task[Any]) -> None:
    _abandoned.discard(task)
    if not task.cancelled() and (error := task.exception()):
        logger.warning("abandoned task %s ended with %s", task.get_name(), type(error).__name__)
