"""`python -m bench.search`: search over 100,000 notes in 50 projects, beside bare FTS5.

Finding candidates in one project is compared with one bare MATCH of the same words over a plain
FTS5 table of the same notes, in turns within one run. With `--postgresql` the same shapes run
there, beside a bare match of its own text search.
"""

import argparse
import random
import sqlite3
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from itertools import accumulate
from uuid import UUID

# Imported first: it sets Django up.
import bench.site  # noqa: F401  # isort: skip
from django.core.management import call_command
from django.db import connection, transaction

from agents.models import Project
from agents.search.analysis import parse_query
from agents.search.candidates import load_documents, load_sections
from agents.search.finders import DOCUMENTS, SECTIONS, Place, get_finder
from agents.search.index import SearchableText, get_scope, index_documents
from agents.search.query_terms import QueryTerms, get_count_limit, list_terms, weigh_terms
from agents.search.ranking import MeanLengths, Ranking
from agents.search.search import search

PROJECTS = 50
VOCABULARY = 40_000
WORDS_PER_NOTE = 80
MAX_FIND_RATIO = 4.0
MAX_RANK_MS = 40.0
SHAPES = {
    "rare": (2_000, 20_000),
    "middling": (200, 2_000),
    "common": (5, 60),
    "mixed": (5, 20_000),
}
"""Three words of each query, by their places in the list of words from the most frequent on."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=int, default=100_000)
    parser.add_argument("--queries", type=int, default=100, help="of each shape")
    options = parser.parse_args()
    call_command("migrate", verbosity=0)
    projects = [Project.objects.create(name=f"project {n}").pk for n in range(PROJECTS)]
    ours = measure_cpu(lambda: index_notes(projects, options.notes))
    bare = sqlite3.connect(
        ":memory:" if connection.vendor != "sqlite" else f"{database_path()}.bare"
    )
    floor = measure_cpu(lambda: index_bare(bare, projects, options.notes))
    print(
        f"index of {options.notes:,} notes: {ours:.1f} s, bare FTS5 {floor:.1f} s of CPU,"
        f" ratio {ours / floor:.1f}"
    )
    ratios = [report_finding(shape, bare, projects, options.queries) for shape in SHAPES]
    ranking = report_ranking(projects, options.queries)
    print(
        f"finding: p95 at most {max(ratios):.2f} times a bare MATCH; promised: {MAX_FIND_RATIO:.0f}"
    )
    print(f"ranking: p95 {ranking:.1f} ms of CPU; promised: {MAX_RANK_MS:.0f}")
    return 0


def database_path() -> str:
    return str(connection.settings_dict["NAME"])


def measure_cpu(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def generate_notes(projects: list[UUID], count: int) -> Iterator[tuple[UUID, SearchableText]]:
    """Notes of two sections, in words that are as unevenly frequent as those of a language."""
    chance = random.Random(15)
    weights = list(accumulate(1 / (rank + 10) for rank in range(VOCABULARY)))
    words = [name_word(rank) for rank in range(VOCABULARY)]
    for number in range(count):
        picked = chance.choices(words, cum_weights=weights, k=WORDS_PER_NOTE)
        title, body = " ".join(picked[:3]), picked[3:]
        half = len(body) // 2
        text = f"# {title}\n\n{' '.join(body[:half])}\n\n## {body[0]}\n\n{' '.join(body[half:])}\n"
        path = f"{picked[0]}/{title}.md"
        yield (
            projects[number % len(projects)],
            SearchableText("note", number, path, title, "", text),
        )


def name_word(rank: int) -> str:
    """Return a made-up word that no ending is cut from."""
    consonants, vowels = "bdfgklmnprtvz", "aiou"
    word, rank = "", rank + 300
    while rank:
        rank, letter = divmod(rank, len(consonants) * len(vowels))
        word += consonants[letter % len(consonants)] + vowels[letter // len(consonants)]
    return word + "k"


def index_notes(projects: list[UUID], count: int) -> None:
    by_project: dict[UUID, list[SearchableText]] = {project: [] for project in projects}
    for project, note in generate_notes(projects, count):
        by_project[project].append(note)
    for project, notes in by_project.items():
        with transaction.atomic():
            index_documents(project, notes)


def index_bare(bare: sqlite3.Connection, projects: list[UUID], count: int) -> None:
    bare.execute("CREATE VIRTUAL TABLE notes USING fts5(project, title, body)")
    bare.execute("INSERT INTO notes(notes, rank) VALUES ('rank', 'bm25(0.0, 3.0, 1.0)')")
    notes = (
        (f"p{project.hex}", note.title, note.text)
        for project, note in generate_notes(projects, count)
    )
    bare.executemany("INSERT INTO notes VALUES (?, ?, ?)", notes)
    bare.commit()


def list_queries(shape: str, count: int) -> list[list[str]]:
    chance = random.Random(shape)
    first, last = SHAPES[shape]
    return [[name_word(chance.randrange(first, last)) for _ in range(3)] for _ in range(count)]


def report_finding(shape: str, bare: sqlite3.Connection, projects: list[UUID], count: int) -> float:
    ours, floor = [], []
    for number, words in enumerate(list_queries(shape, count)):
        project = projects[number % len(projects)]
        ours.append(measure_ms(lambda: find_candidates(project, " ".join(words))))  # noqa: B023  # called at once
        floor.append(measure_ms(lambda: match_bare(bare, project, words)))  # noqa: B023  # the same
    high, low = get_p95(ours), get_p95(floor)
    print(
        f"{shape:9} p50 {statistics.median(ours):6.2f} ms, bare {statistics.median(floor):6.2f};"
        f" p95 {high:6.2f}, bare {low:6.2f}; ratio of p95 {high / low:.2f}"
    )
    return high / low


def measure_ms(work: Callable[[], object]) -> float:
    """Return milliseconds of CPU: SQLite works in this process."""
    start = time.process_time()
    work()
    return (time.process_time() - start) * 1000


def get_p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def find_candidates(project: UUID, query: str) -> tuple[QueryTerms, list[int], list[int]]:
    """All that a search asks of the database before it ranks."""
    finder = get_finder(Place((get_scope(project, "note"),)))
    words = parse_query(query)
    size = finder.size
    counts = finder.count_documents(list_terms(words), get_count_limit(size.documents))
    terms = weigh_terms(words, counts, size.documents)
    if not terms.sought:
        return terms, [], []
    return terms, finder.find(DOCUMENTS, terms.sought), finder.find(SECTIONS, terms.sought)


def match_bare(bare: sqlite3.Connection, project: UUID, words: list[str]) -> None:
    match = f"project : p{project.hex} AND {{title body}} : ({' OR '.join(words)})"
    bare.execute(
        "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT 200", (match,)
    ).fetchall()


def report_ranking(projects: list[UUID], count: int) -> float:
    """Rank as many candidates as there can be: common words find enough of them."""
    spent, whole, rows = [], [], []
    for number, words in enumerate(list_queries("common", count)):
        project = projects[number % len(projects)]
        terms, documents, sections = find_candidates(project, " ".join(words))
        start = time.process_time()
        rank(terms, documents, sections)
        spent.append((time.process_time() - start) * 1000)
        rows.append(len(documents) + len(sections))
        whole.append(measure_ms(lambda: search(project, [" ".join(words)])))  # noqa: B023  # called at once
    print(
        f"ranking   p50 {statistics.median(spent):6.2f} ms of CPU, p95 {get_p95(spent):6.2f},"
        f" {statistics.median(rows):.0f} candidates; a whole search p50"
        f" {statistics.median(whole):.1f} ms, p95 {get_p95(whole):.1f}"
    )
    return get_p95(spent)


def rank(terms: QueryTerms, documents: list[int], sections: list[int]) -> None:
    found = load_sections(sections)
    ids = {*documents, *(section.document_id for section in found)}
    ranking = Ranking(load_documents(ids), MeanLengths(WORDS_PER_NOTE, WORDS_PER_NOTE / 2))
    ranking.add_sections(found)
    ranking.add_terms(terms.sought)
    ranking.add_terms(terms.others)
    ranking.sort()


if __name__ == "__main__":
    sys.exit(main())
