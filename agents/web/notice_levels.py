"""What a notice's colour says. It follows the notice's type: an exceeded limit is no error."""

from typing import Literal

NoticeLevel = Literal["limit", "error", "neutral"]
"""Amber for limits and policy, red for errors, grey for what is neither."""

_LIMIT_TYPES = frozenset(
    {
        "limit_warning",
        "limit_reached",
        "no_progress",
        "error_limit",
        "loop_warning",
        "tool_limit",
        "context_warning",
    }
)
_NEUTRAL_TYPES = frozenset({"cancelled", "notification"})


def notice_level(system_type: str, severity: str) -> NoticeLevel:
    """Return the level of a system message. What only informs, such as another try, is neutral."""
    if system_type in _LIMIT_TYPES:
        return "limit"
    return "neutral" if system_type in _NEUTRAL_TYPES or severity == "info" else "error"
