"""What the list shows, as a file: its own permission, recorded before the first byte."""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from asgiref.sync import sync_to_async
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    QueryDict,
    StreamingHttpResponse,
)
from django.utils import timezone
from django.utils.http import urlencode

from agents.admin.runs.export_formats import as_csv, as_json_lines, iter_rows
from agents.audit.log import log_action

FORMATS = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "jsonl": (as_json_lines, "application/jsonl; charset=utf-8"),
}
CHUNK_CHARS = 64 * 1024
"""Characters that are read in one go: the thread of the database is everybody's."""
NON_FILTER_PARAMS = {"o", "p", "_facets", "e"}


def export(model_admin: Any, request: HttpRequest, form: str) -> Any:
    if not request.user.has_perms(["agents.view_agentrun", "agents.export_runs"]):
        raise PermissionDenied
    if form not in FORMATS:
        raise Http404("There are export.csv and export.jsonl.")
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    asked = {name: str(request.GET[name]) for name in request.GET if name not in NON_FILTER_PARAMS}
    try:
        found = _build_changelist(model_admin, request, asked)
    except IncorrectLookupParameters:
        return _build_refusal()
    user = cast(User, request.user)
    log_action("export", by=user, form=form, filters=asked, rows=found.counts.total)
    written, content_type = FORMATS[form]
    name = f"oracle-runs-{timezone.now():%Y-%m-%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    pieces = _iter_chunks(written(iter_rows(found.queryset)))
    return StreamingHttpResponse(pieces, content_type=content_type, headers=headers)


def _build_changelist(model_admin: Any, request: HttpRequest, asked: dict[str, str]) -> Any:
    """The list as it would be shown: an export of everything, because of a mistyped filter, would
    be worse than none."""
    if set(asked) - model_admin.allowed_parameters():
        raise IncorrectLookupParameters
    chosen: Any = QueryDict(urlencode(asked))
    request.GET = chosen
    return model_admin.get_changelist_instance(request)


def _build_refusal() -> HttpResponse:
    text = "Something in the address is no filter of the list. Nothing was exported.\n"
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")


async def _iter_chunks(pieces: Iterator[str]) -> AsyncIterator[str]:
    def read_chunk() -> str:
        taken: list[str] = []
        size = 0
        while size < CHUNK_CHARS and (piece := next(pieces, None)) is not None:
            taken.append(piece)
            size += len(piece)
        return "".join(taken)

    while text := await sync_to_async(read_chunk)():
        yield text
