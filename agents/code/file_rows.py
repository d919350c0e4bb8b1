"""Files of code as rows: the file, its definitions, and its text in the index of the project."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from django.utils import timezone

from agents.code.code_sections import cut_sections
from agents.code.parsed_file import PARSER_VERSION, ParsedFile
from agents.models import CodeFile, CodeSymbol, SearchDocument
from agents.search.index import SearchableText, index_documents, remove_documents
from agents.vault.row_writer import adapt_uuid, delete_rows, insert_rows

_UPDATED = [
    *("blob_hash", "size", "line_count", "language", "text", "reading", "reading_note"),
    *("parser_version", "references", "imports", "updated_at"),
]
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


def write_files(project_id: UUID, changes: Sequence[FileChange]) -> None:
    """Store files in the place of what they were. To be called in a transaction."""
    rows = CodeFile.objects.bulk_create(
        [_build_row(project_id, change) for change in changes],
        update_conflicts=True,
        unique_fields=["project", "path"],
        update_fields=_UPDATED,
    )
    delete_rows(CodeSymbol, "file_id", [row.pk for row in rows])
    project = adapt_uuid(project_id)
    pairs = list(zip(rows, changes, strict=True))
    insert_rows(
        CodeSymbol,
        _SYMBOL_COLUMNS,
        ((project, row.pk, *symbol) for row, change in pairs for symbol in change.file.symbols),
    )
    listed = [row.pk for row, change in pairs if change.known_id and not change.file.text]
    remove_documents(project_id, SearchDocument.Kind.CODE, listed)
    index_documents(project_id, _list_texts(pairs))


def delete_files(project_id: UUID, ids: Sequence[int]) -> None:
    """Remove files with all that was known of them. To be called in a transaction."""
    remove_documents(project_id, SearchDocument.Kind.CODE, ids)
    CodeFile.objects.filter(project=project_id, pk__in=ids).delete()


def _build_row(project_id: UUID, change: FileChange) -> CodeFile:
    file = change.file
    return CodeFile(
        project_id=project_id,
        path=change.path,
        blob_hash=change.blob_hash,
        size=change.size,
        line_count=file.text.count("\n") + (not file.text.endswith("\n")) if file.text else 0,
        language=file.language,
        text=file.text,
        reading=file.reading,
        reading_note=file.note,
        parser_version=PARSER_VERSION,
        references=file.references,
        imports=file.imports,
        updated_at=timezone.now(),
    )


def _list_texts(pairs: Iterable[tuple[CodeFile, FileChange]]) -> Iterable[SearchableText]:
    for row, change in pairs:
        if not change.file.text:
            continue
        sections = cut_sections(change.file.text.split("\n"), change.file.symbols)
        yield SearchableText(SearchDocument.Kind.CODE, row.pk, row.path, sections=sections)
