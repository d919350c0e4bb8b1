"""An observer that goes with the tool: it logs which runs made a claim that nothing supports."""

import logging

from agents.core.control.events import AgentEvent
from agents.core.control.observers import ObservedRun, observer

logger = logging.getLogger(__name__)


@observer("unsupported_claims")
def log_unsupported_claim(event: AgentEvent, run: ObservedRun) -> None:
    """Log the run and nothing that was said in it: logs are not erased with it."""
    if event.name == "tool.call.failure" and event.payload["tool"] == "check_claim":
        logger.info("run %s of user %s made a claim without a source", run.id, run.user_id)
