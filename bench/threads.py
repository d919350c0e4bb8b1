"""`python -m bench.threads`: search and reading in threads, beside bare FTS5.

By default 100 threads with 10,000 entries in 50 projects, of which seek and read are measured as
those of notes are; `--threads 10000 --entries 1000000` is the size that is promised.
"""

import argparse
import random
import statistics
import sys
from itertools import accumulate
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.core.management import call_command

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
    BareSqlite,
    create_project,
    get_p95,
    list_queries,
    measure_ms,
    measure_seconds,
    name_word,
    report_finding,
    report_ranking,
)

WORDS_PER_ENTRY = 25
READ_LIMIT = 50


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=100)
    parser.add_argument("--entries", type=int, default=10_000)
    parser.add_argument("--queries", type=int, default=100, help="of each shape")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    projects = [create_project(number) for number in range(PROJECTS)]
    bare = BareSqlite()
    fill(projects, options.threads, options.entries // options.threads, bare)
    ratios = [report_finding(shape, bare, projects, options.queries, "thread") for shape in SHAPES]
    ranking = report_ranking(projects, options.queries, "thread")
    print(f"finding: p95 at most {max(ratios):.2f} times a bare match; bound {MAX_FIND_RATIO:.0f}")
    print(f"ranking: p95 {ranking:.1f} ms of CPU; bound {MAX_RANK_MS:.0f}")
    report_use(projects, options.threads, options.queries)
    return 0


def fill(projects: list[UUID], threads: int, entries: int, bare: BareSqlite) -> None:
    """Write threads as an import does, and the same texts into a bare table."""
    chance = random.Random(16)
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    words = [name_word(rank) for rank in range(VOCABULARY)]
    ours = floor = 0.0
    for number in range(threads):
        project, name = projects[number % len(projects)], f"thread {number}"
        picked = chance.choices(words, cum_weights=weights, k=entries * WORDS_PER_ENTRY)
        texts = [
            " ".join(picked[start : start + WORDS_PER_ENTRY])
            for start in range(0, len(picked), WORDS_PER_ENTRY)
        ]
        new = [NewEntry(text, Kind.values[place % 4]) for place, text in enumerate(texts)]
        ours += measure_seconds(lambda: push_entries(project, name, new, Author.importer()))  # noqa: B023  # called at once
        rows = [(project, SearchableText("thread", 0, name, name, "", text)) for text in texts]
        floor += measure_seconds(lambda: bare.index(rows))  # noqa: B023  # the same
    print(
        f"{threads:,} threads with {threads * entries:,} entries: {ours:.1f} s of CPU,"
        f" bare {floor:.1f} s, ratio {ours / floor:.1f}"
    )


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
        print(f"{what:9} p50 {statistics.median(values):6.2f} ms of CPU, p95 {get_p95(values):.2f}")


if __name__ == "__main__":
    sys.exit(main())
