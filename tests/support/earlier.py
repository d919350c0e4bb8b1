"""Databases of earlier versions: restored in the place of the one that tests use, for a while."""

import gzip
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from uuid import uuid4

from django.contrib.contenttypes.models import ContentType
from django.core.management.color import no_style
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.models import Field, JSONField, Model

from agents.audit import db_triggers as triggers

DATA = Path(__file__).resolve().parents[1] / "data"


def restore_sqlite(dump: str, path: Path) -> None:
    """Make a SQLite database from a compressed dump in `tests/data`."""
    with closing(sqlite3.connect(path)) as database:
        database.executescript(gzip.decompress((DATA / dump).read_bytes()).decode())


@contextmanager
def earlier_database(dump: str, folder: Path) -> Iterator[None]:
    """Let Django use the dumped database (on PostgreSQL, a copy of its rows) until the end."""
    path = folder / "earlier.sqlite3"
    restore_sqlite(dump, path)
    if connection.vendor == "sqlite":
        with _using(str(path)):
            yield
        return
    name = f"earlier_{uuid4().hex}"
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    try:
        with _using(name):
            _copy_rows(path)
            yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"DROP DATABASE {name}")


@contextmanager
def _using(name: str) -> Iterator[None]:
    usual = connection.settings_dict["NAME"]
    _switch(name)
    try:
        yield
    finally:
        _switch(usual)


def _switch(name: str) -> None:
    connection.close()
    connection.settings_dict["NAME"] = name
    ContentType.objects.clear_cache()


def _copy_rows(path: Path) -> None:
    """Bring an empty PostgreSQL to the migrations of a SQLite database, and put its rows there."""
    with closing(sqlite3.connect(path)) as source, connection.cursor() as cursor:
        source.row_factory = sqlite3.Row
        done = source.execute("SELECT app, name FROM django_migrations ORDER BY id").fetchall()
        state = MigrationExecutor(connection).migrate([(app, name) for app, name in done])
        models = state.apps.get_models(include_auto_created=True)
        with transaction.atomic():  # keys to other rows are checked at its end
            for model in models:
                model._base_manager.all()._raw_delete(connection.alias)  # what migrations made
            for model in models:
                for row in source.execute(f"SELECT * FROM {model._meta.db_table}"):  # noqa: S608  # names of ours
                    _read(model, row).save_base(raw=True, force_insert=True)
        for statement in connection.ops.sequence_reset_sql(no_style(), list(models)):
            cursor.execute(statement)
        triggers.install(connection)
        cursor.execute(_REFUSE_CHANGES)


_REFUSE_CHANGES = """
    CREATE OR REPLACE FUNCTION agents_runevent_changed() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'the audit keeps what was recorded'; END $$
"""
"""Triggers of then knew less that may be erased."""


def _read(model: type[Model], row: sqlite3.Row) -> Model:
    """Return a row of SQLite as Django reads it there."""
    values = {f.attname: _value(f, row[f.column or ""]) for f in model._meta.concrete_fields}
    return model(**values)


def _value(field: "Field[Any, Any]", stored: Any) -> Any:
    if isinstance(field, JSONField):
        return json.loads(stored)
    value = field.to_python(stored)
    return value.replace(tzinfo=UTC) if isinstance(value, datetime) else value
