"""Labels, order and colours of termination reasons, installed or not."""

from collections import Counter
from collections.abc import Mapping

from agents.core.reasons import REASONS, get_reason

RUNNING = "running"


# -- reasons --------------------------------------------------------------------------------------


def assign_css_classes(codes: Mapping[str, str]) -> dict[str, str]:
    """Return a class for each code: the colour of its group, paler for each further code of it."""
    found: dict[str, str] = {}
    members: dict[str, int] = {}
    for code, group in codes.items():
        members[group] = members.get(group, 0) + 1
        found[code] = f"{group} shade-{min(members[group], 4)}"
    return found


REASON_CSS_CLASSES = assign_css_classes(
    {code: reason.outcome.value for code, reason in REASONS} | {RUNNING: RUNNING}
)


def reason_css_class(code: str) -> str:
    return REASON_CSS_CLASSES.get(code, "cancelled shade-4")


def reason_label(code: str) -> str:
    """Return the label of a reason, which may be that of a package no longer installed."""
    if code == RUNNING:
        return "Running"
    return get_reason(code).label


def sort_by_reason(runs: Mapping[str, int]) -> list[tuple[str, int]]:
    """Sort as they are registered, so that a colour is always in the same place."""
    order = {code: at for at, code in enumerate(REASON_CSS_CLASSES)}
    return sorted(runs.items(), key=lambda item: (order.get(item[0], len(order)), item[0]))


class CountsByReason:
    """What counts runs by their reasons, in `runs`."""

    runs: Counter[str]

    @property
    def total(self) -> int:
        return sum(self.runs.values())

    @property
    def reasons(self) -> str:
        """How many of each, in words."""
        counts = sort_by_reason(self.runs)
        return ", ".join(f"{reason_label(code)} {number:,}" for code, number in counts)
