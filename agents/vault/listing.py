"""Lists of a project's library: folders, tags, what changed last."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, Min, Q, QuerySet, Value
from django.db.models.functions import StrIndex, Substr

from agents.models import Attachment, Note, NoteTag
from agents.vault.notes import notes_for
from agents.vault.paths import make_key, validate_path
from agents.vault.service import NoteEntry

BATCH_SIZE = 500
MAX_LISTED_TAGS = 10_000


@dataclass(frozen=True, slots=True)
class SubfolderEntry:
    """A folder in a folder, with how many notes and other files are in it and below."""

    path: str
    note_count: int
    file_count: int = 0


@dataclass(frozen=True, slots=True)
class FolderListing:
    """One level of a project: its folders, and its notes and files, read where a slice is taken."""

    folder: str
    folders: tuple[SubfolderEntry, ...]
    notes: QuerySet[Note]
    attachments: QuerySet[Attachment]


@dataclass(frozen=True, slots=True)
class TagCount:
    tag: str
    note_count: int


def normalise_folder(folder: str) -> str:
    """Return a folder as paths begin with it: empty for the root, else with a slash at its end."""
    folder = folder.strip().removesuffix("/")
    return "" if folder in ("", ".") else validate_path(folder) + "/"


def list_notes(project_id: UUID, folder: str = "") -> list[NoteEntry]:
    """Return the notes in a folder and below it, by path."""
    rows = _find_below(notes_for(project_id), make_key(normalise_folder(folder))).order_by("key")
    return [NoteEntry(path, title) for path, title in rows.values_list("path", "title")]


def list_folder(project_id: UUID, folder: str = "") -> FolderListing:
    """Return what lies directly in a folder. The database counts what lies deeper, by keys alone:
    they are in an index, and rows are long."""
    prefix = make_key(normalise_folder(folder))
    notes = _find_below(notes_for(project_id), prefix)
    live_files = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    files = _find_below(live_files, prefix)
    note_counts, names = _count_by_child(notes, prefix)
    file_counts, file_names = _count_by_child(files, prefix)
    names = file_names | names
    return FolderListing(
        folder.strip().strip("/"),
        tuple(
            SubfolderEntry(names[child], note_counts.get(child, 0), file_counts.get(child, 0))
            for child in sorted(names)
        ),
        notes.filter(slash=0).order_by("key").only("path", "title"),
        files.filter(slash=0).order_by("key").only("path"),
    )


def _find_below(rows: QuerySet[Any], prefix: str) -> QuerySet[Any]:
    """Return what is in a folder, each with where the first slash of the rest of its key is."""
    if connection.vendor == "sqlite":  # "0" comes after "/", in an index of bytes
        rows = rows.filter(key__gte=prefix)
        rows = rows.filter(key__lt=f"{prefix[:-1]}0") if prefix else rows
    else:
        rows = rows.filter(key__startswith=prefix)
    below: QuerySet[Any] = rows.annotate(slash=StrIndex(Substr("key", len(prefix) + 1), Value("/")))
    return below


def _count_by_child(below: QuerySet[Any], prefix: str) -> tuple[dict[str, int], dict[str, str]]:
    """Return how much is in each folder that is directly there, and its path as it is written."""
    child = Substr("key", 1, F("slash") + len(prefix) - 1)
    folders = below.filter(slash__gt=0).order_by().values("slash", child=child)
    rows = list(folders.values_list("child", Min("key"), Count("pk")))
    names: dict[str, str] = {}
    for start in range(0, len(rows), BATCH_SIZE):
        keys = [first for _, first, _ in rows[start : start + BATCH_SIZE]]
        for path in below.filter(key__in=keys).values_list("path", flat=True):
            name = "/".join(path.split("/")[: prefix.count("/") + 1])
            names[make_key(name)] = name
    return {child: count for child, _, count in rows}, names


def list_recent(project_id: UUID, limit: int) -> list[str]:
    """Return the paths of the notes that were changed last, newest first."""
    rows = notes_for(project_id).order_by("-updated_at", "path")
    return list(rows.values_list("path", flat=True)[:limit])


class TagCounts(Sequence[TagCount]):
    """The tags of a project by name, each with how many notes have it or one below it.

    The database counts those that are asked for. `is_cut` says that there are more than are listed.
    """

    def __init__(self, project_id: UUID) -> None:
        self._tags = NoteTag.objects.filter(project=project_id)
        grouped = self._tags.order_by("key").values_list("key").annotate(Min("tag"))
        rows = list(grouped[: MAX_LISTED_TAGS + 1])
        self._names: dict[str, str] = {}
        self._parents: set[str] = set()
        for key, tag in rows[:MAX_LISTED_TAGS]:
            self._add(key, tag)
        self._keys = sorted(self._names)[:MAX_LISTED_TAGS]
        self.is_cut = max(len(rows), len(self._names)) > MAX_LISTED_TAGS

    def _add(self, key: str, tag: str) -> None:
        """Add a tag, and those above it up to one that is there."""
        self._names[key] = tag
        while "/" in key and key.rpartition("/")[0] not in self._parents:
            key, tag = key.rpartition("/")[0], tag.rpartition("/")[0]
            self._parents.add(key)
            self._names.setdefault(key, tag)

    def __len__(self) -> int:
        return len(self._keys)

    @overload
    def __getitem__(self, wanted: int) -> TagCount: ...
    @overload
    def __getitem__(self, wanted: slice) -> Sequence[TagCount]: ...
    def __getitem__(self, wanted: int | slice) -> TagCount | Sequence[TagCount]:
        if isinstance(wanted, int):
            return self._count([self._keys[wanted]])[0]
        return self._count(self._keys[wanted])

    def _count(self, keys: Sequence[str]) -> list[TagCount]:
        leaves = self._tags.filter(key__in=[key for key in keys if key not in self._parents])
        counts = dict(leaves.order_by().values_list("key").annotate(Count("note", distinct=True)))
        for key in self._parents.intersection(keys):
            below = _select_tagged(self._tags, key)
            counts[key] = below.aggregate(count=Count("note", distinct=True))["count"]
        return [TagCount(self._names[key], counts[key]) for key in keys]


def _select_tagged(tags: QuerySet[NoteTag], key: str) -> QuerySet[NoteTag]:
    """Return the rows of a tag and of those below it; "0" comes after "/" in an index of bytes."""
    if connection.vendor == "sqlite":
        return tags.filter(Q(key=key) | Q(key__gte=f"{key}/", key__lt=f"{key}0"))
    return tags.filter(Q(key=key) | Q(key__startswith=f"{key}/"))


def notes_with_tag(project_id: UUID, tag: str) -> QuerySet[Note]:
    """Return the notes that have a tag or one below it."""
    key = make_key(tag.strip().strip("/").removeprefix("#"))
    tagged = _select_tagged(NoteTag.objects.filter(project=project_id), key)
    return notes_for(project_id).filter(pk__in=tagged.values("note"))
