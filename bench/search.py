"""`python -m bench.search`: search over 100,000 notes in 50 projects, beside bare FTS5.

Finding candidates in one project is compared with one bare MATCH of the same words over a plain
FTS5 table of the same notes, in turns within one run. With `--postgresql` the same shapes run on a
PostgreSQL that is started for it, beside a bare match of its own text search.
"""

import argparse
import os
import random
import sqlite3
import statistics
import subprocess
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
from agents.search.finders import MAX_CANDIDATES, SECTIONS, Place, get_finder
from agents.search.index import WHOLE_KINDS, SearchableText, get_scope, index_documents
from agents.search.query_terms import QueryTerms, get_count_limit, list_terms, weigh_terms
from agents.search.ranking import MeanLengths, Ranking
from agents.search.search import SHORTLIST, search
from tests.support.services import Missing, Postgres

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
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    if options.postgresql:
        return run_on_postgresql(
            "bench.search", "--notes", str(options.notes), "--queries", str(options.queries)
        )
    call_command("migrate", verbosity=0)
    projects = [create_project(number) for number in range(PROJECTS)]
    notes = list(generate_notes(projects, options.notes))
    ours = measure_seconds(lambda: index_notes(notes))
    bare = create_bare()
    floor = measure_seconds(lambda: bare.index(notes))
    print(
        f"index of {options.notes:,} notes on {connection.vendor}: {ours:.1f} s,"
        f" bare {floor:.1f} s, ratio {ours / floor:.1f}"
    )
    tidy_up()
    ratios = [report_finding(shape, bare, projects, options.queries) for shape in SHAPES]
    ranking = report_ranking(projects, options.queries)
    report_typing(projects, options.queries)
    print(
        f"finding: p95 at most {max(ratios):.2f} times a bare match; promised: {MAX_FIND_RATIO:.0f}"
    )
    print(f"ranking: p95 {ranking:.1f} ms of CPU; promised: {MAX_RANK_MS:.0f}")
    return 0


def tidy_up() -> None:
    """Do at once what PostgreSQL does by itself after a while."""
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("VACUUM ANALYZE")


def run_on_postgresql(module: str, *options: str) -> int:
    """Start the database, and a program again on it."""
    try:
        service = Postgres()
    except Missing as missing:
        print(f"{module} on PostgreSQL: skipped, {missing}")
        return 0
    with service as postgres:
        environment = {**os.environ, "DATABASE_URL": postgres.create("bench")}
        return subprocess.call([sys.executable, "-m", module, *options], env=environment)


def create_project(number: int) -> UUID:
    return Project.objects.create(name=f"project {number}", slug=f"project-{number}").pk


def get_time() -> float:
    """Return seconds of CPU; of a database in another process, seconds."""
    return time.process_time() if connection.vendor == "sqlite" else time.perf_counter()


def measure_seconds(work: Callable[[], object]) -> float:
    start = get_time()
    work()
    return get_time() - start


class Bare:
    """The text search of a database as it comes: notes, titles and the project in one index."""

    def index(self, notes: list[tuple[UUID, SearchableText]]) -> None:
        raise NotImplementedError

    def match(self, project: UUID, words: list[str]) -> None:
        """Find 200 notes of a project that have one of the words, best first."""
        raise NotImplementedError


class BareSqlite(Bare):
    def __init__(self) -> None:
        self.connection = sqlite3.connect(f"{connection.settings_dict['NAME']}.bare")
        self.connection.execute("CREATE VIRTUAL TABLE notes USING fts5(project, title, body)")
        self.connection.execute(
            "INSERT INTO notes(notes, rank) VALUES ('rank', 'bm25(0.0, 3.0, 1.0)')"
        )

    def index(self, notes: list[tuple[UUID, SearchableText]]) -> None:
        rows = ((f"p{project.hex}", note.title, note.text) for project, note in notes)
        self.connection.executemany("INSERT INTO notes VALUES (?, ?, ?)", rows)
        self.connection.commit()

    def match(self, project: UUID, words: list[str]) -> None:
        match = f"project : p{project.hex} AND {{title body}} : ({' OR '.join(words)})"
        self.connection.execute(
            "SELECT rowid FROM notes WHERE notes MATCH ? ORDER BY rank LIMIT 200", (match,)
        ).fetchall()


