"""The versions of a note, in words: who made each of them, and how."""

from dataclasses import dataclass
from uuid import UUID

from django.contrib.auth.models import User

from agents.models import NoteVersion
from agents.projects.queries import runs_for

SOURCES = {
    NoteVersion.Source.IMPORT: "by an import",
    NoteVersion.Source.FOLDER: "from the folder",
}


@dataclass(frozen=True, slots=True)
class HistoryEntry:
    """A line of a note's history. `run_id` is set where the reader can open the run."""

    version: NoteVersion
    who: str
    run_id: UUID | None
    is_current: bool

    @property
    def previous(self) -> int:
        return self.version.number - 1


def describe_versions(
    versions: list[NoteVersion], current: int, reader: User
) -> list[HistoryEntry]:
    """Say of each version who made it."""
    run_ids = {version.run_id for version in versions if version.run_id}
    own = set(runs_for(reader).filter(pk__in=run_ids).values_list("pk", flat=True))
    return [
        HistoryEntry(
            version=version,
            who=describe_author(version),
            run_id=version.run_id if version.run_id in own else None,
            is_current=version.number == current,
        )
        for version in versions
    ]


def describe_author(version: NoteVersion) -> str:
    """Return who made a version, to follow a word such as "Edited"."""
    name = version.user.get_username() if version.user else ""
    if version.source == NoteVersion.Source.RUN:
        return f"by the agent, asked by {name}" if name else "by the agent"
    if version.source == NoteVersion.Source.PERSON:
        return f"by {name}" if name else "by a deleted user"
    words = SOURCES[NoteVersion.Source(version.source)]
    return f"{words} of {name}" if name else words
