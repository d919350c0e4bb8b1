"""Finders of candidates: FTS5 on SQLite, GIN on PostgreSQL. `ranking` orders what they find.

A finder looks into one project alone, because the scope is a term of every query. Text columns are
searched by name and a scope is no term of a text, so a text that holds a scope is not found by it.
"""

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Any

from django.db import connection

from agents.models import SearchDocument, SearchSection
from agents.search.analysis import PREFIX_SIGN
from agents.search.ranking import K1, B
from agents.search.sizes import Size, get_size
from agents.search.vectors import LABEL_WEIGHTS, RANK_TO_COUNT, build_query, quote_term

MAX_CANDIDATES = 200
DOCUMENTS, SECTIONS = SearchDocument._meta.db_table, SearchSection._meta.db_table


@dataclass(frozen=True, slots=True)
class Place:
    """Where to look: scopes of a project, and within them chosen sources alone."""

    scopes: tuple[str, ...]
    source_ids: Collection[int] | None = None
    has_sections: bool = True
    """Whether a document there can have sections; not to ask for them saves time."""


class Finder:
    """What a database owes the search."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @cached_property
    def size(self) -> Size:
        """What there is to look through."""
        return get_size((self.place.scopes, self.place.has_sections), self._count_size)

    def _count_size(self) -> Size:
        marks = ", ".join(["%s"] * len(self.place.scopes))
        sections = "sum(section_count)" if self.place.has_sections else "count(*)"
        statement = (
            f"SELECT count(*), sum(length), {sections} FROM {DOCUMENTS}"  # noqa: S608  # our own names
            f" WHERE scope IN ({marks})"
        )
        found = fetch(statement, self.place.scopes)[0]
        documents, length, parts = (int(number or 0) for number in found)
        return Size(documents, length / max(1, documents), length / max(1, parts))

    def count_documents(self, terms: Collection[str], limit: int) -> dict[str, int]:
        """Return how many documents have each term; it stops counting at the limit."""
        raise NotImplementedError

    def find(
        self,
        table: str,
        weights: Mapping[str, float],
        document_ids: Collection[int] | None = None,
    ) -> list[int]:
        """Return the ids of the rows that fit these terms best, at most MAX_CANDIDATES."""
        raise NotImplementedError

    def find_all(self, weights: Mapping[str, float]) -> tuple[list[int], list[int]]:
        """Return the ids of the documents and of the sections that fit these terms best."""
        sections = self.find(SECTIONS, weights) if self.place.has_sections else []
        return self.find(DOCUMENTS, weights), sections

    def list_sources(self, term: str, limit: int) -> list[int]:
        """Return the sources of the documents that have a term, by their ids."""
        raise NotImplementedError

    def adapt_list(self, values: Collection[int]) -> Any:
        """Return a list as the argument of a condition."""
        raise NotImplementedError

    def build_restriction(
        self, table: str, document_ids: Collection[int] | None
    ) -> tuple[str, list[Any]]:
        """Return the conditions beyond the scope, each as SQL that begins with AND."""
        chosen = {"source_id": self.place.source_ids, "id": document_ids}
        lists = {column: ids for column, ids in chosen.items() if ids is not None}
        conditions = [self._restrict(table, column) for column in lists]
        return "".join(conditions), [self.adapt_list(ids) for ids in lists.values()]

    def _restrict(self, table: str, column: str) -> str:
        """Return the condition that this column of a row's document is in a list."""
        raise NotImplementedError


class SqliteFinder(Finder):
    """FTS5 and its own bm25, with the weights that the migration gave it."""

    def adapt_list(self, values: Collection[int]) -> str:
        return json.dumps(list(values))

    def count_documents(self, terms: Collection[str], limit: int) -> dict[str, int]:
        fts = f"{DOCUMENTS}_fts"
        statement = (
            "SELECT term.key, (SELECT count(*) FROM"  # noqa: S608  # our own names
            f" (SELECT 1 FROM {fts} WHERE {fts} MATCH term.value LIMIT %s)) FROM json_each(%s) term"
        )
        queries = {term: self._build_match([term]) for term in terms}
        return dict(fetch(statement, [limit, json.dumps(queries)]))

    def find(
        self,
        table: str,
        weights: Mapping[str, float],
        document_ids: Collection[int] | None = None,
    ) -> list[int]:
        fts = f"{table}_fts"
        restriction, arguments = self.build_restriction(table, document_ids)
        statement = (
            f"SELECT rowid FROM {fts} WHERE {fts} MATCH %s{restriction} ORDER BY rank LIMIT %s"  # noqa: S608  # our own names
        )
        match = self._build_match(weights)
        return [row[0] for row in fetch(statement, [match, *arguments, MAX_CANDIDATES])]

    def list_sources(self, term: str, limit: int) -> list[int]:
        fts = f"{DOCUMENTS}_fts"
        statement = (
            f"SELECT d.source_id FROM {fts} JOIN {DOCUMENTS} d ON d.id = {fts}.rowid"  # noqa: S608  # our own names
            f" WHERE {fts} MATCH %s LIMIT %s"
        )
        return sorted(row[0] for row in fetch(statement, [self._build_match([term]), limit]))

    def _restrict(self, table: str, column: str) -> str:
        row = f"{table}_fts.rowid"
        documents = f"{DOCUMENTS} d WHERE d.id = {row}"
        if table == SECTIONS:
            documents = (
                f"{SECTIONS} s JOIN {DOCUMENTS} d ON d.id = s.document_id WHERE s.id = {row}"
            )
        is_chosen = f"d.{column} IN (SELECT value FROM json_each(%s))"  # noqa: S608  # our own names
        return f" AND EXISTS (SELECT 1 FROM {documents} AND {is_chosen})"  # noqa: S608  # our own names

    def _build_match(self, terms: Iterable[str]) -> str:
        scopes = " OR ".join(f'"{scope}"' for scope in self.place.scopes)
        words = " OR ".join(map(_quote_term, terms))
        columns = "{title_terms heading_terms extra_terms body_terms}"
        return f"scope : ({scopes}) AND {columns} : ({words})"


