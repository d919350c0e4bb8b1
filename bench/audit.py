"""`python -m bench.audit`: the audit's pages at many runs, as multiples of the same at few.

Two sites of generated runs, twenty events each; the whole of a request through the middleware,
asked in turns, medians of five. The machine is noisy, a ratio within one run is not.
"""

import argparse
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from agents.models import AgentRun, Project
from bench.audit_rows import generate

SMALL_SITE, LARGE_SITE = 2_000, 200_000
LIST_URL = "/admin/agents/agentrun/"
MAX_LIST_RATIO, MAX_FULL_RATIO = 3.0, 10.0


@dataclass
class GeneratedSite:
    """A database of generated runs, and a browser in which an administrator is signed in."""

    runs: int
    path: Path
    client: Client = field(default_factory=Client)
    pages: dict[str, str] = field(default_factory=dict)
    times_ms: dict[str, list[float]] = field(default_factory=dict)
    queries: dict[str, int] = field(default_factory=dict)

    def activate(self) -> None:
        connection.close()
        connection.settings_dict["NAME"] = str(self.path)

    def build(self) -> None:
        self.activate()
        call_command("migrate", verbosity=0)
        began = time.monotonic()
        generate(self.runs)
        said = f"{self.runs:,} runs generated in {time.monotonic() - began:.0f} s"
        print(f"{said}, {self.path.stat().st_size / 1e6:,.0f} MB", file=sys.stderr)
        self.client.force_login(User.objects.create_superuser("ada"))
        self.pages = dict(list_pages())

    def measure_page(self, name: str) -> None:
        """Once, and remember the milliseconds."""
        self.activate()
        connection.ensure_connection()
        began = time.perf_counter()
        answer = self.client.get(self.pages[name], secure=True)
        milliseconds = (time.perf_counter() - began) * 1e3
        assert answer.status_code == 200, (name, answer.status_code, answer.headers)
        self.times_ms.setdefault(name, []).append(milliseconds)

    def count_queries(self, name: str) -> None:
        self.activate()
        with CaptureQueriesContext(connection) as captured:
            self.client.get(self.pages[name], secure=True)
        self.queries[name] = len(captured)

    def median_ms(self, name: str) -> float:
        return statistics.median(self.times_ms[name])


def list_pages() -> Iterator[tuple[str, str]]:
    """Each address that is measured, of the site in use."""
    run = AgentRun.objects.exclude(outcome=None).order_by("-started_at")[5]
    month = datetime.now(UTC) - timedelta(days=40)
    filters = {
        "outcome": "failed", "outcome=running": "running", "reason": "timeout",
        "reason=completed": "completed", "user": str(run.user_id), "model": "model-1",
        "tree": "quick", "project": str(Project.objects.all()[0].pk), "when": "7",
        "when=month": f"{month:%Y-%m}", "when=day": f"{month:%Y-%m-%d}",
    }  # fmt: skip
    yield "list", LIST_URL
    for name, value in filters.items():
        yield f"list, {name}", f"{LIST_URL}?{name.partition('=')[0]}={value}"
    yield "list, three filters", f"{LIST_URL}?model=model-1&tree=quick&outcome=limited"
    yield "list, search user", f"{LIST_URL}?q=person07"
    yield "list, search id", f"{LIST_URL}?q={str(run.pk)[:8]}"
    yield "list, second page", f"{LIST_URL}?p=2"
    yield "list, last page", f"{LIST_URL}?p={-(-AgentRun.objects.count() // 50)}"
    yield "facets", f"{LIST_URL}?_facets=True"
    yield "facets, filtered", f"{LIST_URL}?_facets=True&tree=quick"
    yield "models of all runs", f"{LIST_URL}?charts=all"
    yield "run page", f"{LIST_URL}{run.pk}/change/"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=LARGE_SITE)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    settings.ALLOWED_HOSTS = ["testserver"]
    call_command("collectstatic", interactive=False, verbosity=0)
    with tempfile.TemporaryDirectory(prefix="oracle-audit-") as folder:
        few, many = (
            GeneratedSite(n, Path(folder) / f"{n}.sqlite3") for n in (SMALL_SITE, options.runs)
        )
        for site in (few, many):
            site.build()
        for name in few.pages:
            for number in range(options.rounds + 1):
                for site in (few, many):
                    site.measure_page(name) if number else site.count_queries(
                        name
                    )  # the first one warms up
        over = report(few, many)
        connection.close()
    return int(over > 0)


def report(few: GeneratedSite, many: GeneratedSite) -> int:
    """How many pages grew more than they may."""
    over = 0
    print(f"{'page':24} {few.runs:>9,} {many.runs:>9,}  ratio  allowed  queries")
    for name in few.pages:
        ratio = many.median_ms(name) / few.median_ms(name)
        allowed = MAX_FULL_RATIO if name.startswith(("facets", "models")) else MAX_LIST_RATIO
        over += ratio > allowed
        row = f"{name:24} {few.median_ms(name):6.1f} ms {many.median_ms(name):6.1f} ms {ratio:6.2f}"
        print(f"{row} {allowed:8.0f}  {few.queries[name]:3} {many.queries[name]:3}")
    print("charts of the newest runs are part of every list; server time, medians")
    return over


if __name__ == "__main__":
    sys.exit(main())
