"""The behaviours that come with Oracle: one file each."""

from functools import cache
from importlib import resources

BEHAVIOUR_NAMES = ("oracle-agent", "plan-then-do", "checked-answer", "deep-research", "ask-first")
FILE_SUFFIX = ".lisp"


@cache
def load_shipped_texts() -> dict[str, str]:
    """Return the texts of all of them, by name."""
    folder = resources.files(__package__)
    return {
        name: folder.joinpath(f"{name}{FILE_SUFFIX}").read_text("utf-8") for name in BEHAVIOUR_NAMES
    }
