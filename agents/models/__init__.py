"""What must survive a restart. Rows never enter the loop: `to_config()` and the ledger join them.

Bounds, defaults and help texts come from `agents.core.config`; the database holds them too.
"""

from agents.models.projects import Membership, Project
from agents.models.runs import AgentRun, RunEvent
from agents.models.settings import ModelSettings, UserAgentConfig

__all__ = [
    "AgentRun",
    "Membership",
    "ModelSettings",
    "Project",
    "RunEvent",
    "UserAgentConfig",
]
