"""`python -m bench.threads`: search and reading in threads, beside bare FTS5.

By default 1,000 threads with 100,000 entries in 50 projects, as many texts as `bench.search` has;
`--threads 10000 --entries 1000000` is the size that is promised. With `--postgresql` on a
PostgreSQL that is started for it, beside its own text search.
"""

import argparse
import random
import statistics
import sys
from http import HTTPStatus
from itertools import accumulate
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db import transaction
from django.test import Client

from agents.models import Project
from agents.search.index import SearchableText
from agents.vault.author import Author
from agents.vault.project_threads import ProjectThreads
from agents.vault.threads import Kind, NewEntry, push_entries, push_entry
from bench.search import (
    MAX_FIND_RATIO,
    MAX_RANK_MS,
    PROJECTS,
    SHAPES,
    VOCABULARY,
    Bare,
    create_bare,
    create_project,
    get_p95,
    list_queries,
    measure_ms,
    measure_seconds,
    name_word,
    report_finding,
    report_ranking,
    run_on_postgresql,
    tidy_up,
)

WORDS_PER_ENTRY = 25
READ_LIMIT = 50
POOL = 50_000
"""Different texts; a thread takes some of them."""
BATCH_THREADS = 100
"""Threads that are written in one transaction."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1_000)
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100, help="of each shape")
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    if options.postgresql:
        numbers = {name: getattr(options, name) for name in ("threads", "entries", "queries")}
        return run_on_postgresql("bench.threads", *(f"--{n}={v}" for n, v in numbers.items()))
    call_command("migrate", verbosity=0)
    call_command("collectstatic", interactive=False, verbosity=0)
    projects = [create_project(number) for number in range(PROJECTS)]
    bare = create_bare()
    fill(projects, options.threads, options.entries // options.threads, bare)
    tidy_up()
    ratios = [report_finding(shape, bare, projects, options.queries, "thread") for shape in SHAPES]
    ranking = report_ranking(projects, options.queries, "thread")
    print(f"finding: p95 at most {max(ratios):.2f} times a bare match; bound {MAX_FIND_RATIO:.0f}")
    print(f"ranking: p95 {ranking:.1f} ms of CPU; bound {MAX_RANK_MS:.0f}")
    report_use(projects, options.threads, options.queries)
    report_pages(projects, options.queries)
    return 0


def fill(projects: list[UUID], threads: int, entries: int, bare: Bare) -> None:
    """Write threads as an import does, and the same texts into a bare table."""
    chance = random.Random(16)
    pool = generate_texts(chance)
    ours = floor = 0.0
    for start in range(0, threads, BATCH_THREADS):
        written = {
            number: chance.choices(pool, k=entries)
            for number in range(start, min(threads, start + BATCH_THREADS))
        }
        ours += measure_seconds(lambda: push_threads(projects, written))  # noqa: B023  # called at once
        rows = [
            (
                projects[number % len(projects)],
                SearchableText("thread", 0, "", f"thread {number}", "", text),
            )
            for number, texts in written.items()
            for text in texts
        ]
        floor += measure_seconds(lambda: bare.index(rows))  # noqa: B023  # the same
    print(
        f"{threads:,} threads with {threads * entries:,} entries: {ours:.1f} s of CPU,"
        f" bare {floor:.1f} s, ratio {ours / floor:.1f}"
    )


def generate_texts(chance: random.Random) -> list[str]:
    """Return texts in words that are as unevenly frequent as those of a language."""
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    words = [name_word(rank) for rank in range(VOCABULARY)]
    return [
        " ".join(chance.choices(words, cum_weights=weights, k=WORDS_PER_ENTRY)) for _ in range(POOL)
    ]


def push_threads(projects: list[UUID], written: dict[int, list[str]]) -> None:
    with transaction.atomic():
        for number, texts in written.items():
            new = [NewEntry(text, Kind.values[place % 4]) for place, text in enumerate(texts)]
            project = projects[number % len(projects)]
            push_entries(project, f"thread {number}", new, Author.importer())


def report_use(projects: list[UUID], threads: int, count: int) -> None:
    """Print what the tools cost: seek, read, list and push."""
    spent: dict[str, list[float]] = {"seek": [], "read": [], "list": [], "push": []}
    queries = list_queries("middling", count)
    for number in range(count):
        place = number % min(threads, len(projects))
        project, name = projects[place], f"thread {place}"
        service = ProjectThreads(project)
        phrasings = [" ".join(words) for words in queries[number : number + 2]]
        entry = NewEntry(phrasings[0], "decision")
        spent["seek"].append(measure_ms(lambda: service.search(phrasings, 5)))  # noqa: B023  # called at once
        spent["read"].append(measure_ms(lambda: service.read(name, READ_LIMIT)))  # noqa: B023  # the same
        spent["list"].append(measure_ms(lambda: service.list("active", 100)))  # noqa: B023  # the same
        spent["push"].append(
            measure_ms(lambda: push_entry(project, name, entry, Author.importer()))  # noqa: B023  # the same
        )
    for what, values in spent.items():
        report(what, values)


def report_pages(projects: list[UUID], count: int) -> None:
    """Print what the pages of the library cost, as whole requests of a member."""
    settings.ALLOWED_HOSTS = ["testserver"]
    ada, client = User.objects.create_user("ada"), Client()
    client.force_login(ada)
    spent: dict[str, list[float]] = {"list page": [], "a thread's page": [], "search page": []}
    queries = list_queries("middling", count)
    for number in range(count):
        place = number % len(projects)
        Project.objects.get(pk=projects[place]).members.add(ada)
        library = f"/library/project-{place}"
        words = "+".join(queries[number])
        addresses = ("threads/", f"threads/thread%20{place}/", f"search/?type=thread&q={words}")
        for name, address in zip(spent, addresses, strict=True):
            url = f"{library}/{address}"
            spent[name].append(measure_ms(lambda: read_page(client, url)))  # noqa: B023  # called at once
    for what, values in spent.items():
        report(what, values[1:])  # the first one warms up


def read_page(client: Client, url: str) -> None:
    status = client.get(url, secure=True).status_code
    if status != HTTPStatus.OK:
        raise RuntimeError(f"{url} was answered {status}")


def report(what: str, values: list[float]) -> None:
    p50, p95 = statistics.median(values), get_p95(values)
    print(f"{what:16} p50 {p50:6.2f} ms, p95 {p95:6.2f}")


if __name__ == "__main__":
    sys.exit(main())
