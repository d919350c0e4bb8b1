"""Find the run that a page of the admin is about."""

from datetime import datetime
from uuid import UUID

from django.contrib.admin.utils import unquote
from django.http import Http404

from agents.audit.event_codec import READ_ERRORS
from agents.models import AgentRun

CONTENT_FIELDS = ("question", "answer", "explanation", "context_runs", "digests")
"""What a page of metadata has no business with."""


class UnreadableRun(Exception):
    """There is such a run, but its row is damaged."""


def parse_run_id(object_id: str | UUID) -> UUID:
    """Return the id of a run as an address has it."""
    try:
        return object_id if isinstance(object_id, UUID) else UUID(unquote(object_id))
    except ValueError:
        raise Http404("There is no such run.") from None


def run_or_404(object_id: str | UUID) -> AgentRun:
    """Return the run without what was said in it."""
    key = parse_run_id(object_id)
    try:
        found = (
            AgentRun.objects.select_related("user", "project").defer(*CONTENT_FIELDS).filter(pk=key)
        )
        run = found.first()
    except READ_ERRORS:
        raise UnreadableRun from None
    if run is None:
        raise Http404("There is no such run.")
    started: object = run.started_at
    if not isinstance(started, datetime):  # SQLite keeps what is no time as nothing
        raise UnreadableRun
    return run
