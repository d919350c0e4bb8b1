"""What the list shows, as a file: its own permission, recorded before the first byte."""

from typing import Any, cast

from django.contrib.auth.models import User
from django.core.exceptions import PermissionDenied
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
)
from django.utils import timezone

from agents.admin.filtered_list import InvalidFilter, build_filtered_list, get_filters
from agents.admin.runs.export_formats import as_csv, as_json_lines, iter_rows
from agents.audit.log import log_action
from agents.web.streaming import stream_download

FORMATS = {
    "csv": (as_csv, "text/csv; charset=utf-8"),
    "jsonl": (as_json_lines, "application/jsonl; charset=utf-8"),
}


def export(model_admin: Any, request: HttpRequest, form: str) -> Any:
    if not request.user.has_perms(["agents.view_agentrun", "agents.export_runs"]):
        raise PermissionDenied
    if form not in FORMATS:
        raise Http404("There are export.csv and export.jsonl.")
    if request.method != "GET":
        return HttpResponseNotAllowed(["GET"])
    asked = get_filters(request)
    try:
        found = build_filtered_list(model_admin, request, asked)
    except InvalidFilter:
        return _build_refusal()
    user = cast(User, request.user)
    log_action("export", by=user, form=form, filters=asked, rows=found.counts.total)
    written, content_type = FORMATS[form]
    name = f"oracle-runs-{timezone.now():%Y-%m-%d-%H%M}.{form}"
    return stream_download(written(iter_rows(found.queryset)), content_type, name)


def _build_refusal() -> HttpResponse:
    text = "This URL contains an unknown filter. Nothing was exported.\n"
    return HttpResponse(text, status=400, content_type="text/plain; charset=utf-8")
