"""The index of a project, written in the transaction of whoever changes the text.

    index_documents(project.id, [SearchableText("note", note.id, note.path, note.title, text=text)])
    remove_documents(project.id, "note", [note.id])

Indexing a text again replaces what was there.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from agents.models import Project, SearchDocument, SearchSection
from agents.search.analysis import analyse, count_terms
from agents.search.code_analysis import analyse_code
from agents.search.ranking import DOCUMENT_WEIGHTS, SECTION_WEIGHTS
from agents.search.sections import Section, split_sections
from agents.search.vectors import build_vector

BATCH_SIZE = 200
MAX_STATEMENT_ROWS = 500
MAX_TERMS_BYTES = 400_000
"""PostgreSQL takes 1 MiB of one row's terms. Few notes have so many different words."""
MAX_EXTRA_CHARS = 20_000
MAX_TITLE_CHARS = 500
WHOLE_KINDS = frozenset({SearchDocument.Kind.THREAD})
"""Texts so short that each counts as its own one section, which needs no row."""
_UNSTORABLE = {0: "\ufffd", **dict.fromkeys(range(0xD800, 0xE000), "\ufffd")}
_TERM_COLUMNS = ("scope", "title_terms", "heading_terms", "extra_terms", "body_terms", "length")
_DOCUMENT_COLUMNS = (
    "project_id",
    "kind",
    "source_id",
    "path",
    "title",
    "is_template",
    "section_count",
)
_SECTION_COLUMNS = ("document_id", "heading_path", "first_line", "last_line")


@dataclass(frozen=True, slots=True)
class SearchableText:
    """A text to be found. `extra` holds tags, aliases and what links to it call it.

    Where headings do not cut it, it comes with its sections.
    """

    kind: str
    source_id: int
    path: str
    title: str = ""
    extra: str = ""
    text: str = ""
    is_template: bool = False
    sections: Sequence[Section] | None = None
    analysed: "_Analysed | None" = None
    """What came of it, where `analyse_text` was called before the transaction."""


_Analysed = tuple[tuple[Any, ...], list[tuple[Any, ...]]]
"""The columns of a document and of its sections, but for what names them."""


def analyse_text(project_id: UUID, text: SearchableText) -> SearchableText:
    """Return a text as it is indexed with less work: nobody waits for what is done before."""
    return replace(text, analysed=_analyse_text(get_scope(project_id, text.kind), text))


def index_documents(project_id: UUID, texts: Iterable[SearchableText]) -> None:
    """Put texts into the project's index, each in the place of what it was before."""
    batch: dict[tuple[str, int], SearchableText] = {}
    for text in texts:
        batch[text.kind, text.source_id] = text
        if len(batch) == BATCH_SIZE:
            _index_batch(project_id, list(batch.values()))
            batch.clear()
    _index_batch(project_id, list(batch.values()))


def remove_documents(project_id: UUID, kind: str, source_ids: Collection[int]) -> None:
    """Take texts out of the project's index; those that are not in it are no error."""
    ids = list(source_ids)
    for start in range(0, len(ids), BATCH_SIZE):
        _find_documents(project_id, kind, ids[start : start + BATCH_SIZE]).delete()


def get_analyser(kind: str) -> Callable[[str], str]:
    """Return what makes terms of a text of this kind."""
    return analyse_code if kind == SearchDocument.Kind.CODE else analyse


def get_scope(project_id: UUID, kind: str) -> str:
    """Return the one term that all rows of a project's kind have, and no others."""
    return f"{project_id.hex}{kind}"


def _find_documents(
    project_id: UUID, kind: str, source_ids: Collection[int]
) -> QuerySet[SearchDocument]:
    return SearchDocument.objects.filter(project_id=project_id, kind=kind, source_id__in=source_ids)


def _index_batch(project_id: UUID, texts: list[SearchableText]) -> None:
    analysed = [
        text.analysed or _analyse_text(get_scope(project_id, text.kind), text) for text in texts
    ]
    project = Project._meta.pk.get_db_prep_value(project_id, connection)
    written = _write_rows(
        SearchDocument,
        _DOCUMENT_COLUMNS,
        (
            (project, text.kind, text.source_id, *document)
            for text, (document, _) in zip(texts, analysed, strict=True)
        ),
        conflict="project_id, kind, source_id",
        returning="kind, source_id, id",
    )
    ids = {(kind, source): id for kind, source, id in written}
    if ids:
        _replace_sections(
            list(ids.values()),
            [
                (ids[text.kind, text.source_id], *section)
                for text, (_, sections) in zip(texts, analysed, strict=True)
                for section in sections
            ],
        )


def _replace_sections(document_ids: list[int], sections: list[tuple[Any, ...]]) -> None:
    """Leave sections alone that are as they were, and give the rows of others new content.

    Every statement makes FTS5 write what it has gathered, so most saves should need but one.
    """
    before = _load_sections(document_ids)
    new = [section for section in sections if section not in before]
    gone = sorted(before[section] for section in before.keys() - set(sections))
    changed = zip(gone, new, strict=False)
    columns = ("id", *_SECTION_COLUMNS)
    _write_rows(SearchSection, columns, ((id, *row) for id, row in changed), conflict="id")
    _write_rows(SearchSection, _SECTION_COLUMNS, iter(new[len(gone) :]))
    _delete_sections(gone[len(new) :])


