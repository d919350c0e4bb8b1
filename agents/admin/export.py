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

from agents.audit.rows import as_csv, as_json_lines, rows
from agents.models.audit import record

FORMS = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "jsonl": (as_json_lines, "application/jsonl; charset=utf-8"),
}
SIP = 64 * 1024
"""Characters that are read in one go: the thread of the database is everybody's."""
NOT_FILTERS = {"o", "p", "_facets", "e"}


def export(model_admin: Any, request: HttpRequest, form: str) -> Any:
    if not request.user.has_perms(["agents.view_agentrun", "agents.export_runs"]):
        raise PermissionDenied
    if form not in FORMS:
        raise Http404("There are export.csv and export.jsonl.")
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    asked = {name: str(request.GET[name]) for name in request.GET if name not in NOT_FILTERS}
    try:
        found = _chosen(model_admin, request, asked)
    except IncorrectLookupParameters:
        return _refusal()
    user = cast(User, request.user)
    record("export", by=user, form=form, filters=asked, rows=found.counts.total)
    written, content_type = FORMS[form]
    name = f"oracle-runs-{timezone.now():%Y-%m-%d-%H%M}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    pieces = _sips(written(rows(found.queryset)))
    return StreamingHttpResponse(pieces, content_type=content_type, headers=headers)


def _chosen(model_admin: Any, request: HttpRequest, asked: dict[str, str]) -> Any:
    """The list as it would be shown: an export of everything, because of a mistyped filter, would
    be worse than none."""
    if set(asked) - model_admin.parameters():
        raise IncorrectLookupParameters
    chosen: Any = QueryDict(urlencode(asked))
    request.GET = chosen
    return model_admin.get_changelist_instance(request)


def _refusal() -> HttpResponse:
    text = "Something in the address is no filter of the list. Nothing was exported.\n"
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")


async def _sips(pieces: Iterator[str]) -> AsyncIterator[str]:
    def sip() -> str:
        taken: list[str] = []
        size = 0
        while size < SIP and (piece := next(pieces, None)) is not None:
            taken.append(piece)
            size += len(piece)
        return "".join(taken)

    while text := await sync_to_async(sip)():
        yield text
