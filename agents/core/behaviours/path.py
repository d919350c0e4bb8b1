"""The way through a behaviour: which nodes were left, and how, from checkpoint to checkpoint."""

from collections.abc import Callable, Mapping

from agents.core.behaviours.behaviour import BehaviourNode

MAX_PATH_LENGTH = 2_000
"""Of one checkpoint; what was left before its last part is cut away."""
_SIGNS: Mapping[bool | None, str] = {True: "+", False: "-", None: "!"}


class PathRecorder:
    """A visitor that writes down the nodes that were left. It takes a few bytes a turn."""

    def __init__(self) -> None:
        self._left: list[str] = []
        self._open: list[BehaviourNode] = []
        self._is_over = False
        self.enter: Callable[[BehaviourNode], None] = self._open.append

    def leave(self, node: BehaviourNode, succeeded: bool | None) -> None:
        self._open.pop()
        if not self._is_over:
            self._left.append(f"{node.number}{_SIGNS[succeeded]}")

    def take(self, *, halts: bool = False) -> str:
        """Return the way since it was last taken; all that is open is halted, if the run halts."""
        if halts and not self._is_over:
            self._is_over = True
            self._left += [f"{node.number}!" for node in reversed(self._open)]
        if not self._left:
            return ""
        path = " ".join(self._left)
        self._left = []
        if len(path) > MAX_PATH_LENGTH:
            path = f"… {path[-MAX_PATH_LENGTH:].partition(' ')[2]}"
        return path
