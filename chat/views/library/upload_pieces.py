"""Uploads that a script of a page sends in pieces: of notes and of code."""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.http import HttpRequest, JsonResponse

from agents.code.service import CodeError
from agents.vault.errors import VaultError
from agents.web.requests import get_user
from chat.library.upload_pieces import append_piece
from chat.views.library.helpers import parse_number

NOT_AN_UPLOAD = "This is not an upload."
Finish = Callable[[UUID, int], dict[str, Any]]


def take_piece(request: HttpRequest, finish: Finish) -> JsonResponse:
    """Keep a piece; with the last one, send what `finish` says, which is given the upload's id and
    size."""
    piece = request.FILES.get("piece")
    try:
        upload_id = UUID(request.POST.get("id", ""))
        data = piece.read() if piece else b""
        offset = parse_number(request.POST.get("offset"))
        size = append_piece(get_user(request).pk, upload_id, offset, data)
        is_last = request.POST.get("last") == "yes"
        return JsonResponse(finish(upload_id, size) if is_last else {"size": size})
    except ValueError:
        return refuse_upload(NOT_AN_UPLOAD)
    except (CodeError, VaultError) as error:
        return refuse_upload(str(error))


def refuse_upload(why: str) -> JsonResponse:
    return JsonResponse({"error": why}, status=400)