def _quote_term(term: str) -> str:
    return f'"{term[:-1]}"*' if term.endswith(PREFIX_SIGN) else f'"{term}"'


class PostgresqlFinder(Finder):
    """GIN, ordered by the sum of each term's rarity times what its `ts_rank` says it counts.

    `ts_rank` of all terms at once knows neither rarity nor length, and loses the right rows.
    """

    def adapt_list(self, values: Collection[int]) -> list[int]:
        return list(values)

    def count_documents(self, terms: Collection[str], limit: int) -> dict[str, int]:
        statement = (
            "SELECT term, (SELECT count(*) FROM"  # noqa: S608  # our own names
            f" (SELECT 1 FROM {DOCUMENTS} WHERE tsv @@ query::tsquery LIMIT %s) counted)"
            " FROM unnest(%s::text[], %s::text[]) AS asked(term, query)"
        )
        names = list(terms)
        queries = [build_query(self.place.scopes, [term]) for term in names]
        return dict(fetch(statement, [limit, names, queries]))

    def find(
        self,
        table: str,
        weights: Mapping[str, float],
        document_ids: Collection[int] | None = None,
    ) -> list[int]:
        statement, arguments = self._build_statement(table, weights, document_ids)
        return [row[0] for row in fetch(statement, arguments)]

    def find_all(self, weights: Mapping[str, float]) -> tuple[list[int], list[int]]:
        """Ask once instead of twice: each question has its way to the database and back."""
        if not self.place.has_sections:
            return super().find_all(weights)
        tables = (DOCUMENTS, SECTIONS)
        built = [self._build_statement(table, weights) for table in tables]
        statement = " UNION ALL ".join(
            f"(SELECT {number}, id FROM ({each}) AS t{number})"  # noqa: S608  # our own names
            for number, (each, _) in enumerate(built)
        )
        found = fetch(statement, [argument for _, arguments in built for argument in arguments])
        documents, sections = ([id for kind, id in found if kind == each] for each in range(2))
        return documents, sections

    def _build_statement(
        self,
        table: str,
        weights: Mapping[str, float],
        document_ids: Collection[int] | None = None,
    ) -> tuple[str, list[Any]]:
        restriction, arguments = self.build_restriction(table, document_ids)
        gain = "%s / (1 + norm / (%s * ts_rank(%s::real[], tsv, %s::tsquery) + 1e-9))"
        statement = (
            f"SELECT id FROM (SELECT id, tsv, %s + %s * length AS norm FROM {table}"  # noqa: S608  # our own names
            f" WHERE tsv @@ %s::tsquery{restriction}) AS found"
            f" ORDER BY {' + '.join([gain] * len(weights))} DESC, id LIMIT %s"
        )
        mean = (
            self.size.mean_document_length if table == DOCUMENTS else self.size.mean_section_length
        )
        norm = [K1 * (1 - B), K1 * B / (mean or 1)]
        labels = list(LABEL_WEIGHTS)
        gains = [
            [weight, RANK_TO_COUNT, labels, quote_term(term)] for term, weight in weights.items()
        ]
        query = build_query(self.place.scopes, weights)
        ranked = chain.from_iterable(gains)
        return statement, [*norm, query, *arguments, *ranked, MAX_CANDIDATES]

    def list_sources(self, term: str, limit: int) -> list[int]:
        statement = f"SELECT source_id FROM {DOCUMENTS} WHERE tsv @@ %s::tsquery LIMIT %s"  # noqa: S608  # our own names
        query = build_query(self.place.scopes, [term])
        return sorted(row[0] for row in fetch(statement, [query, limit]))

    def _restrict(self, table: str, column: str) -> str:
        """Ask for no row of a table a second time: while PostgreSQL believes it empty, which it
        does when it counts in the middle of a first import, it would match all with all."""
        if table == DOCUMENTS:
            return f" AND {column} = ANY(%s)"
        if column == "id":
            return " AND document_id = ANY(%s)"
        return f" AND document_id IN (SELECT id FROM {DOCUMENTS} WHERE {column} = ANY(%s))"  # noqa: S608  # our own names


def get_finder(place: Place) -> Finder:
    """Return the finder of the database in use."""
    return PostgresqlFinder(place) if connection.vendor == "postgresql" else SqliteFinder(place)


def fetch(statement: str, arguments: Sequence[Any]) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, arguments)
        return list(cursor.fetchall())
