"""Files of a project: shown and downloaded, uploaded, all of them as a zip."""

import json
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils.http import content_disposition_header
from django.views.decorators.http import require_GET, require_POST

from agents.models import Project
from agents.vault.attachments import get_attachment, iterate_chunks
from agents.vault.author import Author
from agents.vault.errors import NoteRefused, VaultError
from agents.vault.exporter import stream_zip
from agents.vault.notes import get_note
from agents.web.requests import get_user
from agents.web.streaming import stream_download
from chat.library.upload_pieces import take_upload
from chat.library.uploads import DroppedFile, import_dropped, serialize_report
from chat.views.library.helpers import library_page, render_page
from chat.views.library.upload_pieces import take_piece

PICTURE_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", "image/bmp"}
)
"""What a browser may show by itself. An SVG can hold scripts: it is a picture only within a page,
and by itself a download, as everything else is."""
SVG = "image/svg+xml"
MAX_PATHS_CHARS = 200_000


@require_GET
@library_page()
def attachment(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Send the bytes of a file that is not a note."""
    found = get_attachment(project.pk, path)
    is_picture = found.content_type in PICTURE_TYPES
    kind = found.content_type if is_picture or found.content_type == SVG else ""
    name = "" if is_picture else found.path.rpartition("/")[2]
    response: HttpResponse = stream_download(
        iterate_chunks(found), kind or "application/octet-stream", name
    )
    response["Content-Length"] = str(found.size)
    return response


@require_GET
@library_page()
def download_note(request: HttpRequest, project: Project, path: str) -> HttpResponse:
    """Send a note byte for byte, as a file."""
    note = get_note(project.pk, path)
    name = content_disposition_header(True, note.path.rpartition("/")[2]) or ""
    headers = {"Content-Disposition": name}
    return HttpResponse(note.text.encode(), "application/octet-stream", headers=headers)


@require_GET
@library_page()
def download(request: HttpRequest, project: Project) -> HttpResponse:
    """Send everything that is in the project, byte for byte."""
    response: HttpResponse = stream_download(
        stream_zip(project.pk), "application/zip", f"{project.slug}.zip"
    )
    return response


@library_page(writes=True)
def upload(request: HttpRequest, project: Project) -> HttpResponse:
    """Take files or a zip. A script on the page sends some at a time and wants JSON."""
    folder = request.POST.get("folder", request.GET.get("folder", ""))
    context: dict[str, Any] = {"folder": folder}
    if request.method != "POST":
        return render_page(request, project, "chat/library/upload.html", context)
    try:
        report = import_dropped(project.pk, _read_files(request), folder, _get_importer(request))
    except VaultError as error:
        return _answer_refusal(request, project, context, error)
    if _wants_json(request):
        return JsonResponse(serialize_report(report))
    context["report"] = report
    return render_page(request, project, "chat/library/upload.html", context)


@require_POST
@library_page(writes=True)
def upload_piece(request: HttpRequest, project: Project) -> HttpResponse:
    """Take a piece of a large file; with the last one, show what was imported."""
    path, folder = (request.POST.get(name, "") for name in ("path", "folder"))

    def finish(upload_id: UUID, size: int) -> dict[str, Any]:
        with take_upload(get_user(request).pk, upload_id) as place, place.open("rb") as opened:
            dropped = [DroppedFile(path, opened, size)]
            report = import_dropped(project.pk, dropped, folder, _get_importer(request))
        return serialize_report(report)

    return take_piece(request, finish)


def _get_importer(request: HttpRequest) -> Author:
    """Return who uploads: what comes as a file again is compared with what came as one before."""
    return Author.importer(get_user(request).pk)


def _read_files(request: HttpRequest) -> list[DroppedFile]:
    """Return the files, by the paths sent beside them; a form without a script sends none."""
    files = request.FILES.getlist("files")
    paths = _parse_paths(request.POST.get("paths", ""), len(files))
    given = zip(paths or [file.name or "" for file in files], files, strict=True)
    return [DroppedFile(path, file, file.size or 0) for path, file in given]


def _parse_paths(written: str, count: int) -> list[str]:
    if not written:
        return []
    try:
        paths = json.loads(written[:MAX_PATHS_CHARS])
    except (ValueError, RecursionError):
        paths = None
    is_list = isinstance(paths, list) and all(isinstance(path, str) for path in paths)
    if not is_list or len(paths) != count:
        raise NoteRefused("The names of the files did not come with them. Upload them again.")
    # Half a character, which JSON can write, is shown as an escape, and is no path.
    return [path.encode(errors="backslashreplace").decode() for path in paths]


def _answer_refusal(
    request: HttpRequest, project: Project, context: dict[str, Any], error: VaultError
) -> HttpResponse:
    if _wants_json(request):
        return JsonResponse({"error": str(error)}, status=400)
    context["refusal"] = str(error)
    return render_page(request, project, "chat/library/upload.html", context, status=422)


def _wants_json(request: HttpRequest) -> bool:
    return "application/json" in request.headers.get("Accept", "")
