"""Rows that survive a restart. They never enter the loop: `to_config()` and the ledger join them.

Bounds, defaults and help texts come from `agents.core.config`; the database holds them too.
"""

from agents.models.api_tokens import ApiToken
from agents.models.approvals import ApprovalCall, ApprovalRequest, ApprovalState
from agents.models.audit import AuditEntry
from agents.models.behaviours import BehaviourText, StoredBehaviour
from agents.models.code import CodeCheckout, CodeFile, CodeSymbol
from agents.models.control import (
    ControlMode,
    ControlSwitch,
    NotificationSettings,
    Reminder,
    RuleState,
    StoredRule,
    StoredSubscriber,
)
from agents.models.librarian import LibrarianSummary
from agents.models.projects import Departure, Invitation, Membership, Project, SiteSettings
from agents.models.runs import AgentRun, ProcessLease, RunEvent, RunTool
from agents.models.search import SearchDocument, SearchSection
from agents.models.settings import (
    Appearance,
    ModelSettings,
    ProviderSettings,
    SettingChange,
    UserAgentConfig,
)
from agents.models.threads import Thread, ThreadEntry
from agents.models.vault import (
    Attachment,
    FolderImport,
    Note,
    NoteAlias,
    NoteLink,
    NoteTag,
    NoteVersion,
)

__all__ = [
    "AgentRun",
    "ApiToken",
    "Appearance",
    "ApprovalCall",
    "ApprovalRequest",
    "ApprovalState",
    "Attachment",
    "AuditEntry",
    "BehaviourText",
    "CodeCheckout",
    "CodeFile",
    "CodeSymbol",
    "ControlMode",
    "ControlSwitch",
    "Departure",
    "FolderImport",
    "Invitation",
    "LibrarianSummary",
    "Membership",
    "ModelSettings",
    "Note",
    "NoteAlias",
    "NoteLink",
    "NoteTag",
    "NoteVersion",
    "NotificationSettings",
    "ProcessLease",
    "Project",
    "ProviderSettings",
    "Reminder",
    "RuleState",
    "RunEvent",
    "RunTool",
    "SearchDocument",
    "SearchSection",
    "SettingChange",
    "SiteSettings",
    "StoredBehaviour",
    "StoredRule",
    "StoredSubscriber",
    "Thread",
    "ThreadEntry",
    "UserAgentConfig",
]
