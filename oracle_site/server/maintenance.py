"""Daily maintenance of a server."""

import asyncio
import logging
from collections.abc import Callable

from agents.audit.traces import clear_traces_daily
from agents.projects.purge import purge_due_projects
from agents.runtime import Runtime
from agents.vault.attachments import remove_abandoned_parts
from chat.library.upload_pieces import remove_abandoned_uploads

logger = logging.getLogger(__name__)

PERIOD_SECONDS = 24 * 60 * 60.0
DAILY_WORK: tuple[Callable[[], object], ...] = (
    purge_due_projects,
    remove_abandoned_uploads,
    remove_abandoned_parts,
    clear_traces_daily,
)


async def maintain(runtime: Runtime) -> None:
    """Do what is to be done once a day: now, and then every day."""
    while True:
        for work in DAILY_WORK:
            try:
                await runtime.run_db(work)
            except Exception:
                logger.exception("%s failed; trying again tomorrow", work.__name__)
        await asyncio.sleep(PERIOD_SECONDS)
