"""From the distance that a gauge sends to the level of the water."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Site:
    """Where a gauge hangs, in metres above chart datum."""

    mark: float
    quay_edge: float
    offset: float = 0.0
    """Found at calibration; raw distances are never changed."""


def compute_level(site: Site, distance_mm: int) -> float:
    """Return the level of the water in metres above chart datum."""
    return site.mark - distance_mm / 1_000 + site.offset
