"""What a project's code consists of, for pages: folders level by level, files, checkouts."""

from dataclasses import dataclass
from uuid import UUID

from django.db import connection
from django.db.models import Count, F, QuerySet, Value
from django.db.models.functions import Left, StrIndex, Substr

from agents.code.service import CodeUnavailable
from agents.models import CodeCheckout, CodeFile


@dataclass(frozen=True, slots=True)
class CodeFolder:
    path: str
    file_count: int
    """Of all files below it."""

    @property
    def name(self) -> str:
        return self.path.rpartition("/")[2]


def has_code(project_id: UUID) -> bool:
    """Return whether anything of a project's code can be found."""
    return CodeFile.objects.filter(project=project_id).exists()


def get_code_file(project_id: UUID, path: str) -> CodeFile:
    """Return a file with its text."""
    found = find_code_file(project_id, path)
    if found is None:
        raise CodeUnavailable(f"There is no code {path!r} in this project.")
    return found


def find_code_file(project_id: UUID, path: str) -> CodeFile | None:
    files = CodeFile.objects.filter(project=project_id, path=path)
    return files.first() if "\0" not in path else None


def list_folders(project_id: UUID, folder: str) -> list[CodeFolder]:
    """Return the folders directly in a folder, by name. The database counts what is below."""
    prefix = f"{folder}/" if folder else ""
    below = files_below(project_id, folder).annotate(slash=_find_slash(prefix))
    names = below.filter(slash__gt=0).annotate(below=Left("path", F("slash") + len(prefix) - 1))
    counted = names.values_list("below").annotate(Count("pk")).order_by("below")
    return [CodeFolder(name, count) for name, count in counted]


def files_in(project_id: UUID, folder: str) -> QuerySet[CodeFile]:
    """Return the files directly in a folder, by name and without their text."""
    prefix = f"{folder}/" if folder else ""
    below = files_below(project_id, folder).annotate(slash=_find_slash(prefix))
    return below.filter(slash=0).defer("text", "references", "imports").order_by("path")


def _find_slash(prefix: str) -> StrIndex:
    return StrIndex(Substr("path", len(prefix) + 1), Value("/"))


def files_below(project_id: UUID, folder: str) -> QuerySet[CodeFile]:
    """Return the files in a folder and below it; empty is the root."""
    files = CodeFile.objects.filter(project=project_id)
    if not folder:
        return files
    if connection.vendor == "sqlite":  # its LIKE looks at every path; "0" comes after "/"
        return files.filter(path__gte=f"{folder}/", path__lt=f"{folder}0")
    return files.filter(path__startswith=f"{folder}/")


def checkouts_for(project_id: UUID) -> QuerySet[CodeCheckout]:
    """Return what was read into a project's code, by folder."""
    return CodeCheckout.objects.filter(project=project_id).select_related("user").order_by("folder")


def find_checkout(project_id: UUID, folder: str) -> CodeCheckout:
    """Return what was read into a folder."""
    found = checkouts_for(project_id).filter(folder=folder).first()
    if found is None:
        raise CodeUnavailable("Nothing was read into this folder.")
    return found


def get_checkout(project_id: UUID, checkout_id: int) -> CodeCheckout:
    found = checkouts_for(project_id).filter(pk=checkout_id).first()
    if found is None:
        raise CodeUnavailable("This project has no such checkout.")
    return found
