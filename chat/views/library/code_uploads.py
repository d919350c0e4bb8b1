"""Code that people bring in: uploads, what came of them, and taking it away again."""

from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_POST

from agents.code.checkouts import remove_checkout
from agents.code.listing import find_checkout, get_checkout
from agents.code.service import CodeError, CodeRefused
from agents.models import Project
from agents.vault.errors import VaultError
from agents.web.requests import get_user
from chat.library.code_report import list_report_parts
from chat.library.code_uploads import get_progress, import_uploaded, store_upload
from chat.library.upload_pieces import take_upload
from chat.views.library.helpers import clean, library_page, render_page
from chat.views.library.upload_pieces import NOT_AN_UPLOAD, refuse_upload, take_piece


@library_page(writes=True)
def upload(request: HttpRequest, project: Project) -> HttpResponse:
    """Take a zip of code in one request; a script on the page sends it in pieces."""
    folder = clean(request.POST.get("folder", request.GET.get("folder", "")))
    context: dict[str, Any] = {"part": "code", "into": folder}
    sent = request.FILES.get("files")
    if request.method == "POST":
        try:
            if sent is None:
                raise CodeRefused("Choose a zip first.")
            place = store_upload(get_user(request).pk, sent)
            _import(request, project, place, sent.name or "", uuid4())
            return redirect(_get_report_address(project, folder))
        except (CodeError, VaultError) as error:
            context["refusal"] = str(error)
    status = 422 if "refusal" in context else 200
    return render_page(request, project, "chat/library/code/upload.html", context, status)


@require_POST
@library_page(writes=True)
def upload_piece(request: HttpRequest, project: Project) -> HttpResponse:
    """Take a piece of a zip; with the last one, read it and say where the report is."""

    def finish(upload_id: UUID, size: int) -> dict[str, Any]:
        with take_upload(get_user(request).pk, upload_id) as place:
            _import(request, project, place, request.POST.get("path", ""), upload_id)
        return {"report": _get_report_address(project, _get_folder(request))}

    return take_piece(request, finish)


def _import(
    request: HttpRequest, project: Project, place: Path, name: str, upload_id: UUID
) -> None:
    user_id = get_user(request).pk
    import_uploaded(project.pk, user_id, place, name, _get_folder(request), upload_id)


def _get_folder(request: HttpRequest) -> str:
    return clean(request.POST.get("folder", "")).strip("/")


def _get_report_address(project: Project, folder: str) -> str:
    checkout = find_checkout(project.pk, folder.strip("/"))
    return reverse("library-code-checkout", args=[project.slug, checkout.pk])


@require_GET
@library_page(writes=True)
def upload_progress(request: HttpRequest, project: Project) -> HttpResponse:
    """Say how far the reading of an upload is."""
    try:
        found = get_progress(get_user(request).pk, UUID(request.GET.get("id", "")))
    except ValueError:
        return refuse_upload(NOT_AN_UPLOAD)
    done, total = found or (0, 0)
    return JsonResponse({"done": done, "total": total})


@require_GET
@library_page()
def checkout(request: HttpRequest, project: Project, checkout_id: int) -> HttpResponse:
    """Show what came of the last reading of a checkout."""
    shown = get_checkout(project.pk, checkout_id)
    context = {
        "part": "code",
        "checkout": shown,
        "report": shown.report,
        "parts": list_report_parts(shown.report),
    }
    return render_page(request, project, "chat/library/code/checkout.html", context)


@require_POST
@library_page(writes=True)
def remove(request: HttpRequest, project: Project, checkout_id: int) -> HttpResponse:
    """Take a checkout with all its files out of the project."""
    gone = get_checkout(project.pk, checkout_id)
    count = remove_checkout(gone, user_id=get_user(request).pk)
    name = gone.origin or gone.folder or "The code"
    messages.success(request, f"{name} was removed: {count} file{'' if count == 1 else 's'}.")
    return redirect("library-code", project.slug)
