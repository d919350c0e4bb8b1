"""For load balancers and supervisors: is the process alive, and may it get work."""

from django.db import Error, connection
from django.http import HttpRequest, HttpResponse

from agents.runtime.home import home


def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers. Says nothing about the database."""
    return _plain("ok")


def readyz(request: HttpRequest) -> HttpResponse:
    """The process can take runs: its database answers, and it is not stopping."""
    try:
        trouble = home().trouble
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except RuntimeError:
        trouble = "this process is no home to runs"
    except Error:
        trouble = "the database does not answer"
    return _plain(trouble or "ready", status=503 if trouble else 200)


def _plain(text: str, status: int = 200) -> HttpResponse:
    return HttpResponse(text, content_type="text/plain", status=status)
