"""What a project's library shows: folders, tags, what changed last."""

from collections import Counter
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Q, QuerySet

from agents.models import Attachment, Note, NoteTag
from agents.vault.notes import notes_for
from agents.vault.paths import make_key, validate_path
from agents.vault.service import NoteEntry


@dataclass(frozen=True, slots=True)
class SubfolderEntry:
    path: str
    note_count: int


@dataclass(frozen=True, slots=True)
class FolderListing:
    """One level of a project: its folders, with how many notes are below, notes and files."""

    folder: str
    folders: tuple[SubfolderEntry, ...]
    notes: tuple[NoteEntry, ...]
    attachments: tuple[str, ...]


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
    prefix = make_key(normalise_folder(folder))
    rows = notes_for(project_id).order_by("key").values_list("key", "path", "title")
    return [NoteEntry(path, title) for key, path, title in rows if key.startswith(prefix)]


def list_folder(project_id: UUID, folder: str = "") -> FolderListing:
    """Return what lies directly in a folder."""
    prefix = make_key(normalise_folder(folder))
    below: Counter[str] = Counter()
    names: dict[str, str] = {}
    notes, files = [], []
    rows = notes_for(project_id).order_by("key").values_list("key", "path", "title")
    for key, path, title in rows:
        if not key.startswith(prefix):
            continue
        if child := _get_child(path, prefix.count("/")):
            names.setdefault(make_key(child), child)
            below[make_key(child)] += 1
        else:
            notes.append(NoteEntry(path, title))
    attachments = Attachment.objects.filter(project=project_id, deleted_at__isnull=True)
    for key, path in attachments.order_by("key").values_list("key", "path"):
        if not key.startswith(prefix):
            continue
        if child := _get_child(path, prefix.count("/")):
            names.setdefault(make_key(child), child)
        else:
            files.append(path)
    folders = (SubfolderEntry(names[key], below[key]) for key in sorted(names))
    return FolderListing(folder.strip().strip("/"), tuple(folders), tuple(notes), tuple(files))


def _get_child(path: str, depth: int) -> str:
    """Return the folder at a depth that a path lies in, empty if it lies above."""
    parts = path.split("/")
    return "/".join(parts[: depth + 1]) if len(parts) > depth + 1 else ""


def list_recent(project_id: UUID, limit: int) -> list[str]:
    """Return the paths of the notes that were changed last, newest first."""
    rows = notes_for(project_id).order_by("-updated_at", "path")
    return list(rows.values_list("path", flat=True)[:limit])


def list_tags(project_id: UUID) -> list[TagCount]:
    """Return the tags of a project, each with how many notes have it or one below it."""
    tagged: dict[str, set[int]] = {}
    names: dict[str, str] = {}
    rows = NoteTag.objects.filter(project=project_id).values_list("tag", "note_id")
    for tag, note_id in rows:
        parts = tag.split("/")
        for length in range(1, len(parts) + 1):
            name = "/".join(parts[:length])
            tagged.setdefault(make_key(name), set()).add(note_id)
            names.setdefault(make_key(name), name)
    return [TagCount(names[key], len(tagged[key])) for key in sorted(tagged)]


def notes_with_tag(project_id: UUID, tag: str) -> QuerySet[Note]:
    """Return the notes that have a tag or one below it."""
    key = make_key(tag.strip().strip("/").removeprefix("#"))
    tagged = NoteTag.objects.filter(Q(key=key) | Q(key__startswith=f"{key}/"), project=project_id)
    return notes_for(project_id).filter(pk__in=tagged.values("note"))
