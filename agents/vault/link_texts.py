"""What links call a note: search finds it by the texts that other notes use for it.

A link means every note of its name, with the end of the path where it writes one, and every note
of that alias. Notes of one name share the texts of links that do not say which one they mean. So
the texts of a note depend on its own path and aliases and on the links alone.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

from django.db import connection

from agents.models import Note, NoteAlias, NoteLink
from agents.models.vault import MAX_KEY_LENGTH
from agents.vault.parsing import Link, ParsedNote
from agents.vault.paths import make_key, make_link_key, make_name_key
from agents.vault.row_writer import adapt_uuid

T = TypeVar("T")
BATCH_SIZE = 200
MAX_NAMESAKES = 50
"""A text that more notes of one name would share tells none of them from the others: they are not
written for it, and take it with their next change."""
_NAMING_KINDS: tuple[str, ...] = (NoteLink.Kind.WIKILINK, NoteLink.Kind.MARKDOWN)
"""The text of an embed is the size of a picture or what stands in its place."""
LinkText = tuple[str, str, str]
"""The name by which a link finds its target, the target as written, and the text."""
ReadNote = tuple[Note, ParsedNote]


def list_link_texts(links: Iterable[Link]) -> set[LinkText]:
    """Return the texts of links as they will be stored."""
    return {
        (make_name_key(link.target)[:MAX_KEY_LENGTH], link.target, link.label)
        for link in links
        if link.label and link.target and link.kind in _NAMING_KINDS
    }


def load_link_texts(source_ids: Collection[int]) -> set[LinkText]:
    """Return the texts of the links that these notes have."""
    found: set[LinkText] = set()
    for some in _cut(source_ids):
        found.update(_select_texts("source_id", some))
    return found


def iterate_renamed(
    project_id: UUID, changed: set[LinkText], besides: Sequence[int]
) -> Iterator[Note]:
    """Yield the notes that are no longer called the same, since only these notes call them so.

    They are locked, but nobody waits for one that is being changed: two who wait for each other
    would both fail. It takes its new texts with its next change.
    """
    ids = _find_meant(project_id, changed - _load_others(project_id, changed, besides))
    for some in _cut(sorted(ids.difference(besides))):
        yield from Note.objects.select_for_update(skip_locked=True).filter(
            pk__in=some, deleted_at__isnull=True
        )


def _load_others(project_id: UUID, changed: set[LinkText], besides: Sequence[int]) -> set[LinkText]:
    """Return which of these texts other notes use too."""
    found: set[LinkText] = set()
    for some in _cut({name for name, _, _ in changed}):
        found.update(_select_texts("name_key", some, project_id, besides))
    return found


def _find_meant(project_id: UUID, texts: set[LinkText]) -> set[int]:
    """Return the ids of the notes that links of these names may mean."""
    ids: set[int] = set()
    for some in _cut(texts):
        ends: dict[str, set[str]] = defaultdict(set)
        for name, target, _ in some:
            ends[name].add(_get_path_end(target))
        notes = Note.objects.filter(project=project_id, name_key__in=ends).order_by()
        aliases = NoteAlias.objects.filter(
            project=project_id, key__in={make_key(target) for _, target, _ in some}
        )
        meant: dict[str, set[int]] = defaultdict(set)
        for pk, name, path in notes.values_list("pk", "name_key", "path"):
            if f"/{make_link_key(path)}".endswith(tuple(ends[name])):
                meant[name].add(pk)
        for pk, alias in aliases.order_by().values_list("note_id", "key"):
            meant[alias].add(pk)
        ids.update(*(each for each in meant.values() if len(each) <= MAX_NAMESAKES))
    return ids


def iterate_called(
    project_id: UUID, notes: Iterable[ReadNote]
) -> Iterator[tuple[Note, ParsedNote, list[str]]]:
    """Yield notes with all that links call them, beside their titles and names."""
    for some in _cut(notes):
        texts: dict[str, list[tuple[str, str]]] = defaultdict(list)
        names = {name for note, parsed in some for name in _list_names(note, parsed)}
        for name, target, label in _select_texts("name_key", names, project_id):
            texts[name].append((target, label))
        for note, parsed in some:
            yield note, parsed, _choose_texts(note, parsed, texts) if texts else []


def _list_names(note: Note, parsed: ParsedNote) -> set[str]:
    return {note.name_key, *(make_name_key(alias) for alias in parsed.aliases)}


def _choose_texts(
    note: Note, parsed: ParsedNote, texts: dict[str, list[tuple[str, str]]]
) -> list[str]:
    """Return the texts of the links that mean a note, once each."""
    path, aliases = f"/{make_link_key(note.path)}", {make_key(alias) for alias in parsed.aliases}
    known = {make_key(note.title), note.name_key}
    named = (pair for name in _list_names(note, parsed) for pair in texts.get(name, ()))
    return sorted(
        {
            label
            for target, label in named
            if make_key(label) not in known
            and (path.endswith(_get_path_end(target)) or make_key(target) in aliases)
        }
    )


def _get_path_end(target: str) -> str:
    """Return how the path ends that a link writes, without its steps upwards."""
    steps = [part for part in make_link_key(target).split("/") if part not in ("", ".", "..")]
    return f"/{'/'.join(steps)}"


def _select_texts(
    column: str,
    values: Collection[str] | Collection[int],
    project_id: UUID | None = None,
    besides: Collection[int] = (),
) -> list[LinkText]:
    """Return the texts of links by a column; every save asks, so without the ORM."""
    conditions = [f"{column} IN ({_mark(values)})", f"kind IN ({_mark(_NAMING_KINDS)})"]
    arguments: list[Any] = [*values, *_NAMING_KINDS]
    if project_id:
        conditions.append("project_id = %s")
        arguments.append(adapt_uuid(project_id))
    if besides:
        conditions.append(f"source_id NOT IN ({_mark(besides)})")
        arguments += besides
    statement = (
        f"SELECT DISTINCT name_key, target, label FROM {NoteLink._meta.db_table}"  # noqa: S608  # our own names
        f" WHERE label <> '' AND target <> '' AND {' AND '.join(conditions)}"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return list(cursor.fetchall())


def _mark(values: Collection[object]) -> str:
    return ", ".join(["%s"] * len(values))


def _cut(values: Iterable[T]) -> Iterator[list[T]]:
    """Cut what is too much for one query, or for memory."""
    rest = iter(values)
    while some := list(islice(rest, BATCH_SIZE)):
        yield some
