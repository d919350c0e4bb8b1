"""What a page of a folder of code lists: folders first, then files, some at a time."""

from collections.abc import Iterable, Sequence
from typing import overload
from uuid import UUID

from agents.code.listing import CodeFolder, files_in, list_folders
from agents.models import CodeFile

Entry = CodeFolder | CodeFile


class CodeEntries(Sequence[Entry]):
    """What lies directly in a folder. Files are read from the database where a slice wants them."""

    def __init__(self, project_id: UUID, folder: str) -> None:
        self._folders = list_folders(project_id, folder)
        self._files = files_in(project_id, folder)
        self._file_count = self._files.count()

    def __len__(self) -> int:
        return len(self._folders) + self._file_count

    @overload
    def __getitem__(self, wanted: int) -> Entry: ...
    @overload
    def __getitem__(self, wanted: slice) -> Sequence[Entry]: ...
    def __getitem__(self, wanted: int | slice) -> Entry | Sequence[Entry]:
        if isinstance(wanted, int):
            return self[wanted : wanted + 1][0]
        start, stop, _ = wanted.indices(len(self))
        own = len(self._folders)
        files: Iterable[CodeFile] = ()
        if stop > own:
            files = self._files[max(0, start - own) : stop - own]
        return [*self._folders[start:stop], *files]