class BarePostgresql(Bare):
    def __init__(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute("CREATE TABLE bare (id bigserial PRIMARY KEY, tsv tsvector)")
            cursor.execute("CREATE INDEX ON bare USING gin (tsv)")

    def index(self, notes: list[tuple[UUID, SearchableText]]) -> None:
        rows = [(f"p{project.hex} {note.title}", note.text) for project, note in notes]
        statement = (
            "INSERT INTO bare (tsv) VALUES (setweight(to_tsvector('simple', %s), 'A')"
            " || to_tsvector('simple', %s))"
        )
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.executemany(statement, rows)

    def match(self, project: UUID, words: list[str]) -> None:
        statement = (
            "SELECT id FROM bare WHERE tsv @@ %s::tsquery"
            " ORDER BY ts_rank(tsv, %s::tsquery) DESC LIMIT 200"
        )
        query = " | ".join(words)
        with connection.cursor() as cursor:
            cursor.execute(statement, [f"p{project.hex} & ({query})", query])
            cursor.fetchall()


def create_bare() -> Bare:
    return BareSqlite() if connection.vendor == "sqlite" else BarePostgresql()


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


def index_notes(notes: list[tuple[UUID, SearchableText]]) -> None:
    by_project: dict[UUID, list[SearchableText]] = {}
    for project, note in notes:
        by_project.setdefault(project, []).append(note)
    for project, texts in by_project.items():
        with transaction.atomic():
            index_documents(project, texts)


def list_queries(shape: str, count: int) -> list[list[str]]:
    chance = random.Random(shape)
    first, last = SHAPES[shape]
    return [[name_word(chance.randrange(first, last)) for _ in range(3)] for _ in range(count)]


def report_finding(
    shape: str, bare: Bare, projects: list[UUID], count: int, kind: str = "note"
) -> float:
    ours, floor = [], []
    for number, words in enumerate(list_queries(shape, count)):
        project = projects[number % len(projects)]
        ours.append(measure_ms(lambda: find_candidates(project, " ".join(words), kind)))  # noqa: B023  # called at once
        floor.append(measure_ms(lambda: bare.match(project, words)))  # noqa: B023  # the same
    high, low = get_p95(ours), get_p95(floor)
    print(
        f"{shape:9} p50 {statistics.median(ours):6.2f} ms, bare {statistics.median(floor):6.2f};"
        f" p95 {high:6.2f}, bare {low:6.2f}; ratio of p95 {high / low:.2f}"
    )
    return high / low


def measure_ms(work: Callable[[], object]) -> float:
    return measure_seconds(work) * 1000


def get_p95(values: list[float]) -> float:
    return statistics.quantiles(values, n=20)[-1]


def find_candidates(
    project: UUID, query: str, kind: str = "note"
) -> tuple[QueryTerms, list[int], list[int]]:
    """All that a search asks of the database before it ranks."""
    has_sections = kind not in WHOLE_KINDS
    finder = get_finder(Place((get_scope(project, kind),), has_sections=has_sections))
    words = parse_query(query)
    size = finder.size
    counts = finder.count_documents(list_terms(words), get_count_limit(size.documents))
    terms = weigh_terms(words, counts, size.documents)
    if not terms.sought:
        return terms, [], []
    documents, sections = finder.find_all(terms.sought)
    if len(sections) == MAX_CANDIDATES:
        finder.find(SECTIONS, terms.sought, documents[:SHORTLIST])
    return terms, documents, sections


def report_ranking(projects: list[UUID], count: int, kind: str = "note") -> float:
    """Rank as many candidates as there can be: common words find enough of them."""
    spent, whole, rows = [], [], []
    for number, words in enumerate(list_queries("common", count)):
        project = projects[number % len(projects)]
        terms, documents, sections = find_candidates(project, " ".join(words), kind)
        start = time.process_time()
        rank(terms, documents, sections)
        spent.append((time.process_time() - start) * 1000)
        rows.append(len(documents) + len(sections))
        whole.append(measure_ms(lambda: search(project, [" ".join(words)], kinds=[kind])))  # noqa: B023  # called at once
    print(
        f"ranking   p50 {statistics.median(spent):6.2f} ms of CPU, p95 {get_p95(spent):6.2f},"
        f" {statistics.median(rows):.0f} candidates; a whole search p50"
        f" {statistics.median(whole):.1f} ms, p95 {get_p95(whole):.1f}"
    )
    return get_p95(spent)


def report_typing(projects: list[UUID], count: int) -> None:
    """Search while the last word is being typed, beside the search of the same words in full."""
    for shape in ("rare", "common"):
        whole, typed = [], []
        for number, words in enumerate(list_queries(shape, count)):
            project, query = projects[number % len(projects)], " ".join(words)
            begun = " ".join([*words[:2], words[2][:3]])
            whole.append(measure_ms(lambda: search(project, [query])))  # noqa: B023  # called at once
            typed.append(measure_ms(lambda: search(project, [begun], as_typed=True)))  # noqa: B023  # the same
        print(
            f"as typed, {shape}: p50 {statistics.median(typed):.1f} ms, p95 {get_p95(typed):.1f};"
            f" words in full {statistics.median(whole):.1f}, {get_p95(whole):.1f}"
        )


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
