"""What a server does once a day, besides serving."""

import asyncio
import logging

from agents.projects.purge import purge_due_projects
from agents.runtime import Runtime

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 24 * 60 * 60.0


async def maintain(runtime: Runtime) -> None:
    """Purge projects that were deleted long ago: now, and then every day."""
    while True:
        try:
            await runtime.run_db(purge_due_projects)
        except Exception:
            logger.exception("deleted projects could not be purged; trying again tomorrow")
        await asyncio.sleep(PERIOD_SECONDS)
