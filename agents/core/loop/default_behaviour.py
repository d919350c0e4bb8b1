"""What drives runs that name no behaviour: the plain string of turns, or a shipped behaviour."""

from agents.core.behaviours import Behaviour, read_behaviour
from agents.core.behaviours.shipped import load_shipped_texts

_chosen: dict[str, Behaviour | None] = {"behaviour": None}


def choose_default_behaviour(name: str) -> None:
    """Settle it at start-up, once all words are registered."""
    _chosen["behaviour"] = read_behaviour(load_shipped_texts()[name]) if name != "plain" else None


def get_default_behaviour() -> Behaviour | None:
    """Return the behaviour that drives; None: the plain string of turns."""
    return _chosen["behaviour"]
