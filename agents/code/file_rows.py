"""Files of code as rows: the file, its definitions, and its text in the index of the project."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.utils import timezone

from agents.code.code_sections import cut_sections
from agents.code.parsed_file import PARSER_VERSION, ParsedFile
from agents.models import CodeFile, CodeSymbol, SearchDocument
from agents.search.index import (
    SearchableText,
    analyse_text,
    index_documents,
    remove_documents,
)
from agents.vault.row_writer import adapt_time, adapt_uuid, delete_rows, insert_rows, upsert_rows

_FILE_COLUMNS = (
    *("project_id", "path", "blob_hash", "size", "line_count", "language", "text", "reading"),
    *("reading_note", "parser_version", "references", "imports", "updated_at"),
)
_SYMBOL_COLUMNS = (
    *("project_id", "file_id", "name", "container"),
    *("kind", "line", "end_line", "signature"),
)


@dataclass(slots=True)
class FileChange:
    """A file that is new, or other than it was."""

    path: str
    size: int
    blob_hash: str
    data: bytes
    known_id: int | None = None
    file: ParsedFile = field(default_factory=ParsedFile)
    text: SearchableText | None = None
    """What search shall find of it, if anything."""


def prepare_text(project_id: UUID, change: FileChange) -> None:
    """Analyse the text of a file. To be called before the transaction that writes it."""
    if change.file.text:
        sections = cut_sections(change.file.text.split("\n"), change.file.symbols)
        text = SearchableText(SearchDocument.Kind.CODE, 0, change.path, sections=sections)
        change.text = analyse_text(project_id, text)


def write_files(project_id: UUID, changes: Sequence[FileChange]) -> None:
    """Store files in the place of what they were. To be called in a transaction."""
    project, now = adapt_uuid(project_id), adapt_time(timezone.now())
    ids = upsert_rows(
        CodeFile,
        _FILE_COLUMNS,
        [(project, *_list_values(change), now) for change in changes],
        conflict=("project_id", "path"),
    )
    pairs = list(zip(ids, changes, strict=True))
    delete_rows(CodeSymbol, "file_id", ids)
    insert_rows(
        CodeSymbol,
        _SYMBOL_COLUMNS,
        ((project, id, *symbol) for id, change in pairs for symbol in change.file.symbols),
    )
    listed = [id for id, change in pairs if change.known_id and not change.file.text]
    remove_documents(project_id, SearchDocument.Kind.CODE, listed)
    texts = (replace(change.text, source_id=id) for id, change in pairs if change.text)
    index_documents(project_id, texts)


def delete_files(project_id: UUID, ids: Sequence[int]) -> None:
    """Remove files with all that was known of them. To be called in a transaction."""
    remove_documents(project_id, SearchDocument.Kind.CODE, ids)
    CodeFile.objects.filter(project=project_id, pk__in=ids).delete()


def _list_values(change: FileChange) -> tuple[Any, ...]:
    """Return what `_FILE_COLUMNS` has between the project and the time."""
    file, text = change.file, change.file.text
    return (
        change.path,
        change.blob_hash,
        change.size,
        text.count("\n") + (not text.endswith("\n")) if text else 0,
        file.language,
        text,
        file.reading,
        file.note,
        PARSER_VERSION,
        file.references,
        file.imports,
    )
