"""The way through a behaviour: which nodes were left, and how, from checkpoint to checkpoint.

    3- 3+ 2+ 6-kind 5-

The number of a node, `+` for success, `-` for failure, `!` for what was halted; and, where a value
could not be had or kept or somebody did not approve, why. That is a word of ours: paths are signed,
and outlive what was said.
"""

from collections.abc import Callable, Mapping

MAX_PATH_LENGTH = 2_000
"""Of one checkpoint; what was left before its last part is cut away."""
NO_VALUE = "value"
FAILURES: Mapping[str, str] = {
    "kind": "the value was of another kind than its key",
    "size": "the value was too long for a key",
    "room": "the blackboard had no room left",
    "form": "such a value cannot be kept",
    NO_VALUE: "a value could not be worked out",
    "no": "the user said no",
    "differently": "the user wanted it done differently",
}
"""Why a node failed that did not decide so itself: its blackboard is as before."""


class NodeFailed(Exception):
    """A node fails for a reason that a path has a word for: `why`, of `FAILURES`."""

    def __init__(self, why: str) -> None:
        super().__init__(FAILURES[why])
        self.why = why


def add_reason(path: str, why: str) -> str:
    """Return a path whose first node failed for this reason."""
    first, _, rest = path.partition(" ")
    return f"{first}{why} {rest}" if rest else f"{first}{why}"


class PathRecorder:
    """Keeps what was left. It takes a few bytes a turn."""

    def __init__(self) -> None:
        self._left: list[str] = []
        self.note: Callable[[str], None] = self._left.append
        self.write_open: Callable[[], str] = str
        """Returns all that is open, as halted; a walk says so."""

    def take(self, *, halts: bool = False) -> str:
        """Return the way since it was last taken; all that is open is halted, if the run halts:
        whatever is left after that is no news."""
        if halts:
            self.note(self.write_open())
            self.note = lambda _: None
        if not self._left:
            return ""
        path = " ".join(filter(None, self._left))
        self._left.clear()
        if len(path) > MAX_PATH_LENGTH:
            path = f"… {path[-MAX_PATH_LENGTH:].partition(' ')[2]}"
        return path
