"""For load balancers and supervisors: is the process alive, and may it get work."""

from django.http import HttpRequest, HttpResponse

from agents.runtime import get_runtime
from oracle_site.write_probe import write_probe


def healthz(request: HttpRequest) -> HttpResponse:
    """Answer that the process lives. Says nothing about the database."""
    return _plain_response("ok")


def readyz(request: HttpRequest) -> HttpResponse:
    """Answer whether the process can take runs: it is not stopping, and can write."""
    try:
        trouble = get_runtime().not_ready_reason or write_probe.find_problem()
    except RuntimeError:
        trouble = "this process has no runtime"
    response = _plain_response(trouble or "ready", status=503 if trouble else 200)
    response._has_been_logged = True  # type: ignore[attr-defined]  # a probe asks every few seconds
    return response


def _plain_response(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, content_type="text/plain", status=status)
