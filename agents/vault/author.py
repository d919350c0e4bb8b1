"""Who changes notes, as it is kept with every version."""

from dataclasses import dataclass
from typing import Self
from uuid import UUID

from agents.models.vault import NoteVersion


@dataclass(frozen=True, slots=True)
class Author:
    """A person, a run that a person asked for, a folder or an import."""

    source: NoteVersion.Source
    user_id: int | None = None
    run_id: UUID | None = None
    call_id: str = ""
    """Of the tool call by which a run does it."""

    @classmethod
    def person(cls, user_id: int) -> Self:
        return cls(NoteVersion.Source.PERSON, user_id)

    @classmethod
    def run(cls, run_id: UUID, user_id: int | None) -> Self:
        return cls(NoteVersion.Source.RUN, user_id, run_id)

    @classmethod
    def importer(cls, user_id: int | None = None) -> Self:
        return cls(NoteVersion.Source.IMPORT, user_id)

    @classmethod
    def folder(cls) -> Self:
        return cls(NoteVersion.Source.FOLDER)