def _load_sections(document_ids: list[int]) -> dict[tuple[Any, ...], int]:
    """Return the ids of the sections of documents by everything that they hold."""
    columns = ", ".join((*_SECTION_COLUMNS, *_TERM_COLUMNS))
    marks = ", ".join(["%s"] * len(document_ids))
    table = SearchSection._meta.db_table
    with connection.cursor() as cursor:
        statement = f"SELECT id, {columns} FROM {table} WHERE document_id IN ({marks})"  # noqa: S608  # our own names
        cursor.execute(statement, document_ids)
        return {tuple(row[1:]): row[0] for row in cursor.fetchall()}


def _delete_sections(ids: list[int]) -> None:
    table = SearchSection._meta.db_table
    with connection.cursor() as cursor:
        for start in range(0, len(ids), MAX_STATEMENT_ROWS):
            some = ids[start : start + MAX_STATEMENT_ROWS]
            marks = ", ".join(["%s"] * len(some))
            cursor.execute(f"DELETE FROM {table} WHERE id IN ({marks})", some)  # noqa: S608  # our own names


def _analyse_text(scope: str, source: SearchableText) -> _Analysed:
    folder, _, name = source.path.rpartition("/")
    analyse = get_analyser(source.kind)
    title = analyse(f"{source.title[:MAX_TITLE_CHARS]} {name.rpartition('.')[0] or name}")
    extra = analyse(f"{folder} {source.extra[:MAX_EXTRA_CHARS]}")
    bodies: list[str] = []
    headings: dict[str, None] = {}
    sections: list[tuple[Any, ...]] = []
    parts = source.sections if source.sections is not None else split_sections(source.text)
    for section in parts:
        body = analyse(section.text)
        bodies.append(body.strip())
        headings.update(dict.fromkeys(section.heading_path))
        path = "\n".join(section.heading_path)
        lines = (section.first_line, section.last_line)
        heading = analyse(path)
        terms = (scope, title, heading, extra, _cut(body), count_terms(body))
        sections.append((path.translate(_UNSTORABLE), *lines, *terms))
    whole = f" {' '.join(filter(None, bodies))} " if any(bodies) else ""
    names = (
        source.path.translate(_UNSTORABLE),
        source.title[:MAX_TITLE_CHARS].translate(_UNSTORABLE),
    )
    terms = (
        scope,
        title,
        _cut(analyse("\n".join(headings))),
        extra,
        _cut(whole),
        count_terms(whole),
    )
    is_whole = source.kind in WHOLE_KINDS
    flags = (source.is_template, 1 if is_whole else len(sections))
    return (*names, *flags, *terms), [] if is_whole else sections


def _cut(terms: str) -> str:
    """Return as many of the terms as one row may have: first how often, then which there are."""
    if len(terms) < MAX_TERMS_BYTES // 4 or len(terms.encode()) < MAX_TERMS_BYTES:
        return terms
    beginning = _cut_bytes(terms, MAX_TERMS_BYTES // 2)
    others = dict.fromkeys(terms[len(beginning) :].split())
    for known in set(beginning.split()):
        others.pop(known, None)
    return _cut_bytes(f"{beginning}{' '.join(others)} ", MAX_TERMS_BYTES)


def _cut_bytes(terms: str, size: int) -> str:
    kept = terms.encode()[:size].decode(errors="ignore")
    return kept if len(kept) == len(terms) else f"{kept.rpartition(' ')[0]} "


def _write_rows(
    model: type[SearchDocument] | type[SearchSection],
    columns: tuple[str, ...],
    rows: Iterator[tuple[Any, ...]],
    conflict: str = "",
    returning: str = "",
) -> list[tuple[Any, ...]]:
    """Write many rows in one statement: FTS5 goes to the disk at the beginning of each."""
    names, marks = [*columns, *_TERM_COLUMNS], ["%s"] * (len(columns) + len(_TERM_COLUMNS))
    if connection.vendor == "postgresql":
        names.append("tsv")
        marks.append("%s::tsvector")
        weights = DOCUMENT_WEIGHTS if model is SearchDocument else SECTION_WEIGHTS
        rows = ((*row, build_vector(weights, *row[-len(_TERM_COLUMNS) : -1])) for row in rows)
    row_marks = f"({', '.join(marks)})"
    start = f"INSERT INTO {model._meta.db_table} ({', '.join(names)}) VALUES "  # noqa: S608  # our own names
    changes = ", ".join(f"{name} = excluded.{name}" for name in names)
    end = f" ON CONFLICT ({conflict}) DO UPDATE SET {changes}" if conflict else ""
    end += f" RETURNING {returning}" if returning else ""
    written: list[tuple[Any, ...]] = []
    with connection.cursor() as cursor:
        while part := list(islice(rows, MAX_STATEMENT_ROWS)):
            statement = f"{start}{', '.join([row_marks] * len(part))}{end}"
            cursor.execute(statement, list(chain.from_iterable(part)))
            written += cursor.fetchall() if returning else []
    return written
