"""Questions for the librarian: the embedded model passes them on, and its report back.

The librarian of the embedded model is the embedded model: what it reports is quoted and cited.
"""

import re
from typing import Any

from agents.core.chunks import OUTCOME_UNKNOWN
from agents.llm.embedded.request import ParsedRequest

DELEGATE_TOOL = "delegate_librarian"
_LIBRARIAN = r"(?:the |your |den |die |deine?n? )?(?:librarian|bibliothekar\w*)"
_ASKED = re.compile(
    rf"(?is)\W*(?:please |bitte )?(?:ask|let|have|tell|frage?|lass|bitte) {_LIBRARIAN}"
    r"(?: to| dass)?\b[\s,:]*(?P<task>\S.*)"
)
_FAILURES = (
    "Refused:",
    "Not run:",
    OUTCOME_UNKNOWN,
    "The librarian has no answer.",
    "The librarian ended without a report.",
    f"{DELEGATE_TOOL} failed (",
)
"""How a result begins that is no report: the model sees only texts."""


def plan_delegation(request: ParsedRequest) -> list[tuple[str, dict[str, Any]]]:
    """Return the call that a question for the librarian needs, unless it was made."""
    asked = _ASKED.fullmatch(request.question)
    if asked is None or DELEGATE_TOOL not in request.offered or request.get_steps(DELEGATE_TOOL):
        return []
    return [(DELEGATE_TOOL, {"task": asked["task"].strip()})]


def get_report(request: ParsedRequest) -> str:
    """Return what the librarian has reported; nothing if it has not, or could not."""
    steps = request.get_steps(DELEGATE_TOOL)
    report = steps[-1].result if steps else ""
    return "" if report.startswith(_FAILURES) else report
