"""`python -m bench.settings`: the CPU of a save as a multiple of an empty authenticated view.

Both take turns in one process, through the whole of the site's middleware, as a request of a
browser does. The machine is noisy, a ratio of medians within one run is not.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from urllib.parse import urlencode

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.contrib.auth.models import User
from django.core.management import call_command
from django.http import HttpRequest, HttpResponse
from django.test import Client
from django.urls import path

from agents.core.config import LIMITS
from oracle_site.urls import urlpatterns as site_urls

MAX_RATIO = 3.0
WARM_UP = 30
SAVE_URL = "/settings/limits/max_iterations/"
HTMX = {"HX-Request": "true"}


@login_required
def empty(request: HttpRequest) -> HttpResponse:
    return HttpResponse()


urlpatterns = [path("empty/", empty), *site_urls]
"""The site, and an address that does nothing."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--saves", type=int, default=300)
    saves = parser.parse_args().saves
    call_command("migrate", verbosity=0)
    settings.ROOT_URLCONF = __name__
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client(enforce_csrf_checks=True)
    client.force_login(User.objects.create_user("ada"))
    client.get(SAVE_URL, secure=True, headers=HTMX)  # for the cookie of the token
    nothing, saving = measure(client, saves)
    ratio = saving / nothing
    print(f"an empty view {nothing:.2f} ms, a save {saving:.2f} ms of CPU (medians of {saves})")
    print(f"a save costs {ratio:.2f} times an empty authenticated view; promised: {MAX_RATIO:.0f}")
    return 0


def measure(client: Client, saves: int) -> tuple[float, float]:
    """Milliseconds of an empty view and of a save that stores something, in turn."""
    limit = LIMITS["max_iterations"]
    taken: dict[str, list[float]] = {"empty": [], "save": []}
    for number in range(WARM_UP + saves):
        values = (limit.minimum + number % 2, limit.minimum + (number + 1) % 2)
        seen, value = (str(limit.default) if number == 0 else str(values[0])), str(values[1])
        taken["empty"].append(measure_cpu_ms(lambda: client.get("/empty/", secure=True)))
        taken["save"].append(measure_cpu_ms(lambda v=value, s=seen: save(client, v, s)))  # type: ignore[misc]
    nothing, saving = (statistics.median(times[WARM_UP:]) for times in taken.values())
    return nothing, saving


def save(client: Client, value: str, seen: str) -> None:
    """As htmx sends it."""
    token = client.cookies["csrftoken"].value
    given = urlencode({"csrfmiddlewaretoken": token, "value": value, "seen": seen})
    answer = client.post(
        SAVE_URL,
        given,
        content_type="application/x-www-form-urlencoded",
        secure=True,
        headers={**HTMX, "Referer": "https://testserver/settings/"},
    )
    assert answer.status_code == 200, answer.content


def measure_cpu_ms(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return (time.process_time() - began) * 1e3


if __name__ == "__main__":
    sys.exit(main())
