"""From how much of a limit on its meters warn: neutral, then amber, then red."""

AMBER_PERCENT = 70
RED_PERCENT = 90


def limit_css_class(percent: float) -> str:
    """Return the class of a meter's colour; none below amber."""
    if percent >= RED_PERCENT:
        return "high"
    return "amber" if percent >= AMBER_PERCENT else ""
