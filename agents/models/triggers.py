"""Closed rows are immutable also for those who bypass Django: triggers of the database.

Events are append-only from the first; a run is closed once it has an outcome. What may still
change is erasing content, if an entry of the audit says so. They are installed after every
`migrate`, because SQLite loses a table's triggers when a migration builds the table anew.
"""

from collections.abc import Iterator
from typing import Any

from django.db import connections
from django.db.backends.base.base import BaseDatabaseWrapper

NAMES = ("changed", "removed", "added", "emptied")
_ERASED = {
    "agents_runevent": ("content",),
    "agents_agentrun": ("question", "answer", "explanation", "cancel_note", "user_id"),
    "agents_auditentry": ("by_id",),
    "agents_runtool": (),
}
"""Tables that are kept, and the columns that erasing empties."""
_ENTRY = (
    "EXISTS (SELECT 1 FROM agents_auditentry a WHERE a.run_id = OLD.{run} AND a.verb = 'erase')"
)
_MAY_ERASE = {
    "agents_runevent": _ENTRY.format(run="run_id"),
    "agents_agentrun": _ENTRY.format(run="id"),
    "agents_auditentry": "NEW.by_id IS NULL",
    "agents_runtool": "1 = 0",
}
_CLOSED = "(SELECT outcome FROM agents_agentrun WHERE id = NEW.run_id) IS NOT NULL"
_THERE = "EXISTS (SELECT 1 FROM"
# INSERT OR REPLACE removes a row without asking the trigger for that.
_REFUSED_ROWS = {
    "agents_runevent": f"{_CLOSED} OR {_THERE} agents_runevent e "
    "WHERE e.id = NEW.id OR (e.run_id = NEW.run_id AND e.seq = NEW.seq))",
    "agents_agentrun": f"{_THERE} agents_agentrun r WHERE r.id = NEW.id)",
    "agents_auditentry": f"{_THERE} agents_auditentry a WHERE a.id = NEW.id)",
    "agents_runtool": f"{_CLOSED} OR {_THERE} agents_runtool t WHERE t.id = NEW.id)",
}
_REFUSED = "the audit keeps what was recorded"


def install(connection: BaseDatabaseWrapper) -> None:
    """Put the triggers there, in place of those that may be there."""
    with connection.cursor() as cursor:
        if set(_ERASED) <= set(connection.introspection.table_names(cursor)):
            for statement in statements(connection):
                cursor.execute(statement)


def after_migrate(using: str, **_: Any) -> None:
    install(connections[using])


def statements(connection: BaseDatabaseWrapper) -> Iterator[str]:
    yield from removing(connection)
    if connection.vendor == "postgresql":
        for table in _ERASED:
            yield from _postgresql(table)
    else:
        with connection.cursor() as cursor:
            for table in _ERASED:
                found = connection.introspection.get_table_description(cursor, table)
                yield from _sqlite(table, [column.name for column in found])


def removing(connection: BaseDatabaseWrapper) -> Iterator[str]:
    for table in _ERASED:
        place = f" ON {table}" if connection.vendor == "postgresql" else ""
        for name in NAMES:
            yield f"DROP TRIGGER IF EXISTS {table}_{name}{place}"


def _closed(table: str) -> str:
    """Until it is closed, a run's row is its owner's."""
    return "OLD.outcome IS NOT NULL" if table == "agents_agentrun" else "1 = 1"


def _sqlite(table: str, columns: list[str]) -> Iterator[str]:
    kept = [f"NEW.{name} IS OLD.{name}" for name in columns if name not in _ERASED[table]]
    emptied = [_is_emptied(name) for name in _ERASED[table]]
    erasing = " AND ".join([*kept, *emptied, _MAY_ERASE[table]])
    refuse = f"BEGIN SELECT RAISE(ABORT, '{_REFUSED}'); END"
    yield (
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE ON {table} "
        f"WHEN {_closed(table)} AND NOT ({erasing}) {refuse}"
    )
    yield f"CREATE TRIGGER {table}_removed BEFORE DELETE ON {table} {refuse}"
    refused = _REFUSED_ROWS[table]
    yield f"CREATE TRIGGER {table}_added BEFORE INSERT ON {table} WHEN {refused} {refuse}"


def _is_emptied(name: str) -> str:
    empty = f"NEW.{name} IS NULL" if name.endswith("_id") else f"NEW.{name} = ''"
    return f"({empty} OR NEW.{name} IS OLD.{name})"


def _postgresql(table: str) -> Iterator[str]:
    columns = "ARRAY[" + ", ".join(f"'{name}'" for name in _ERASED[table]) + "]::text[]"
    emptied = [
        _is_emptied(name).replace(" IS OLD", " IS NOT DISTINCT FROM OLD") for name in _ERASED[table]
    ]
    erasing = " AND ".join(
        [f"to_jsonb(NEW) - {columns} = to_jsonb(OLD) - {columns}", *emptied, _MAY_ERASE[table]]
    )
    refuse = f"RAISE EXCEPTION '{_REFUSED}' USING ERRCODE = 'integrity_constraint_violation';"
    yield f"""
        CREATE OR REPLACE FUNCTION {table}_changed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN IF {erasing} THEN RETURN NEW; END IF; {refuse} END $$"""
    yield f"""
        CREATE OR REPLACE FUNCTION {table}_removed() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN {refuse} END $$"""
    yield (
        f"CREATE TRIGGER {table}_changed BEFORE UPDATE ON {table} FOR EACH ROW "
        f"WHEN ({_closed(table)}) EXECUTE FUNCTION {table}_changed()"
    )
    yield (
        f"CREATE TRIGGER {table}_removed BEFORE DELETE ON {table} FOR EACH ROW "
        f"EXECUTE FUNCTION {table}_removed()"
    )
    yield (
        f"CREATE TRIGGER {table}_emptied BEFORE TRUNCATE ON {table} FOR EACH STATEMENT "
        f"EXECUTE FUNCTION {table}_removed()"
    )
    if table in ("agents_runevent", "agents_runtool"):
        yield f"""
            CREATE OR REPLACE FUNCTION {table}_added() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN IF EXISTS (SELECT 1 FROM added n JOIN agents_agentrun r ON r.id = n.run_id
                WHERE r.outcome IS NOT NULL) THEN {refuse} END IF; RETURN NULL; END $$"""  # noqa: S608  # names of ours
        yield (
            f"CREATE TRIGGER {table}_added AFTER INSERT ON {table} REFERENCING NEW TABLE AS added "
            f"FOR EACH STATEMENT EXECUTE FUNCTION {table}_added()"
        )
