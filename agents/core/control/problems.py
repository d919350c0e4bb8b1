"""What is wrong with a text that somebody wrote, and where: a sentence with line and column."""

from collections.abc import Iterable
from dataclasses import dataclass
from difflib import get_close_matches


@dataclass(frozen=True, slots=True, order=True)
class PlacedProblem:
    """A mistake in a text. Lines and columns count characters and begin with one."""

    line: int
    column: int
    message: str

    def __str__(self) -> str:
        return f"{self.line}:{self.column}: {self.message}"


class InvalidText(Exception):
    """A text is not what it is meant to be. `problems` has at least one, by place."""

    def __init__(self, problems: Iterable[PlacedProblem]) -> None:
        self.problems = tuple(sorted(set(problems)))
        super().__init__("; ".join(map(str, self.problems)))


def suggest_name(name: str, known: Iterable[str]) -> str:
    """Return "; did you mean 'size'?" for a known name like this one, or nothing."""
    near = get_close_matches(name[:80], list(known), n=1)
    return f"; did you mean {near[0]!r}?" if near else ""
