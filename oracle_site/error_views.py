"""What is answered when something breaks: a fault of ours, or a database that cannot be used."""

import logging
import sys

from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.views import defaults
from django_htmx.middleware import HtmxDetails

from agents.ledger import describe_database_error

logger = logging.getLogger(__name__)
RETRY_SECONDS = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer 503 and say what is the matter with the database, if that is it; 500 otherwise."""
    error = sys.exception()
    if not (trouble := describe_database_error(error)):
        return defaults.server_error(request)
    logger.warning(
        "%s %s could not be answered: %s (%s)", request.method, request.path, trouble, error
    )
    # Not request.htmx: a database fails in sessions too, before that middleware has run.
    response = unavailable_response(trouble, is_page=not HtmxDetails(request))
    response._has_been_logged = True  # type: ignore[attr-defined]  # else Django adds a traceback
    return response


def unavailable_response(
    why: str, *, is_page: bool = True, seconds: int = RETRY_SECONDS
) -> HttpResponse:
    """Build an answer that says why there is no other; a sentence where a page is not wanted."""
    body = render_to_string("503.html", {"why": why}) if is_page else f"{why} Try again later."
    kind = "text/html" if is_page else "text/plain"
    headers = {"Retry-After": str(seconds)}
    return HttpResponse(body, f"{kind}; charset=utf-8", 503, headers=headers)
