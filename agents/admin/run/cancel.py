"""Stopping somebody's run, with a reason that they will read."""

import logging
from uuid import UUID

from asgiref.sync import async_to_sync
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.db import DatabaseError
from django.http import HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.utils import timezone

from agents.admin.permissions import CANCEL_PERMISSION, require_permissions
from agents.admin.run.lookup import UnreadableRun, run_or_404
from agents.audit.log import log_action
from agents.core.sanitize import replace_unstorable
from agents.models import AgentRun
from agents.models.audit import AuditEntry
from agents.runtime import RunRefused, get_runtime

logger = logging.getLogger(__name__)

MAX_REASON_LENGTH = 200


def cancel(admin_site: AdminSite, request: HttpRequest, object_id: UUID) -> HttpResponse:
    """Write down who stops it and why, then ask its process to stop, whichever that is."""
    user = require_permissions(request, CANCEL_PERMISSION)
    if request.method != "POST":
        return HttpResponseNotAllowed(["POST"])
    here = redirect("admin:agents_agentrun_change", object_id)
    try:
        run = run_or_404(object_id)
    except UnreadableRun:
        return here
    reason = " ".join(replace_unstorable(request.POST.get("reason", "")).split())
    if run.outcome is not None:
        messages.info(request, "The run had already ended. Nothing was changed.")
        return here
    if problem := _find_problem(reason):
        context = {
            **admin_site.each_context(request),
            "title": "Stop a run",
            "run": run,
            "reason": reason[:1000],
            "problem": problem,
            "max_length": MAX_REASON_LENGTH,
        }
        name = "admin/agents/run/cancel.html"
        return TemplateResponse(request, name, context, status=422)
    try:
        log_action(
            AuditEntry.Verb.CANCEL, by=user, run=run
        )  # why is with the run, where it can be erased
        _stop_run(request, object_id, reason)
    except DatabaseError:
        logger.warning("run %s could not be asked to stop", object_id, exc_info=True)
        messages.error(request, "The database does not answer. Stop it again in a moment.")
    return here


def _find_problem(reason: str) -> str:
    if not reason:
        return "Say why: the person who asked will read it."
    if len(reason) > MAX_REASON_LENGTH:
        return f"At most {MAX_REASON_LENGTH} characters; these are {len(reason):,}."
    return ""


def _stop_run(request: HttpRequest, run_id: UUID, reason: str) -> None:
    try:
        was_going = _request_cancel(run_id, reason)
    except RunRefused as error:
        messages.error(request, str(error))
        return
    if was_going:
        messages.success(request, "The run was asked to stop.")
    else:
        messages.info(request, "The run ended by itself before it could be stopped.")


def _request_cancel(run_id: UUID, reason: str) -> bool:
    """Return whether the run was still going.

    The row comes first: any process reads it, and a run of this one that was told before could
    be closed, for good and without the reason, before its row is written.
    """
    active = AgentRun.objects.filter(pk=run_id, outcome__isnull=True)
    was_going = bool(active.update(cancel_requested_at=timezone.now(), cancel_note=reason))
    try:
        runtime = get_runtime()
    except RuntimeError:  # this process has no runtime
        return was_going
    if was_going:
        async_to_sync(runtime.cancel)(run_id, reason)
    return was_going
