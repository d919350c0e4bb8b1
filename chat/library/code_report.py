"""What the last reading of a checkout left out or read in part, as its page shows it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

TITLES = {"words_only": "Words only", "listed": "Name only", "skipped": "Left out"}


@dataclass(frozen=True, slots=True)
class ReportPart:
    """Files of one fate: how many for which reason, and the first of them by name."""

    title: str
    count: int
    reasons: Sequence[tuple[str, int]]
    files: Sequence[tuple[str, str]]

    @property
    def has_more(self) -> bool:
        return self.count > len(self.files)


def list_report_parts(report: Mapping[str, Any]) -> list[ReportPart]:
    """Return what there is to say about files that were not read in full."""
    parts = []
    for key, title in TITLES.items():
        told = report.get(key) or {"reasons": {}, "files": []}
        reasons = [(why or "no reason given", count) for why, count in told["reasons"].items()]
        files = [(path, why) for path, why in told["files"]]
        parts.append(ReportPart(title, sum(count for _, count in reasons), reasons, files))
    return [part for part in parts if part.count]
