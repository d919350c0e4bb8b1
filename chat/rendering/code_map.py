"""A map of code as a tree: folders, files, definitions."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby

MAX_LEVEL = 3
"""Definitions that stand deeper are shown as deep as this."""


@dataclass(frozen=True, slots=True)
class MapLine:
    """A definition; `level` says how deep it stands below its file."""

    text: str
    url: str | None
    level: int


@dataclass(frozen=True, slots=True)
class MapFile:
    path: str
    url: str | None
    lines: list[MapLine] = field(default_factory=list)

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


@dataclass(frozen=True, slots=True)
class MapFolder:
    path: str
    files: list[MapFile]


def group_by_folder(files: Iterable[MapFile]) -> list[MapFolder]:
    """Return files as a tree, by path."""
    by_path = sorted(files, key=lambda file: file.path.rpartition("/")[::2])
    folders = groupby(by_path, key=lambda file: file.path.rpartition("/")[0])
    return [MapFolder(folder, list(some)) for folder, some in folders]
