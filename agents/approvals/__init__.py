"""Runs that wait for a person: what they ask, what is decided, and what goes on from there.

`requests` stores the question with the end of a run and reads it back, `verdicts` decides it once,
`resume` is what the run that goes on begins with, `changes` shows what a call would change.
"""

from agents.approvals.changes import (
    CallChange,
    find_note_path,
    find_note_version,
    preview_change,
)
from agents.approvals.requests import (
    PendingApproval,
    PendingCall,
    list_approvals,
    load_approval,
    store_approval,
)
from agents.approvals.resume import find_known_versions, resume_decided
from agents.approvals.verdicts import (
    MAX_WORDS_LENGTH,
    ApprovalChanged,
    ApprovalClosed,
    ApprovalError,
    ApprovalVerdict,
    CallVerdict,
    check_verdict,
    close_undecided,
    find_decided,
    record_verdict,
)

__all__ = [
    "MAX_WORDS_LENGTH",
    "ApprovalChanged",
    "ApprovalClosed",
    "ApprovalError",
    "ApprovalVerdict",
    "CallChange",
    "CallVerdict",
    "PendingApproval",
    "PendingCall",
    "check_verdict",
    "close_undecided",
    "find_decided",
    "find_known_versions",
    "find_note_path",
    "find_note_version",
    "list_approvals",
    "load_approval",
    "preview_change",
    "record_verdict",
    "resume_decided",
    "store_approval",
]
